"""Say which network addresses a fetch may reach: public ones, in whatever notation they are written.

The model chooses the address, and a page may redirect to any; behind the host's own network stand metadata services,
routers and databases that trust whoever can reach them. Everything is judged after resolution, on the very address that
is connected to. The standard library's ``is_global`` is not enough: it knows nothing of addresses inside addresses.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPAddress = IPv4Address | IPv6Address

_BLOCKED_V4 = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider"),
        ("127.0.0.0/8", "this host"),
        ("168.63.129.16/32", "a cloud's own service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved for examples"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "a tunnel"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "reserved for measurements"),
        ("198.51.100.0/24", "reserved for examples"),
        ("203.0.113.0/24", "reserved for examples"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_BLOCKED_V6 = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("2001::/23", "a tunnel or reserved"),
        ("2001:db8::/32", "reserved for examples"),
        ("2002::/16", "a tunnel"),
        ("2620:4f:8000::/48", "reserved"),
        ("3fff::/20", "reserved for examples"),
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")


class NoHost(ValueError):
    """The text is neither a host name nor an address that is safe to read; it completes "HOST ..."."""


def refusal(address: IPAddress) -> str | None:
    """What keeps a fetch from ``address`` ("is private", "is a tunnel"), or None where it is public."""
    if isinstance(address, IPv6Address):
        return _refusal_v6(address)
    return next((f"is {what}" for network, what in _BLOCKED_V4 if address in network), None)


def _refusal_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "belongs to one network interface"
    if address in _MAPPED or address in _TRANSLATED:
        return refusal(_last_four(address))  # the IPv4 address that is really reached
    if address not in _PUBLIC_V6:
        return "is not public"
    for network, what in _BLOCKED_V6:
        if address in network:
            return f"is {what}"
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return refusal(_last_four(address))
    return None


def _last_four(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def read_address(host: str) -> IPAddress | None:
    """The address that ``host`` writes, in any notation that a C library reads (``127.1``, ``0x7f000001``,
    ``2130706433``, ``0177.0.0.1``); None for a name. NoHost for what is neither, or names a network interface.
    """
    text = host.removeprefix("[").removesuffix("]")
    if ":" in text:
        try:
            address = ip_address(text)
        except ValueError:
            raise NoHost("is not an address") from None
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            raise NoHost("names a network interface")
        return address
    parts = text.removesuffix(".").split(".")
    if not _NUMBER.match(parts[-1]):
        return None
    return _old_notation(parts)


def _old_notation(parts: list[str]) -> IPv4Address:
    """One to four numbers, of which the last fills what is left; decimal, octal (0...) or hexadecimal (0x...)."""
    if len(parts) > 4 or not all(_NUMBER.match(part) for part in parts):
        raise NoHost("is not an address")
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        raise NoHost("is not an address") from None
    *heads, last = numbers
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        raise NoHost("is not an address")
    total = last
    for place, head in enumerate(heads):
        total += head << (24 - 8 * place)
    try:
        return IPv4Address(total)
    except AddressValueError:
        raise NoHost("is not an address") from None


def _number(text: str) -> int:
    if text[:2] in ("0x", "0X"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text.startswith("0") else int(text)
