"""Read-only views of the network: addresses, routes, sockets, filters.

Nothing here sets, flushes, enters a namespace, or asks a name server that a command names.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match
from mtbot.policy.grammar import grammar
from mtbot.policy.readonly_entry import entry, flat

_IP_OBJECTS = [
    "address",
    "addr",
    "a",
    "link",
    "l",
    "route",
    "r",
    "neighbour",
    "neighbor",
    "neigh",
    "n",
    "rule",
    "ru",
    "maddress",
    "maddr",
    "m",
    "mroute",
    "mr",
    "netconf",
    "netc",
    "tunnel",
    "t",
    "tuntap",
    "tunt",
    "stats",
    "netns",
    "vrf",
    "nexthop",
    "token",
]

_IP_OPTIONS = "-4 -6 -0 -s -d -o -j -p -h -c -r -rc -br -ts -t -brief -color -stats -statistics -details -oneline -json -pretty -human --human-readable -human-readable -family:(inet|inet6|link|mpls)"

_IP_LEADING = grammar(_IP_OPTIONS, whole_words=True)


def _match_ip(argv: Argv) -> Match | None:
    leading = list(argv[1:])
    options = []
    while leading and leading[0].startswith("-"):
        options.append(leading.pop(0))
    if _IP_LEADING.match(tuple(options)) is None:
        return None
    if options and not leading:
        return None
    objects, filters = leading[:1], leading[1:]
    if objects in (["monitor"], ["mo"]):
        return (
            Match()
            if all(word in ("all", "address", "link", "route", "neigh", "rule", "netconf", "label") for word in filters)
            else None
        )
    if not objects or objects[0] not in _IP_OBJECTS:
        return None
    if not filters:
        return Match()
    verb, words = filters[0], filters[1:]
    if verb in ("show", "list", "ls", "lst"):
        return (
            Match()
            if re.fullmatch(r"(?:[A-Za-z0-9_.@:/%-]{1,60} ?)*", " ".join(words))
            and not any(word.startswith("-") for word in words)
            else None
        )
    if verb == "get" and objects[0] in ("route", "r", "neigh", "n", "neighbour", "neighbor"):
        return (
            Match()
            if words and all(re.fullmatch(r"[0-9a-fA-F.:/]+|dev|from|[a-z0-9_.@]{1,15}", word) for word in words)
            else None
        )
    if verb == "identify" and objects[0] == "netns":
        return Match() if all(word.isdigit() for word in words) and len(words) < 2 else None
    return None


NETWORK: tuple[AllowRule, ...] = (
    AllowRule(
        id="readonly:ip",
        match=_match_ip,
        program="ip",
        why="shows addresses, links, routes",
        permits=(
            "ip addr",
            "ip -br a",
            "ip -4 addr show dev eth0",
            "ip route get 1.1.1.1",
            "ip -s -s link",
            "ip netns list",
            "ip monitor link",
            "ip neigh show",
        ),
        refuses=(
            "ip link set eth0 down",
            "ip addr add 1.2.3.4/24 dev eth0",
            "ip netns exec x id",
            "ip -b file",
            "ip -n ns addr",
            "ip route add default",
            "ip addr flush",
            "ip -all netns exec ip a",
            "ip a a 1.2.3.4 dev x",
            "ip route save",
            "ip addr show -batch x",
        ),
    ),
    *flat(
        (
            entry(
                "ss",
                grammar(
                    "-tulpnaxoeimHwsr460Ob --tcp --udp --listening --processes --numeric --all --unix --summary --options --extended --memory --info --ipv4 --ipv6 --no-header --help --version",
                    "(state|established|syn-sent|syn-recv|fin-wait-[12]|time-wait|close-wait|closed|listening|connected|synchronized|sport|dport|src|dst|and|or|not|[!=<>()]{1,2}|:[0-9a-z-]+|[0-9.:/*\\[\\]]+)*",
                ),
                permits=("ss -tulpn", "ss -s", "ss -tn state established"),
                refuses=(
                    "ss -K dst 1.2.3.4",
                    "ss dst evil.example",
                    "ss --kill",
                    "ss -D file",
                    "ss -F file",
                    "ss --diag=x",
                    "ss -N ns",
                ),
            ),
            entry(
                "netstat",
                grammar("-tulpnaxoeirsgW46vL --tcp --udp --listening --numeric --program --all --route --statistics"),
                permits=("netstat -tulpn", "netstat -an", "netstat -rn"),
                refuses=("netstat --unknown", "netstat x"),
            ),
            entry(
                "ifconfig",
                grammar("-as", "name?"),
                permits=("ifconfig", "ifconfig -a", "ifconfig eth0"),
                refuses=("ifconfig eth0 down", "ifconfig eth0 1.2.3.4", "ifconfig --x"),
            ),
            entry(
                "route / arp / iw dev / nmcli / nmcli device status / nmcli general status / nmcli device",
                grammar("-nea"),
                permits=("route -n", "arp -an", "iw dev", "nmcli device status"),
                refuses=(
                    "route add default gw x",
                    "arp -d x",
                    "arp -s a b",
                    "arp -f x",
                    "nmcli connection up x",
                    "iw dev x set y",
                ),
            ),
            entry(
                "ethtool",
                grammar("-Siakgcmn", "name"),
                permits=("ethtool eth0", "ethtool -S eth0"),
                refuses=("ethtool -s eth0 speed 10", "ethtool -r eth0", "ethtool --set-x eth0", "ethtool -E eth0"),
            ),
            entry(
                "iptables / ip6tables",
                grammar(
                    "-nvx -L -S -t:name --line-numbers --list --list-rules --numeric --verbose",
                    "name?",
                    also=lambda read: not read.options.isdisjoint({"-L", "-S", "--list", "--list-rules"}),
                ),
                permits=("iptables -L -n -v", "iptables -S", "ip6tables -nL"),
                refuses=(
                    "iptables -F",
                    "iptables -A INPUT -j DROP",
                    "iptables -L -Z",
                    "iptables -n",
                    "iptables --modprobe=x -L",
                ),
            ),
            entry(
                "nft list ruleset / nft list tables / ufw status / ufw status verbose / ufw status numbered / firewall-cmd --state / firewall-cmd --list-all",
                grammar(),
                permits=("nft list ruleset", "ufw status verbose", "firewall-cmd --list-all"),
                refuses=(
                    "nft flush ruleset",
                    "nft -f x",
                    "ufw disable",
                    "firewall-cmd --reload",
                    "firewall-cmd --list-all --permanent-x",
                ),
            ),
        )
    ),
)
