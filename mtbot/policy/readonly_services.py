"""Read-only systemd and its logs, and the states of other service managers.

Nothing here shows a unit's environment (`cat`, `show`), changes one, reaches another host, or opens a pager.
"""

from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.grammar import grammar
from mtbot.policy.readonly_entry import NO_PAGER, entry, flat

_SYSTEMD = (*NO_PAGER, ("SYSTEMD_PAGER", "cat"), ("SYSTEMD_PAGERSECURE", "1"))

_UNIT = "([A-Za-z0-9_@:.*-]+)"

_HELP = "--help --version"

SERVICES: tuple[AllowRule, ...] = flat(
    (
        entry(
            "systemctl status / systemctl is-active / systemctl is-enabled / systemctl is-failed / systemctl list-units / systemctl list-unit-files"
            " / systemctl list-timers / systemctl list-sockets / systemctl list-jobs / systemctl list-dependencies / systemctl is-system-running / systemctl get-default",
            grammar(
                f"-alqr -n:num -t:words -o:name --no-pager --all --full --lines:num --type:words --state:words --failed --plain --no-legend --user --system --quiet --reverse {_HELP}",
                f"{_UNIT}*",
            ),
            before=grammar("-lq -n:num --no-pager --user --system --full --all --no-legend"),
            environment=_SYSTEMD,
            permits=(
                "systemctl status nginx",
                "systemctl --no-pager status nginx -n 50",
                "systemctl is-active sshd",
                "systemctl list-units --failed",
                "systemctl list-timers --all",
                "systemctl --user status x",
            ),
            refuses=(
                "systemctl cat nginx",
                "systemctl show nginx",
                "systemctl restart nginx",
                "systemctl -H host status x",
                "systemctl edit x",
                "systemctl show-environment",
                "systemctl status --root=/x y",
                "systemctl -M c status x",
                "systemctl --no-pag status x",
                "systemctl import-environment",
            ),
        ),
        entry(
            "systemctl",
            grammar(f"-a --failed --no-pager --all --type:words --state:words --user {_HELP}"),
            environment=_SYSTEMD,
            permits=("systemctl --failed", "systemctl"),
            refuses=("systemctl --force", "systemctl -H x"),
        ),
        entry(
            "journalctl",
            grammar(
                f"-afkreqxm -u:name -n:num -b -p:range -o:(short|short-iso|short-precise|short-full|json|json-pretty|cat|verbose|with-unit) -S:when -U:when -t:name -g:text -p:words"
                f" --unit:name --user-unit:name --lines?num --boot?int --priority:words --output:name --since:when --until:when --identifier:name --grep:text --no-pager --follow --dmesg --reverse"
                f" --no-tail --all --quiet --utc --no-hostname --list-boots --disk-usage --pager-end --catalog --user --system --merge --case-sensitive {_HELP}",
                "(_[A-Z_]+=[A-Za-z0-9_.@:-]+)*",
            ),
            environment=_SYSTEMD,
            permits=(
                "journalctl -u nginx -n 100 --no-pager",
                "journalctl -xe",
                "journalctl --since '1 hour ago' -p err",
                "journalctl -k -b",
                "journalctl --disk-usage",
                "journalctl _PID=1",
            ),
            refuses=(
                "journalctl --vacuum-size=1M",
                "journalctl --rotate",
                "journalctl --flush",
                "journalctl -D /x",
                "journalctl --file=x",
                "journalctl --root=/x",
                "journalctl --setup-keys",
                "journalctl --vacuum-time 1s",
                "journalctl --cursor-file=x",
                "journalctl --sync",
                "journalctl -M c",
                "journalctl --sinc x",
            ),
        ),
        entry(
            "loginctl list-sessions / loginctl list-users / loginctl",
            grammar("--no-pager --no-legend -a"),
            environment=_SYSTEMD,
            permits=("loginctl list-sessions", "loginctl"),
            refuses=("loginctl kill-user x", "loginctl -H x list-users", "loginctl terminate-session 1"),
        ),
        entry(
            "timedatectl / timedatectl status / timedatectl list-timezones / timedatectl show",
            grammar("--no-pager -a"),
            environment=_SYSTEMD,
            permits=("timedatectl", "timedatectl status"),
            refuses=("timedatectl set-time x", "timedatectl set-ntp true", "timedatectl -H x status"),
        ),
        entry(
            "hostnamectl / hostnamectl status",
            grammar("--no-pager --static --pretty"),
            environment=_SYSTEMD,
            permits=("hostnamectl",),
            refuses=("hostnamectl set-hostname x", "hostnamectl hostname x", "hostnamectl -H x"),
        ),
        entry(
            "localectl / localectl status / localectl list-locales",
            grammar("--no-pager"),
            environment=_SYSTEMD,
            permits=("localectl status",),
            refuses=("localectl set-locale x", "localectl -H h"),
        ),
        entry(
            "resolvectl status / resolvectl dns / resolvectl statistics",
            grammar("--no-pager", "name?"),
            environment=_SYSTEMD,
            permits=("resolvectl status",),
            refuses=("resolvectl query evil.example", "resolvectl flush-caches", "resolvectl dns eth0 1.1.1.1"),
        ),
        entry(
            "networkctl list / networkctl status",
            grammar("--no-pager -a --all", "name?"),
            environment=_SYSTEMD,
            permits=("networkctl list",),
            refuses=("networkctl down eth0", "networkctl edit x"),
        ),
        entry(
            "systemd-analyze / systemd-analyze time / systemd-analyze blame / systemd-analyze critical-chain",
            grammar("--no-pager --user"),
            environment=_SYSTEMD,
            permits=("systemd-analyze blame",),
            refuses=("systemd-analyze set-log-level x", "systemd-analyze cat-config x", "systemd-analyze plot --x"),
        ),
        entry(
            "coredumpctl list / bootctl status / bootctl list",
            grammar("--no-pager"),
            environment=_SYSTEMD,
            permits=("coredumpctl list", "bootctl status"),
            refuses=("coredumpctl dump -o x", "bootctl install", "coredumpctl debug"),
        ),
        entry(
            "dmesg",
            grammar(
                "-HkLPrTtuxew -s:num --buffer-size:num -l:words -f:words --color?(auto|never|always) --ctime --facility:words --human --kernel --level:words --nopager --notime --raw --reltime --since:when --until:when --userspace --decode --follow --time-format:name --json --help --version",
            ),
            environment=NO_PAGER,
            permits=("dmesg -T", "dmesg -s 16384", "dmesg --level=err,warn", "dmesg -T -H"),
            refuses=(
                "dmesg -C",
                "dmesg -c",
                "dmesg -n 1",
                "dmesg -D",
                "dmesg -E",
                "dmesg --clear",
                "dmesg -F x",
                "dmesg --console-off",
                "dmesg --leve=err",
            ),
        ),
        entry(
            "last / lastb / who",
            grammar("-aFiwxRbdHlmqrsTt -n:num -0123456789 -u:name", "name*"),
            permits=("last -n 10", "who -a", "lastb -10"),
            refuses=("last -f file", "who --x"),
        ),
        entry(
            "lastlog",
            grammar("-b:num -t:num -u:name -h"),
            permits=("lastlog", "lastlog -u root", "lastlog -t 5"),
            # -R takes another root directory, and the libraries in it
            refuses=("lastlog -C -u x", "lastlog --clear", "lastlog -R x", "lastlog -S -u x", "lastlog x"),
        ),
        entry(
            "fail2ban-client status / supervisorctl status / monit status / zpool status / zpool list / zfs list",
            grammar("", "name?"),
            permits=(
                "fail2ban-client status sshd",
                "supervisorctl status",
                "monit status",
                "zpool status",
                "zfs list",
            ),
            refuses=(
                "fail2ban-client stop",
                "supervisorctl stop x",
                "zpool destroy x",
                "zfs set a=b c",
            ),
        ),
    )
)
