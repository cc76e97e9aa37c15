"""Known values written as digits."""

import base64

from mtbot.redaction.digits import Digits

VALUE = b"swordfish-19"


def _found(text: str) -> list[str]:
    data = text.encode()
    return [data[span.start : span.end].decode() for span in Digits([VALUE]).spans(data)]


def test_hexadecimal_is_found_at_any_place_of_a_longer_run() -> None:
    """The digits around it stay, also an odd one in front."""
    assert _found(f"x {VALUE.hex()} y") == [VALUE.hex()]
    assert _found(f"0aff{VALUE.hex()}00") == [VALUE.hex()]
    assert _found(f"a{VALUE.hex()}") == [VALUE.hex()]


def test_octets_may_stand_apart_and_be_marked() -> None:
    """As xxd, URLs, programs and pages write them."""
    for mark, between in (("", " "), ("", ":"), ("%", ""), ("\\x", ""), ("0x", ", "), ("\\u00", ""), ("", "\n")):
        written = between.join(f"{mark}{octet:02x}" for octet in VALUE)
        assert _found(f"( {written} )") == [written]
    entities = "".join(f"&#x{octet:x};" for octet in VALUE)
    assert _found(f"( {entities} )") == [entities]


def test_base32_is_found_wherever_the_value_begins() -> None:
    """With its padding and across line breaks; the digit at either end holds bits of the value, too."""
    assert _found(base64.b32encode(VALUE).decode()) == [base64.b32encode(VALUE).decode()]
    inside = base64.b32encode(b"abc" + VALUE + b"defgh").decode()
    (found,) = _found(inside)
    assert inside.startswith(base64.b32encode(b"abc").decode()[:4])
    assert found in inside
    assert len(found) < len(inside)
    broken = base64.b32encode(VALUE).decode()
    assert _found(f"{broken[:9]}\n{broken[9:]}") == [f"{broken[:9]}\n{broken[9:]}"]


def test_other_digits_and_short_values_are_left_alone() -> None:
    """A hash is no secret, and a short value would be found everywhere."""
    assert _found("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 NBSWY3DPEB3W64TMMQ") == []
    assert list(Digits([b"short"]).spans(b"73686f7274 73686f7274")) == []
