"""Raw text becomes safe text, and nothing else does."""

from mtbot.domain.ids import SafeText
from mtbot.redaction.mask import Redactor

REDACTOR = Redactor({"model": "swordfish9", "bot": "1:ab", "other": "fish9tail99"}, b"key")


def test_equal_values_carry_equal_marks_that_depend_on_the_key() -> None:
    """A reader can tell whether two masks hide one value, and nobody can guess values without the key."""
    once, twice = REDACTOR.mask("swordfish9"), REDACTOR.mask("c3dvcmRmaXNoOQ==")
    assert once == twice
    assert once != Redactor({"model": "swordfish9"}, b"another").mask("swordfish9")
    assert REDACTOR.mask("TOKEN=abc") != REDACTOR.mask("TOKEN=abd")
    assert len(once) == len("\u2039secret:3f9a\u203a")


def test_what_is_learnt_later_is_hidden_beside_what_was_known() -> None:
    """A value that came into a file while the program runs."""
    redactor = Redactor({}, b"key")
    assert "swordfish9" in redactor.mask("swordfish9")
    redactor.learn({"model": "swordfish9"})
    redactor.learn({"bot": "codfish-and-chips"})
    text = redactor.mask("swordfish9 c3dvcmRmaXNoOQ== codfish-and-chips")
    assert text.split()[0] == text.split()[1] == REDACTOR.mask("swordfish9")
    assert "fish" not in text
    assert redactor.longest == 12 * len("codfish-and-chips")


def test_values_that_overlap_leave_nothing_between_them() -> None:
    """The second value begins inside the first."""
    assert REDACTOR.count("swordfish9tail99") == 1
    assert "tail" not in REDACTOR.mask("(swordfish9tail99)")


def test_the_count_is_the_number_of_masks() -> None:
    """What a question says about itself."""
    text = "curl -u chief:swordfish9 -H 'X-Api-Key: abc' https://x/?token=def"
    assert REDACTOR.count(text) == REDACTOR.mask(text).count("\u2039secret:") == 3
    assert REDACTOR.count("ls -la") == 0


def test_text_without_secrets_is_the_same_text_of_the_safe_type() -> None:
    """Also the empty text."""
    assert REDACTOR.mask("ls -la") == SafeText("ls -la")
    assert isinstance(REDACTOR.mask(""), SafeText)
    assert REDACTOR.mask("caf\u00e9 TOKEN=x \u65e5").startswith("caf\u00e9 TOKEN=\u2039")


def test_lone_surrogates_do_not_stop_masking_and_are_replaced() -> None:
    """A program's bytes that were no text must neither raise nor reach a sink that cannot encode them."""
    masked = REDACTOR.mask("\udcff swordfish9 \ud800")
    assert masked == f"\ufffd {REDACTOR.mask('swordfish9')} \ufffd"
    assert REDACTOR.count("\udcffswordfish9") == 1


def test_a_redactor_without_secrets_still_knows_the_formats() -> None:
    """Nothing configured is no reason to show a key."""
    assert "abcdef" not in Redactor({}, b"").mask("--token abcdef")


def test_joining_masks_what_the_parts_make_together() -> None:
    """Two halves of a value are harmless alone."""
    parts = [REDACTOR.mask("sword"), REDACTOR.mask("fish9")]
    assert REDACTOR.join("", parts) == REDACTOR.mask("swordfish9")
    assert REDACTOR.join(" ", parts) == SafeText("sword fish9")


def test_constant_text_is_safe_as_it_stands() -> None:
    """The program's own words."""
    assert REDACTOR.safe("Allow this command?") == SafeText("Allow this command?")


def test_cutting_breaks_neither_a_character_nor_a_mask() -> None:
    """A cut in the middle of a character made invalid text, or erased all of it."""
    assert REDACTOR.cut(REDACTOR.mask("\u3042" * 400), 800) == "\u3042" * 266
    assert REDACTOR.cut(REDACTOR.mask("short"), 5) == SafeText("short")
    assert REDACTOR.cut(REDACTOR.mask("short"), -1) == SafeText("")
    masked = REDACTOR.mask("see swordfish9 here")
    assert REDACTOR.cut(masked, 12) == SafeText("see ")
    assert REDACTOR.cut(masked, 24) == masked[:20]
    assert REDACTOR.cut(REDACTOR.mask("a \u2039 b and more"), 8) == SafeText("a \u2039 b ")
    assert all(isinstance(REDACTOR.cut(masked, limit), SafeText) for limit in (3, 300))


def test_what_a_person_is_shown_is_masked_and_made_visible() -> None:
    """Both at once, and of the safe type."""
    assert REDACTOR.show("a\u200b swordfish9") == f"a\\u200b {REDACTOR.mask('swordfish9')}"
    assert isinstance(REDACTOR.show("x"), SafeText)


def test_a_mask_of_this_process_is_recognised_in_any_writing() -> None:
    """Writing it back would put the mask where the secret was."""
    redactor = Redactor({}, b"key")
    mark = redactor.mask("TOKEN=abc")[6:]
    digits = mark[8:12]
    assert redactor.made_mask(f"export TOKEN={mark}")
    assert redactor.made_mask(f"\\u2039secret:{digits}\\u203a")
    assert redactor.made_mask(f"%E2%80%B9secret%3A{digits}%E2%80%BA")
    assert redactor.made_mask(f"<secret:{digits}>")
    assert redactor.made_mask(f"&lsaquo;secret:{digits.upper()}&rsaquo;")


def test_what_no_process_made_is_no_mask() -> None:
    """Stars, other words and marks of others are a person's own text."""
    redactor = Redactor({}, b"key")
    made = redactor.mask("TOKEN=abc")[6:]
    other = "0000" if "0000" not in made else "0001"
    assert not redactor.made_mask("********")
    assert not redactor.made_mask(f"\u2039secret:{other}\u203a")
    assert not redactor.made_mask(f"secret:{made[8:12]}")
    assert not redactor.made_mask(redactor.mask("nothing here"))


def test_the_mask_of_a_configured_value_is_known_from_the_start() -> None:
    """After a restart the history still holds the masks of the last process."""
    before = Redactor({"model": "swordfish9"}, b"key").mask("swordfish9")
    assert Redactor({"model": "swordfish9"}, b"key").made_mask(before)


def test_marks_are_remembered_within_bounds() -> None:
    """Endless new values must not grow the process, and an old one gets the same mark again."""
    redactor = Redactor({}, b"key")
    first = redactor.mask("TOKEN=abc")
    text = "\n".join(f"TOKEN={number}x" for number in range(5000))
    assert redactor.count(text) == redactor.mask(text).count("\u2039") == 5000
    assert len(redactor._prints) <= 4096
    assert redactor.mask("TOKEN=abc") == first


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_is_told_with_its_causes_and_without_secrets() -> None:
    """Messages hold addresses with tokens in them; every link of the chain is told once."""
    try:
        try:
            try:
                raise KeyError("swordfish9")
            except KeyError as first:
                raise ValueError("bad bot123456:AAF0123456789abcdefghijklmnopqrstuvw/getMe") from first
        except ValueError as cause:
            error = RuntimeError("top")
            error.add_note("note swordfish9")
            raise error from cause
    except RuntimeError as caught:
        caught_error = caught
    lines = REDACTOR.scrub_exception(caught_error).split("\n")
    mark = REDACTOR.mask("swordfish9")
    assert lines[:2] == ["RuntimeError: top", f"note {mark}"]
    assert lines[2].startswith("ValueError: bad bot\u2039secret:")
    assert lines[3:] == [f"KeyError: '{mark}'"]


def test_groups_circles_and_mute_exceptions_are_told_too() -> None:
    """A group names its members, a circle ends, a message that cannot be read is replaced, `from None` is kept."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    group = ExceptionGroup("many", [first, _MuteError()])
    assert REDACTOR.scrub_exception(group).split("\n") == [
        "ExceptionGroup: many (2 sub-exceptions)",
        "ValueError: a",
        "ValueError: b",
        "_MuteError: (its message cannot be read)",
    ]
    hidden = ValueError("only this")
    hidden.__context__, hidden.__suppress_context__ = KeyError("not this"), True
    assert REDACTOR.scrub_exception(hidden) == "ValueError: only this"


def test_a_chain_without_end_is_cut() -> None:
    """Twenty links tell enough."""
    error = ValueError("0")
    for number in range(1, 40):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    assert len(REDACTOR.scrub_exception(error).split("\n")) == 20


def test_the_masks_of_an_earlier_process_can_be_made_known() -> None:
    """The history holds them, and written back they would do the same harm."""
    redactor = Redactor({}, b"key")
    mark = Redactor({}, b"key").mask("TOKEN=abc")[6:]
    assert not redactor.made_mask(mark)
    redactor.recall(f"a file with {mark}")
    assert redactor.made_mask(mark)
