"""Read-only commands about the machine: processes, hardware, accounts, time.

An option that sets, sends, resolves through the network, pages, or shows another process's environment is not here.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match
from mtbot.policy.grammar import grammar
from mtbot.policy.readonly_entry import entry, flat

_HELP = "--help --version"

_PS_LETTERS = re.compile(r"-[AeafFlyjHwcNdLTM]+|-[AeafFlyjHw]*o")

_PS_BSD = re.compile(r"[aAxuwfljrThLm]{1,8}")

_PS_COLUMNS = re.compile(r"[a-z0-9_%=,+:]{1,120}")

_PS_KEY = "[+-]?(?:%cpu|%mem|pcpu|pmem|rss|vsz|size|time|start_time|pid|ppid|comm|cmd|user)"

_PS_ORDER = re.compile(rf"{_PS_COLUMNS.pattern}|{_PS_KEY}(?:,{_PS_KEY})*")
"""A key that ps does not know fails the line, so a minus stands before a known one only."""

_PS_NUMBERS = re.compile(r"[0-9,]{1,80}")

_PS_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def _match_ps(argv: Argv) -> Match | None:
    """ps reads a failed line a second time by other rules, where `e` shows every environment.

    So nothing that could fail (a user, a terminal) may stand beside an `e`, and no word may be misread as letters.
    """
    rest = list(argv[1:])
    shows_all = any(word.startswith("-") and not word.startswith("--") and "e" in word for word in rest)
    while rest:
        word = rest.pop(0)
        if word in ("--no-headers", "--no-heading", "--forest", "--help", "--version", "-ww", "-www"):
            continue
        takes = _ps_value(word, shows_all=shows_all)
        if takes is None:
            if _PS_LETTERS.fullmatch(word) is None and (word != argv[1] or _PS_BSD.fullmatch(word) is None):
                return None
            continue
        name, joined, value = word.partition("=")
        if not (joined and name.startswith("--")):
            if not rest:
                return None
            value = rest.pop(0)
        if takes.fullmatch(value) is None or "env" in value:
            return None
    return Match()


def _ps_value(word: str, *, shows_all: bool) -> re.Pattern[str] | None:
    name = word.partition("=")[0] if word.startswith("--") else word
    if name == "--sort":
        return _PS_ORDER
    if name in ("-o", "o", "--format") or re.fullmatch(r"-[AeafFlyjHw]*o", name):
        return _PS_COLUMNS
    if name in ("-p", "--pid", "--ppid"):
        return _PS_NUMBERS
    if name == "-C":
        return _PS_NAME
    if name in ("-u", "-U", "U", "--user") and not shows_all:
        return _PS_NAME
    return None


_PROCESSES = (
    AllowRule(
        id="readonly:ps",
        match=_match_ps,
        program="ps",
        why="lists processes, never their environment",
        permits=(
            "ps aux",
            "ps -ef",
            "ps -eo pid,cmd --sort=pid",
            "ps aux --sort=-%mem",
            "ps -eo pid,pcpu --sort=-pcpu,+rss",
            "ps -C node",
            "ps",
            "ps -u www-data",
            "ps U postgres",
            "ps ax -o pid,args",
            "ps -p 1,2",
        ),
        refuses=(
            "ps e",
            "ps auxe",
            "ps -auxe",
            "ps eww",
            "ps -e -u nobody",
            "ps -eu x",
            "ps -E",
            "ps -o environ",
            "ps aux --sort=-x",
            "ps aux --sort=--e",
            "ps -o pid,environ",
            "ps aux e",
            "ps --unknown",
            "ps axe -o pid",
        ),
    ),
    *flat(
        (
            entry(
                "top",
                grammar("-bciH -n:num -d:num -o:name -w:num -p:range", requires="-b -n"),
                permits=("top -b -n 1", "top -bn1"),
                refuses=("top", "top -b", "top -bn1 -s x"),
            ),
            entry(
                "pgrep / pidof",
                grammar("-aflxncivoq -u:name --list-full --list-name --full --exact --newest --oldest", "text+"),
                permits=("pgrep -af nginx", "pidof sshd"),
                refuses=("pgrep -F file x", "pgrep --signal 9 x", "pidof --x y"),
            ),
            entry(
                "pstree", grammar("-aAcghlnpsSTuU"), permits=("pstree -p",), refuses=("pstree --unknown", "pstree -N x")
            ),
            entry(
                "free / uptime / vmstat / w / users / whoami / nproc",
                grammar(
                    "-bkmghtlwaVSdfpu -s:num -c:num --human --kilo --mega --giga --si --total --wide --pretty --since --all --help --version",
                    "num*",
                ),
                permits=("free -h", "uptime -p", "vmstat 1 3", "w", "users", "whoami", "nproc --all"),
                refuses=("free --unknown", "w -x", "vmstat -n x", "uptime x"),
            ),
            entry(
                "iostat / mpstat / sar",
                grammar("-cdhkmxyzptNAruqbBWS -n:name -P:name", "num*"),
                permits=("iostat -x 1 3", "mpstat -P ALL", "sar -u"),
                refuses=("sar -o file 1", "iostat -f /dev", "mpstat --dec=2"),
            ),
            entry(
                "lsof",
                grammar("-nPltUR -i:([46]?(?:TCP|UDP|tcp|udp)?(?::[0-9,a-z-]+)?) -p:range -u:name -c:name"),
                permits=("lsof -nP -i :80", "lsof -p 12"),
                refuses=("lsof +D /home", "lsof -D x", "lsof -r 1", "lsof /home/x", "lsof -i @evil.example"),
            ),
        )
    ),
)

_HARDWARE = flat(
    (
        entry(
            "uname",
            grammar(f"-amnrsvpio --all --kernel-name --nodename --kernel-release --machine --operating-system {_HELP}"),
            permits=("uname -a", "uname --all"),
            refuses=("uname x", "uname --al"),
        ),
        entry(
            "id / groups / logname",
            grammar(f"-ugGnrz --user --group --groups --name --real {_HELP}", "name?"),
            permits=("id", "id -un deploy", "groups", "logname"),
            refuses=("id --use", "groups -x"),
        ),
        entry(
            "date",
            grammar(
                f"-uR -I -d:when --date:when --utc --universal --rfc-email --iso-8601?(date|hours|minutes|seconds|ns) --rfc-3339:(date|seconds|ns) {_HELP}",
                r"(\+[^\n]*)?",
            ),
            permits=("date", "date -u +%F", "date -d '2 days ago' +%s", "date --iso-8601=seconds"),
            refuses=(
                "date -s 12:00",
                "date --set=x",
                "date 010112002026",
                "date -f file",
                "date -r file",
                "date --reference=x",
                "date --se=x",
            ),
        ),
        entry(
            "hostname / domainname",
            grammar("-fisIdA --fqdn --short --ip-address --all-ip-addresses --long"),
            permits=("hostname", "hostname -f", "hostname -I", "domainname"),
            refuses=("hostname evil", "hostname -F file", "hostname -b x", "hostname --file=x", "domainname x"),
        ),
        entry(
            "lscpu / lsmod / lsusb / lspci / lsmem / lsns / lslocks / lsipc / ipcs / lsb_release / locale",
            grammar("-aeJpvknmtbl --all --json --extended --human --verbose --tree --help --version -d:text -s:text"),
            permits=(
                "lscpu",
                "lspci -nn",
                "lsusb -t",
                "lsmod",
                "lsb_release -a",
                "lsmem",
                "lsns",
                "lslocks",
                "lsipc",
                "ipcs",
                "locale",
            ),
            refuses=(
                "lspci -i file",
                "lspci -q",
                "lscpu --sysroot /x",
                "lsusb -D x",
                "lspci -A x",
                "lspci -p file",
                "lsns --unknown x",
            ),
        ),
        entry(
            "lsblk / findmnt",
            grammar(
                "-fbdDilmnpPrTJS --all --fs --bytes --json --list --noheadings --paths --tree --output:words -o:words --df -t:words -s --help --version",
                "path*",
            ),
            permits=("lsblk -f", "lsblk -o NAME,SIZE", "findmnt -l", "findmnt /srv"),
            refuses=("lsblk --sysroot /x", "findmnt --fstab-x", "findmnt -F file", "findmnt --poll"),
        ),
        entry(
            "swapon --show / swapon -s / swapon --summary",
            grammar("--bytes --noheadings --raw"),
            permits=("swapon --show",),
            refuses=("swapon -a", "swapon x", "swapon --show x", "swapon --fixpgsz x"),
        ),
        entry(
            "mount",
            grammar("-l -t:words"),
            permits=("mount", "mount -l"),
            refuses=("mount -a", "mount /dev/sda1 /mnt", "mount -o remount,rw /", "mount -T x"),
        ),
        entry(
            "getent passwd / getent group / getent services / getent protocols",
            grammar("", "name*"),
            permits=("getent passwd deploy", "getent group"),
            refuses=("getent shadow", "getent hosts evil.example", "getent ahosts x", "getent -s files passwd"),
        ),
        entry(
            "sysctl",
            grammar("-aneN --all --names --values --ignore --pattern:text", "([a-z0-9_.*/-]+)*"),
            permits=("sysctl -a", "sysctl -n vm.swappiness"),
            refuses=(
                "sysctl -w a.b=1",
                "sysctl a.b=1",
                "sysctl -p",
                "sysctl --system",
                "sysctl -f x",
                "sysctl --load=x",
            ),
        ),
        entry(
            "getconf",
            grammar("-a", "name?"),
            permits=("getconf PAGE_SIZE",),
            refuses=("getconf -v x y", "getconf a /x"),
        ),
        entry(
            "nvidia-smi",
            grammar("-L -q --query-gpu:words --query-compute-apps:words --format:words -d:words --help"),
            permits=("nvidia-smi", "nvidia-smi --query-gpu=name,memory.used --format=csv"),
            refuses=("nvidia-smi -r", "nvidia-smi -pl 100", "nvidia-smi -f out", "nvidia-smi --gpu-reset"),
        ),
        entry(
            "sensors / acpi / ntpq -p / chronyc tracking / chronyc sources",
            grammar("-uAfbtVn"),
            permits=("sensors", "acpi -V", "ntpq -p", "chronyc tracking"),
            refuses=("sensors -s", "chronyc makestep", "ntpq -c x", "sensors -c file"),
        ),
    )
)

MACHINES: tuple[AllowRule, ...] = (*_PROCESSES, *_HARDWARE)
