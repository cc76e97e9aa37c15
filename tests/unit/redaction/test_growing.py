"""What is shown of a text that still grows stands, whatever comes, and never holds a part of a secret."""

import base64
import html
import textwrap
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.redaction.mask import Redactor
from tests.unit.redaction.samples import SAMPLES, Sample, private_key, windows
from tests.unit.redaction.test_stream import DOCUMENT, ENCODED, IMAGE, JSON_KEY, REDACTOR

PROSE = "I looked. It runs. Here is what I found: {} And that is all. Ask me! Then more"


def grown(text: str, redactor: Redactor = REDACTOR) -> Iterator[str]:
    """What is shown of each beginning of ``text``, one character longer each time."""
    for end in range(len(text) + 1):
        yield redactor.settled(text[:end])


@pytest.mark.parametrize("around", ["{}\nnext\n", PROSE, "One. Two\n{}\nThree. Four", "Say: `{}`. Then. Go"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_no_part_of_a_secret_shows_wherever_the_text_ends(sample: Sample, around: str) -> None:
    """Every format, alone and in prose; where the whole masks it, no beginning shows six characters of it."""
    text = around.format(sample.text)
    hidden = {window for window in windows(sample.secret) if window not in REDACTOR.mask(text)}
    for shown in grown(text):
        assert not [window for window in hidden if window in shown]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_what_is_shown_stands(sample: Sample) -> None:
    """Each time it is a beginning of what the whole shows, and in the end it is the whole."""
    text = f"It runs. {sample.text} Then it ends. So\n{sample.text}\nnext. One more\nlast\n"
    whole, found = REDACTOR.mask(text), list(grown(text))
    assert all(whole.startswith(shown) for shown in found)
    assert found[-1] == whole


@pytest.mark.parametrize("label", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("joint", ["\n", "\r\n", "\\n", " "])
def test_nothing_of_a_private_key_shows_before_its_end(label: str, joint: str) -> None:
    """However its lines are joined; the words before it show, and afterwards it is one mask."""
    key = private_key(label=label).strip().replace("\n", joint)
    body = [line for line in key.replace(joint, "\n").splitlines() if not line.startswith("-----")]
    text = f"Here it is. It is new:\n{key}\nThat was it. Bye.\nend\n"
    shown = list(grown(text))
    for window in windows("".join(body), 8):
        assert not any(window in one.replace(joint, "") for one in shown)
    until = shown[text.index(key) + len(key) - 5]
    assert until == "Here it is. It is new:\n"
    assert shown[-1] == REDACTOR.mask(text)


@pytest.mark.parametrize("behind", ['" \\\n  --now\nend\n', '{\n  "type": 1\n}\n'])
def test_a_private_key_whose_last_line_goes_on_is_held_back_whole(behind: str) -> None:
    """A continued command, or the first line of a configured value behind it: its short last line would show alone."""
    lines = private_key().strip().splitlines()
    text = "\n".join(["See:", f'curl -d "{lines[0]}', *lines[1:-1], "aB3dE5gH==", lines[-1]]) + behind
    hidden = windows("".join([*lines[1:-1], "aB3dE5gH=="]))
    for redactor in (REDACTOR, Redactor({}, b"key")):
        stream = redactor.stream()
        for shown in (*grown(text, redactor), *map(stream.feed, text), stream.close()):
            assert not [window for window in hidden if window in shown]


@pytest.mark.parametrize("text", [JSON_KEY, ENCODED, IMAGE, "correct horse battery"])
def test_values_over_several_lines_and_words_are_held_back(text: str) -> None:
    """A configured value with lines or blanks, a wrapped encoding of one, and data that must stay readable."""
    whole = REDACTOR.mask(f"One. {text}. Two\nnext. Three\n")
    for shown in grown(f"One. {text}. Two\nnext. Three\n"):
        assert whole.startswith(shown)


LONG = "hunter2-correct-horse-battery-Staple-99-xyzzy-plugh"
PARAGRAPHS = "alpha <beta> & gamma\n\ndelta epsilon zeta\neta theta"
SEVERAL = Redactor({"long": LONG, "paragraphs": PARAGRAPHS}, b"key")
OCTETS = LONG.encode()
DUMP = "\n".join(OCTETS[at : at + 16].hex(" ") for at in range(0, len(OCTETS), 16))
KEY_LINES = private_key().strip().splitlines()

FORMS = {
    "blank line": PARAGRAPHS,
    "blank line, CRLF": PARAGRAPHS.replace("\n", "\r\n"),
    "escaped for HTML": html.escape(PARAGRAPHS),
    "escaped for a shell": PARAGRAPHS.replace(" ", "\\ "),
    "dump": DUMP,
    "dump, marked": DUMP.replace(" ", ", 0x"),
    "key without a beginning": "\n".join(KEY_LINES[1:]),
    "piped into sudo": "echo hunter2pass | sudo apt update. The flag -S reads it.",
}
WRAPPED = {
    "base64": base64.b64encode(b"xx" + OCTETS).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(OCTETS).decode(),
    "base32": base64.b32encode(OCTETS).decode(),
    "hexadecimal": OCTETS.hex(),
    "capitals": OCTETS.hex().upper(),
}
FORMS |= {
    f"{name} in {width}": "\n".join(textwrap.wrap(text, width))
    for name, text in WRAPPED.items()
    for width in (10, 16, 20, 32, 60)
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["Here:\n{}\nend. Foo\nend\n", "I looked. It is {}\nBye. Now\n"])
def test_nothing_shows_of_a_value_that_goes_on_in_the_next_line(form: str, around: str) -> None:
    """However it is written there: in several lines, wrapped at any width, before the word that makes it a secret."""
    text = around.format(FORMS[form])
    whole = SEVERAL.mask(text)
    assert "\u2039secret:" in whole
    assert [shown for shown in grown(text, SEVERAL) if not whole.startswith(shown)] == []
    stream = SEVERAL.stream()
    assert "".join([*map(stream.feed, text), stream.close()]) == whole


def test_a_configured_value_that_holds_sentences_is_not_shown_up_to_one() -> None:
    """Then whole lines only."""
    redactor = Redactor({"phrase": "My dog. Has fleas! Often"}, b"key")
    text = "I see. The phrase is My dog. Has fleas! Often. Good\nend\n"
    assert {len(shown) for shown in grown(text, redactor)} == {
        0,
        len(redactor.mask(text)) - 4,
        len(redactor.mask(text)),
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("It runs", ""),
        ("It runs.", ""),
        ("It runs. ", ""),
        ("It runs. A", "It runs. "),
        ("It runs. 7", ""),
        ("It runs! Good. Now wa", "It runs! Good. "),
        ("version 1.2.3 of a.b is e.g. old", "version 1.2.3 of a.b is e.g. "),
        ("\u5b83\u5728\u8fd0\u884c\u3002\u5f88\u597d", "\u5b83\u5728\u8fd0\u884c\u3002"),
        ("one\ntwo. Three", "one\ntwo. "),
        ("one\r\ntwo", "one\r\n"),
        ("# Head\n\n- a\n- b", "# Head\n\n- a\n"),
        ("continued \\\nby. This", ""),
        ("-----BEGIN x. Y", ""),
        ("token=abcdefgh. So ", REDACTOR.mask("token=abcdefgh. ")),
    ],
)
def test_whole_lines_and_whole_sentences_are_shown(text: str, shown: str) -> None:
    """What may still become something else is not."""
    assert REDACTOR.settled(text) == shown


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*(sample.text for sample in SAMPLES), JSON_KEY, private_key(), ". So", " ", "\n", "| sudo -S x"]
        )
    )
)
def test_a_beginning_of_anything_is_a_beginning_of_the_whole(pieces: list[str]) -> None:
    """In any order."""
    text = "".join(pieces)
    whole = REDACTOR.mask(text)
    for end in range(0, len(text), 7):
        assert whole.startswith(REDACTOR.settled(text[:end]))


def test_a_long_document_is_shown_as_far_as_it_goes() -> None:
    """Every beginning of everything at once."""
    whole = REDACTOR.mask(DOCUMENT)
    for end in range(0, len(DOCUMENT), 97):
        assert whole.startswith(REDACTOR.settled(DOCUMENT[:end]))
