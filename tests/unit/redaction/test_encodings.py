"""A known value is found in every form in which it may come back."""

import base64
import json
import re
import shlex
import subprocess
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.redaction import encodings
from mtbot.redaction.mask import Redactor
from tests.unit.redaction.samples import draw, windows

AWKWARD = "p@ss 'wörd\"; $x\\y|z&<q>`\t\u20ac\U0001f511%+/=~#"
SECRETS = ("swordfish9", AWKWARD, "line one of it\nline two 'of it'\nthree", draw(40), "a+b/c=d&e", "\\'\\'\\'\\'\"\"")


def _forms(value: str) -> dict[str, str]:
    octets = value.encode()
    return {
        "raw": value,
        "JSON": json.dumps(value)[1:-1],
        "JSON as UTF-8": json.dumps(value, ensure_ascii=False)[1:-1],
        "JSON in JSON": json.dumps(json.dumps(value))[3:-3],
        "percent": quote(value, safe=""),
        "percent of a path": quote(value),
        "percent in small letters": quote(value, safe="").lower() if value == value.lower() else quote(value),
        "form": quote_plus(value),
        "shell": shlex.quote(value),
        "shell in JSON": json.dumps(shlex.quote(value))[1:-1],
        "backslashes": "".join(c if c.isalnum() or c == "\n" else f"\\{c}" for c in value),
        "entities": value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;"),
        **{f"base64 after {ahead}": base64.b64encode(b"\xff" * ahead + octets).decode() for ahead in range(3)},
        **{f"base64 before {more}": base64.b64encode(octets + b"\xff" * more).decode() for more in range(1, 3)},
        "hexadecimal": octets.hex(),
        "hexadecimal in capitals": octets.hex().upper(),
        "hexadecimal apart": octets.hex(" "),
        "hexadecimal of xxd -p": "\n".join(re.findall(".{1,60}", octets.hex())),
        "percent all through": "".join(f"%{octet:02X}" for octet in octets),
        "backslash x all through": "".join(f"\\x{octet:02x}" for octet in octets),
        "entities all through": "".join(f"&#x{octet:x};" for octet in octets) if min(octets) > 15 else "x",
        "a list of numbers": ", ".join(f"0x{octet:02x}" for octet in octets),
        "base32": base64.b32encode(octets).decode(),
        **{f"base32 after {ahead}": base64.b32encode(b"\xff" * ahead + octets).decode() for ahead in range(1, 4)},
        "base32 after 4": base64.b32encode(b"\xff" * 4 + octets).decode()[6:],
        "base64 for addresses": base64.urlsafe_b64encode(octets).decode(),
        "base64 in percent": quote(base64.b64encode(octets).decode(), safe=""),
        "base64 of MIME": base64.encodebytes(b"\xff" * 44 + octets).decode(),
    }


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
@pytest.mark.parametrize("form", list(_forms("x")))
def test_no_six_characters_of_any_form_remain(secret: str, form: str) -> None:
    """The law of masking, for values full of what has to be escaped."""
    written = _forms(secret)[form]
    redactor = Redactor({"it": secret}, b"key")
    text = f"( {written} )"
    masked = redactor.mask(text)
    harmless = base64.b64encode(b"\xff" * 44).decode()
    assert [window for window in windows(written) if window in masked and window not in harmless] == []
    assert masked.startswith("( ")
    assert masked.endswith(" )")
    assert redactor.mask(masked) == masked


def test_bash_itself_cannot_quote_a_value_past_the_mask() -> None:
    """What `printf %q` makes of it, dollar quotes and octal included."""
    quoted = subprocess.run(
        ["bash", "-c", 'printf %q "$1"', "x", AWKWARD], capture_output=True, check=True, env={"LC_ALL": "C"}
    ).stdout.decode()
    assert "\\303\\266" in quoted
    masked = Redactor({"it": AWKWARD}, b"key").mask(quoted)
    assert [window for window in windows(quoted) if window in masked] == []


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=8, max_size=30))
def test_any_value_is_found_in_every_form(secret: str) -> None:
    """Values of any characters, also such as the patterns themselves are written with."""
    redactor = Redactor({"it": secret}, b"key")
    for form, written in _forms(secret).items():
        masked = redactor.mask(f"( {written} )")
        rest = [window for window in windows(written) if window in masked and window not in "//////" * 10]
        assert rest == [], form


def test_short_values_and_lines_that_are_no_key_are_not_searched_for() -> None:
    """Eight characters for a value; of a value with several lines also each long line of key characters."""
    assert encodings.worth_hiding(" 1234567\n") == []
    assert encodings.worth_hiding(" 12345678\n") == ["12345678"]
    key = draw(64)
    assert encodings.worth_hiding(f"-- begin --\n{key}\nshort\n") == [f"-- begin --\n{key}\nshort", key]
