"""The kind of text that may leave the process."""

from mtbot.domain.ids import SafeText
from mtbot.redaction.mask import Redactor

SAFE = Redactor({}, b"key").mask("ls")


def test_it_prints_and_compares_as_its_characters() -> None:
    """And names its type where a test shows it."""
    assert SAFE == "ls"
    assert f"{SAFE}" == "ls"
    assert type(SAFE.text) is str
    assert repr(SAFE) == "SafeText('ls')"


def test_whatever_is_made_of_it_is_plain_text_again() -> None:
    """Two harmless halves can make a secret, so the whole has to be masked anew."""
    made = (SAFE + "x", "x" + SAFE, SAFE[:1], f"{SAFE}", " ".join([SAFE, SAFE]), SAFE.upper())
    assert [isinstance(text, SafeText) for text in made] == [False] * 6
