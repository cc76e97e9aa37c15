"""Public addresses are told from all others, in every notation."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.tools.netguard import NoHost, read_address, refusal

BLOCKED = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.9"),
    *("169.254.169.254", "168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.170", "192.0.0.192", "192.0.2.1"),
    *("192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.250", "240.0.0.1", "255.255.255.255", "192.31.196.1", "192.52.193.1", "192.175.48.1"),
    *("::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "64:ff9b:1::808:808", "100::1", "2001::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::"),
    *(
        "2002:808:808::1",
        "2620:4f:8000::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
    ),
    *("fec0::1", "ff02::1", "4000::1", "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1", "2606:4700::1%1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255"),
    *("128.0.0.1", "168.63.129.17", "169.253.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255"),
    *("192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::8a"),
    *(
        "2001:200::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2003::1",
        "2606:4700::5efe:8.8.8.8",
    ),
]


@pytest.mark.parametrize("address", BLOCKED)
def test_what_is_not_public_is_refused_with_a_reason(address: str) -> None:
    """Private, local, reserved, tunnelled, and every address with such a one inside."""
    why = refusal(ip_address(address))
    assert why is not None
    assert why.startswith(("is ", "belongs to "))


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_not_refused(address: str) -> None:
    """The neighbours of the blocked ranges, and addresses that translate to public ones."""
    assert refusal(ip_address(address)) is None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_an_address_inside_another_is_judged_as_itself(value: int, prefix: str) -> None:
    """Mapped and translated addresses reach the IPv4 address, so they get its judgement."""
    inner = IPv4Address(value)
    assert refusal(IPv6Address(int(IPv6Address(prefix)) | value)) == refusal(inner)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nothing_that_the_library_calls_private_is_public(value: int) -> None:
    """Our set is wider than that of the standard library, and never narrower."""
    address = IPv4Address(value)
    if not address.is_global or address.is_multicast:
        assert refusal(address) is not None


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001"),
        *("0X7F.0x0.0.1", "127.0.0.1.", "0", "1.2", "1.65536", "255.16777215", "4294967295", "0x8.8.8.8"),
    ],
)
def test_old_notations_are_read_as_the_c_library_reads_them(host: str) -> None:
    """Decimal, octal, hexadecimal and short forms; the C library is the judge."""
    found = read_address(host)
    assert found == IPv4Address(socket.inet_aton(host.removesuffix(".")))


@pytest.mark.parametrize(
    "host",
    [
        *("1.2.3.4.5", "256.1.1.1", "256.1", "4294967296", "0x100000000", "08", "a.0x7f", "host.1", "1..2"),
        *("[::1%lo]", "fe80::1%eth0", "[::g]", "::1::", "1:2", "09.1.1.1"),
    ],
)
def test_what_only_looks_like_an_address_is_no_host(host: str) -> None:
    """Somebody would read it as an address, so it is not given to a resolver."""
    with pytest.raises(NoHost):
        read_address(host)


@pytest.mark.parametrize(
    "host", ["example.com", "localhost", "a.b.c1", "0x7f.example", "1.2.3.0x1g", "1password.com", "x--1.de", "-"]
)
def test_names_are_left_to_the_resolver(host: str) -> None:
    """Nothing is decided by a name."""
    assert read_address(host) is None


def test_addresses_in_brackets_are_read() -> None:
    """As they stand in a URL."""
    assert read_address("[::ffff:127.0.0.1]") == IPv6Address("::ffff:127.0.0.1")
    assert read_address("::1") == IPv6Address("::1")
