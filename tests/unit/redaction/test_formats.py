"""Every format of the table hides its secret, and hides what two well-kept scanners would find."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.redaction.formats import CONTEXTS, TOKENS, Format
from mtbot.redaction.mask import Redactor
from mtbot.redaction.patterns import Matcher
from tests.unit.redaction.oracles import ORACLES, Oracle
from tests.unit.redaction.samples import CONTEXT_SAMPLES, SAMPLES, TOKEN_SAMPLES, Sample, windows

REDACTOR = Redactor({}, b"key")
SYNTAX = ";&|$()<>`\n"
MASK = re.compile("\u2039secret:[0-9a-f]{4}\u203a")


def _name(sample: Sample) -> str:
    return f"{sample.name}: {sample.before.strip()[:20]}"


def test_the_table_has_at_least_sixty_formats_and_a_sample_of_each() -> None:
    """A format without a sample could be broken without anybody noticing."""
    assert len(TOKENS) + len(CONTEXTS) >= 60
    assert [row.name for row in TOKENS] == list(dict.fromkeys(sample.name for sample in TOKEN_SAMPLES))
    assert {row.name for row in CONTEXTS} == {sample.name for sample in CONTEXT_SAMPLES}


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_a_sample_keeps_no_six_characters_of_its_secret(sample: Sample) -> None:
    """What stands around the secret stays, the secret leaves nothing."""
    masked = REDACTOR.mask(sample.text)
    context = windows(sample.before) | windows(sample.after)
    assert [window for window in windows(sample.secret) if window in masked and window not in context] == []
    assert REDACTOR.count(sample.text) >= 1
    assert REDACTOR.mask(masked) == masked


@pytest.mark.parametrize("sample", TOKEN_SAMPLES, ids=_name)
def test_a_token_is_one_mask_and_everything_else_stays(sample: Sample) -> None:
    """The whole token is the value, up to its last character."""
    assert MASK.sub("#", REDACTOR.mask(sample.text)) == f"{sample.before}#{sample.after}"


@pytest.mark.parametrize("row", TOKENS, ids=lambda row: row.name)
def test_a_token_row_alone_finds_its_samples(row: Format) -> None:
    """Each row is needed: no other one stands in for it here."""
    alone = Matcher(row.pattern, longest=True)
    for sample in TOKEN_SAMPLES:
        if sample.name == row.name:
            assert alone.is_whole(sample.secret.encode())


@pytest.mark.parametrize("row", CONTEXTS, ids=lambda row: row.name)
def test_a_context_row_alone_finds_its_samples_and_names_its_anchors(row: Format) -> None:
    """The value is exactly the secret, and the text holds a word without which the row is not tried."""
    alone = Matcher(row.pattern, value=1)
    for sample in CONTEXT_SAMPLES:
        if sample.name == row.name:
            data = sample.text.encode()
            found = [data[span.start : span.end].decode() for span in alone.spans(data)]
            assert any(value.startswith(sample.secret) for value in found)
            assert any(anchor in data.lower() for anchor in row.anchors)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: f"{oracle.scanner}: {oracle.rule}")
def test_what_a_scanner_would_find_is_hidden(oracle: Oracle) -> None:
    """Random texts that match a scanner's rule do not match it any more once they are masked."""
    rule = re.compile(oracle.pattern)

    @settings(max_examples=20, deadline=None, database=None)
    @given(st.from_regex(rule, fullmatch=True, alphabet=st.characters(max_codepoint=126)))
    def hides(text: str) -> None:
        masked = REDACTOR.mask(f"run {text} now")
        assert text not in masked
        assert rule.search(masked) is None

    hides()


_PIECES = (
    [sample.text for sample in SAMPLES]
    + [row.name for row in (*TOKENS, *CONTEXTS)]
    + [
        "TOKEN=",
        "--password ",
        "-p",
        "Bearer ",
        "password: ",
        "curl -u a:",
        "https://u:",
        "@",
        "mysql -p",
        "X-Api-Key:",
    ]
    + ["${IFS}", "$(", ")", "`", ";", "|", "&&", "<", ">", "\n", " ", '"', "'", "\\", "a", "curl", "evil/x", "0aZ"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_PIECES).filter(lambda piece: "PRIVATE KEY" not in piece), max_size=12).map("".join))
def test_shell_syntax_is_never_hidden_by_a_format(text: str) -> None:
    """The count of every character that a shell acts on stays, whatever the text puts together."""
    masked = REDACTOR.mask(text)
    assert {char: masked.count(char) for char in SYNTAX} == {char: text.count(char) for char in SYNTAX}


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=";&|$()<>`\n '\"=:@-/\\.TOKENpassword0aZ\u2039\u203a", max_size=60))
def test_shell_syntax_survives_any_text_and_masking_twice_is_masking_once(text: str) -> None:
    """The same for texts without any pattern, and a mask is never masked."""
    masked = REDACTOR.mask(text)
    assert {char: masked.count(char) for char in SYNTAX} == {char: text.count(char) for char in SYNTAX}
    assert REDACTOR.mask(masked) == masked
