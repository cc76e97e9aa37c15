"""Attempts to break out of containment, as the user of these tests and as an ordinary one.

Each is first made on the host, where it succeeds; contained it has to fail wherever the probe says that this kind holds.
"""

import contextlib
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from mtbot.processes.confiner import remove_tree

from .captive import ROOT, Confined, python

FILES = {
    "write": "echo x > $OUT/file",
    "append": "echo x >> $OUT/file",
    "create": "touch $OUT/new",
    "make a directory": "mkdir $OUT/d",
    "truncate": python('os.truncate(O + "/file", 0)'),
    "truncate by reading": python('os.open(O + "/file", os.O_RDONLY | os.O_TRUNC)'),
    "read": "cat $OUT/token",
    "read through a link": "ln -s $OUT/token link && cat link",
    "read through a hard link": "ln $OUT/token hard && cat hard",
    "read through the root of a process": "cat /proc/self/root$OUT/token",
    "list": "ls $OUT",
    "move in": "mv $OUT/token .",
    "move out": "touch mine && mv mine $OUT/",
    "remove": "rm $OUT/file",
    "execute": "cp /bin/true $OUT/program && $OUT/program",
    "change the mode": "chmod 777 $OUT/token",
    "change the time": python('os.utime(O + "/file", (1, 1))'),
    "change the owner": "chown $(id -u) $OUT/file",
    "environment of the gateway": "cat /proc/$GATEWAY/environ > copy",
    "memory map of the gateway": "cat /proc/$GATEWAY/maps > copy",
    "what the gateway has open": "readlink /proc/$GATEWAY/fd/1",
}


@pytest.mark.parametrize("name", FILES)
def test_nothing_outside_is_read_or_changed(confined: Confined, name: str) -> None:
    """Every way to a file of the same user outside works on the host and fails contained."""
    confined.lay_out()
    assert confined.run(FILES[name], "host")[0] == 0
    confined.lay_out()
    before = confined.state()
    code, output = confined.run(FILES[name])
    assert (code != 0 and confined.state() == before and "secret" not in output) or not confined.holds("files")


@pytest.mark.parametrize("network", [False, True])
def test_no_socket_of_the_host_is_reached(confined: Confined, network: bool) -> None:
    """TCP and UDP only where the network was granted; a unix socket, like that of Docker, never."""
    confined.lay_out()
    with contextlib.ExitStack() as held:
        tcp = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        stream = held.enter_context(socket.socket(socket.AF_UNIX))
        datagram = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        abstract = held.enter_context(socket.socket(socket.AF_UNIX))
        stream.bind(str(confined.outside / "docker.sock"))
        datagram.bind(str(confined.outside / "log"))
        abstract.bind(f"\0{confined.outside}")
        for listener in (stream, abstract):
            listener.listen()
        for path in confined.outside.iterdir():
            os.chown(path, confined.uid, -1)
        unix = "socket.socket(socket.AF_UNIX)"
        attempts = {
            "tcp": python(f'socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 5)'),
            "udp": python(
                f'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp.getsockname()[1]}))'
            ),
            "unix": python(f'{unix}.connect(O + "/docker.sock")'),
            "abstract": python(f'{unix}.connect("\\0" + O)'),
            "datagram": python('socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", O + "/log")'),
            "pair": python('socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", O + "/log")'),
        }
        assert {name: confined.run(script, "host")[0] for name, script in attempts.items()} == dict.fromkeys(
            attempts, 0
        )
        reached = {name for name, script in attempts.items() if confined.run(script, network=network)[0] == 0}
        assert reached == ({"tcp", "udp"} if network else set()) or not confined.holds("network")


def test_nothing_of_the_same_user_is_signalled(confined: Confined) -> None:
    """Gateway and spawner can be killed on the host by whoever is the same user; not from inside."""
    for target in ("$GATEWAY", "$SPAWNER"):
        assert confined.run(f"kill -0 {target}", "host")[0] == 0
        assert confined.run(f"kill -0 {target}")[0] != 0 or not confined.holds("signals")


@pytest.mark.parametrize(
    "script",
    [
        "unshare -U true",
        "unshare -m true",
        "mkdir -p m && mount -t tmpfs none m",
        "chroot . /bin/true",
        python('raise SystemExit(0 if ctypes.CDLL(None).ptrace(16, int(os.environ["GATEWAY"]), 0, 0) == 0 else 1)'),
        python(
            "raise SystemExit(0 if ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256)) >= 0 else 1)"
        ),
        python("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
        "cp /bin/true s && chmod u+s s",
        "umask 0; " + python('os.open("s", os.O_CREAT | os.O_WRONLY, 0o4755)'),
    ],
)
def test_the_kernel_offers_no_way_around(confined: Confined, script: str) -> None:
    """Namespaces, mounts, tracing, io_uring, packets and setuid bits, with every right that can be granted."""
    confined.lay_out()
    assert confined.run(script, network=True, attributes=True)[0] != 0


def test_no_capability_is_left_and_none_comes_back(confined: Confined) -> None:
    """Not for root either; a file of somebody else is closed to root as to all others."""
    confined.lay_out()
    code, output = confined.run("grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status | tr -d '\\n\\t '")
    assert (code, output) == (
        0,
        "".join(f"Cap{kind}:{0:016x}" for kind in ("Inh", "Prm", "Eff")) + f"CapAmb:{0:016x}NoNewPrivs:1",
    )


def test_what_it_was_granted_works(confined: Confined) -> None:
    """The workspace, a temporary directory, threads, pipes, pairs, children and their signals."""
    confined.lay_out()
    script = " && ".join(
        [
            "echo mine > a && mv a b && ln -s b c && cat c && chmod 700 b && : > b",
            'echo "$TMPDIR" && echo t > "$TMPDIR/t" && mkdir "$TMPDIR/locked" && : > "$TMPDIR/locked/f" && chmod 0 "$TMPDIR/locked"',
            "(sleep 60 & kill $!)",
            python(
                'import threading; a, b = socket.socketpair(); a.send(b"x"); t = threading.Thread(); t.start(); t.join()'
            ),
            "cat < <(echo piped)",
        ]
    )
    code, output = confined.run(script, attributes=True)
    first, private, last = output.split()
    assert (code, first, last) == (0, "mine", "piped")
    assert not Path(private).exists()


def test_paths_that_were_named_and_no_others(confined: Confined) -> None:
    """What may be read cannot be written, and of what may be looked at a directory is listed and a file read."""
    confined.lay_out()
    (confined.outside / "d").mkdir()
    (confined.outside / "d" / "inner").write_text("inner")
    for path in (confined.outside / "d", confined.outside / "d" / "inner"):
        os.chown(path, confined.uid, -1)
    look = [str(confined.outside / "d"), str(confined.outside / "file")]
    answers = {
        "file": confined.run("cat $OUT/file", look=look)[1],
        "names": confined.run("ls $OUT/d", look=look)[1].strip(),
        "content": confined.run("cat $OUT/d/inner 2>/dev/null; echo", look=look)[1].strip(),
        "read": confined.run("cat $OUT/d/inner", read=look[:1])[1],
        "write": str(confined.run("echo x > $OUT/d/inner", read=look[:1])[0] != 0),
        "granted": str(confined.run("echo x > $OUT/d/inner", write=look[:1])[0]),
    }
    closed = "" if confined.holds("files") else "inner"
    assert answers == {
        "file": "untouched",
        "names": "inner",
        "content": closed,
        "read": "inner",
        "write": str(confined.holds("files")),
        "granted": "0",
    }


def test_a_link_gives_no_right_to_write_where_it_leads(confined: Confined) -> None:
    """Somebody may have put it where a rule names a directory; last or in the middle."""
    confined.lay_out()
    (confined.outside / "d").mkdir()
    os.chown(confined.outside / "d", confined.uid, -1)
    link = confined.workspace / "link"
    link.symlink_to(confined.outside)
    for write in (link, link / "d"):
        assert confined.run("echo x > $OUT/d/x", write=[str(write)])[0] != 0 or not confined.holds("files")
    assert confined.run("echo x > $OUT/d/x", write=[str(confined.outside / "d")])[0] == 0


def test_a_build_may_change_modes_that_landlock_does_not_see(confined: Confined) -> None:
    """What is not held, stated as a test: with the right to attributes, modes of the user's own files everywhere."""
    confined.lay_out()
    assert confined.run("chmod 640 $OUT/token", attributes=True)[0] == 0
    assert confined.state()["token"] == (0o100640, "123:secret")


if ROOT:  # only root can make a program that starts as another user

    def test_a_setuid_program_stays_who_started_it(confined: Confined) -> None:
        """Programs like sudo and su get no other user from inside."""
        confined.lay_out()
        become_root = confined.folder / "become-root"
        shutil.copy("/usr/bin/id", become_root)
        os.chown(become_root, 12345, -1)
        become_root.chmod(0o4755)
        assert confined.run(f"{become_root} -u", "host")[1].strip() == "12345"
        assert confined.run(f"{become_root} -u", look=[str(become_root)])[1].strip() != "12345"


def test_an_unknown_part_or_profile_starts_nothing(confined: Confined) -> None:
    """A containment that cannot be had is a command that does not run."""
    assert confined.process.stdin is not None
    wanted = {"script": "echo ran", "cwd": "/", "env": {}, "profile": "elsewhere", "grants": {}}
    confined.process.stdin.write(json.dumps(wanted) + "\n")
    end = confined._hear()
    assert (end["exit"], end["message"]) == (None, "this host has no containment profile elsewhere")


def test_what_a_command_locked_away_is_removed(tmp_path: Path) -> None:
    """Directories without rights, links to elsewhere: the tree goes, what links lead to stays."""
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o500)
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "link").symlink_to(kept)
    (tree / "a").chmod(0)
    remove_tree(str(tree))
    assert (tree.exists(), kept.stat().st_mode & 0o777) == (False, 0o500)
