"""Formatted text is read as the Bot API reads it."""

import pytest

from mtbot.simulator.entities import automatic_entities, parse, utf16_length
from mtbot.simulator.values import ApiRefusal, Entity


def test_length_counts_utf16_units() -> None:
    """An emoji outside the first plane counts twice."""
    assert [utf16_length(text) for text in ("", "aä", "😀", "a😀\ud83d")] == [0, 2, 2, 4]


def test_typed_text_gets_commands_mentions_and_links_in_utf16() -> None:
    """Offsets count the emoji before them twice; what sits inside a word or a path is left alone."""
    assert automatic_entities("😀 /run@nas_bot @chief_1 https://e.org/a?b a/b x@y.zz /etc/passwd") == (
        Entity("bot_command", 3, 12),
        Entity("mention", 16, 8),
        Entity("url", 25, 17),
    )


def test_html_becomes_text_and_nested_entities() -> None:
    """Tags go, the four named entities are decoded, others stay as they are."""
    text, entities = parse(
        '<b>a<i>😀</i></b> &lt;x&gt; &amp;&quot; &nbsp; &#65; <a href="http://e.org?a=1&amp;b">l</a>', "HTML"
    )

    assert text == 'a😀 <x> &" &nbsp; A l'
    assert entities == (
        Entity("bold", 0, 3),
        Entity("italic", 1, 2),
        Entity("text_link", 20, 1, "http://e.org?a=1&b"),
    )


def test_html_code_with_a_language_inside_pre_is_one_entity() -> None:
    """A language counts only there."""
    assert parse('<pre><code class="language-sh">ls</code></pre><code class="language-sh">x</code>', "html") == (
        "lsx",
        (Entity("pre", 0, 2, language="sh"), Entity("code", 2, 1)),
    )


def test_of_two_entities_over_the_same_text_the_outer_comes_first() -> None:
    """So that nesting can be read from the order."""
    assert parse("<b><i>x</i></b>", "HTML") == ("x", (Entity("bold", 0, 1), Entity("italic", 0, 1)))


def test_html_knows_quotes_and_spoilers() -> None:
    """Both spellings of a spoiler, both kinds of quote; an empty tag leaves nothing."""
    text, entities = parse(
        '<blockquote expandable>q</blockquote><tg-spoiler>a</tg-spoiler><span class="tg-spoiler">b</span><b></b>',
        "HTML",
    )

    assert (text, [entity.type for entity in entities]) == ("qab", ["expandable_blockquote", "spoiler", "spoiler"])


@pytest.mark.parametrize(
    "text",
    ["<p>x</p>", "a < b", "<b>x", "<b><i>x</b></i>", "x</b>", "<br>", "<span>x</span>", "<b"],
)
def test_malformed_html_is_refused(text: str) -> None:
    """With the words that a bot must recognise."""
    with pytest.raises(ApiRefusal, match="can't parse entities") as caught:
        parse(text, "HTML")
    assert caught.value.code == 400


def test_markdown_v2_becomes_text_and_entities() -> None:
    """Styles, escapes, code, fences, links and quotes."""
    text, entities = parse(
        "*b* _i_ __u__ ~s~ ||p|| `c\\`d` [l](http://e\\.org) 1\\.\n```sh\nls -l\n```\n>q1\n>q2\nend", "MarkdownV2"
    )

    assert text == "b i u s p c`d l 1.\nls -l\n\nq1\nq2\nend"
    assert entities == (
        Entity("bold", 0, 1),
        Entity("italic", 2, 1),
        Entity("underline", 4, 1),
        Entity("strikethrough", 6, 1),
        Entity("spoiler", 8, 1),
        Entity("code", 10, 3),
        Entity("text_link", 14, 1, "http://e.org"),
        Entity("pre", 19, 6, language="sh"),
        Entity("blockquote", 26, 5),
    )


@pytest.mark.parametrize("text", ["a.b", "*open", "*a_b*c_", "`open", "```open", "1-2", "[l]", "(x)", "a!"])
def test_malformed_markdown_v2_is_refused(text: str) -> None:
    """Every reserved character must be escaped and every style closed."""
    with pytest.raises(ApiRefusal, match="can't parse entities"):
        parse(text, "MarkdownV2")


def test_the_old_markdown_is_milder_but_not_blind() -> None:
    """Dots pass, an open underscore does not."""
    assert parse("a.b *c* [x]", "Markdown") == ("a.b c x", (Entity("bold", 4, 1),))
    with pytest.raises(ApiRefusal, match="can't parse entities"):
        parse("snake_case", "Markdown")


def test_an_unknown_parse_mode_is_refused() -> None:
    """No silent fallback to plain text."""
    with pytest.raises(ApiRefusal, match="unsupported parse_mode"):
        parse("x", "Textile")
