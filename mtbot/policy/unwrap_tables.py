"""The programs that run other programs, and how each finds the one that it runs.

Tables only. A wrapper is missed when its option with a value is not listed: the value would be taken for the
command. So list every option that takes a value; flags need no entry, except where `flags` is given: then an
option in neither list makes both words behind it candidates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mtbot.policy.words import words


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the command in a wrapper's words."""

    short: str = ""
    """Letters of the options that take a value."""
    long: frozenset[str] = frozenset()
    """Long options that take a value as the next word."""
    skip: int = 0
    """Operands before the command (`timeout 5 CMD`)."""
    assignments: bool = False
    """Whether NAME=VALUE words may come before the command."""
    flags: str | None = None
    """Letters of the options without a value, when they are known in full."""
    shell_text: bool = False
    """Whether the words are joined and given to a shell (`watch`, `ssh`)."""
    two: frozenset[str] = frozenset()
    """Long options that take the next two words."""
    text_options: frozenset[str] = frozenset()
    """Options whose value is a program text for a shell (`su -c`)."""


SHELLS = words("sh bash dash zsh ksh mksh ash rbash fish csh tcsh yash")
SHELL_VALUES = "oO"
SHELL_LONG_VALUES = words("--rcfile --init-file")

STDIN_SHELLS = SHELLS | words("at batch")
"""Programs that run what they read from standard input when no file is named."""

INTERPRETERS = words(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh pwsh osascript R Rscript"
)
CODE_OPTIONS = words("-c -e -E -r --eval --print -p --execute -pe -ne -ple -nle -lne")

ELEVATORS = words("sudo sudoedit doas pkexec su runuser run0 gosu su-exec")

_STRACE = Wrapper("aeEIoOpsSuUXbP", words("--trace --output --attach --user --env --string-limit"))

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        "ugphCTRDUrtac",
        words("--user --group --prompt --host --chdir --role --type --close-from --chroot --command-timeout --other-user"),
        assignments=True,
        flags="AbBEeHiKklnNPSsVv",
    ),
    "doas": Wrapper("uCa", assignments=True, flags="Lns"),
    "run0": Wrapper("ugD", words("--user --group --unit --property --nice --chdir --setenv --background --slice")),
    "pkexec": Wrapper("u", words("--user")),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "su": Wrapper("cgGsw", words("--command --group --supp-group --shell --session-command"), skip=9, text_options=words("-c --command --session-command")),
    "runuser": Wrapper("cgGsuw", words("--command --group --supp-group --shell --user --session-command"), text_options=words("-c --command --session-command")),
    "sg": Wrapper("c", words("--command"), skip=9, text_options=words("-c --command")),
    "env": Wrapper("uCSP", words("--unset --chdir --split-string"), assignments=True, flags="i0v", text_options=words("-S --split-string")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "timeout": Wrapper("sk", words("--signal --kill-after"), skip=1, flags="vfp"),
    "gtimeout": Wrapper("sk", words("--signal --kill-after"), skip=1),
    "nice": Wrapper("n", words("--adjustment")),
    "ionice": Wrapper("cnpPu", words("--class --classdata --pid --pgid --uid")),
    "chrt": Wrapper("TPD", words("--sched-runtime --sched-period --sched-deadline"), skip=1),
    "taskset": Wrapper("", skip=1),
    "numactl": Wrapper("CmNipl", words("--cpunodebind --physcpubind --membind --interleave --preferred")),
    "stdbuf": Wrapper("ioe", words("--input --output --error")),
    "time": Wrapper("fo", words("--format --output")),
    "gtime": Wrapper("fo", words("--format --output")),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper("a"),
    "coproc": Wrapper(),
    "arch": Wrapper(),
    "setarch": Wrapper(skip=1),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "rtk": Wrapper(),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chroot": Wrapper("", words("--userspec --groups"), skip=1),
    "unshare": Wrapper("SGRw", words("--setuid --setgid --root --wd --map-user --map-group --propagation")),
    "nsenter": Wrapper("tSG", words("--target --setuid --setgid")),
    "setpriv": Wrapper("", words("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig")),
    "ssh-agent": Wrapper("aEOPt"),
    "start-stop-daemon": Wrapper("xapnugcknNPIKRsrd", words("--exec --startas --pidfile --name --user --group --chuid --chroot --chdir --nicelevel --signal --retry"), text_options=words("-x --exec -a --startas")),
    "choom": Wrapper("np", words("--adjust --pid")),
    "uclampset": Wrapper("mMp", words("--util-min --util-max --pid")),
    "cpulimit": Wrapper("lpePcm", words("--limit --pid --exe --path --cpu")),
    "chpst": Wrapper("uUbemdofpcrtnP/"),
    "setuidgid": Wrapper(skip=1),
    "softlimit": Wrapper("acdflmnoprst"),
    "bwrap": Wrapper(
        "",
        words(
            "--uid --gid --hostname --chdir --unsetenv --lock-file --sync-fd --tmpfs --proc --dev --dir --args --userns --userns2 --pidns --cap-add --cap-drop"
            " --seccomp --add-seccomp-fd --info-fd --json-status-fd --block-fd --userns-block-fd --remount-ro --mqueue --perms --size --exec-label --file-label --argv0 --overlay-src"
        ),
        two=words("--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --bind-fd --ro-bind-fd --bind-data --ro-bind-data --file --symlink --setenv --chmod"),
    ),
    "npx": Wrapper("pc", words("--package --call"), text_options=words("-c --call")),
    "prlimit": Wrapper("po", words("--pid --output")),
    "cgexec": Wrapper("g"),
    "systemd-run": Wrapper("puEMHtd", words("--unit --property --uid --gid --setenv --slice --description --working-directory --on-active --on-calendar --service-type --machine --nice")),
    "systemd-inhibit": Wrapper("", words("--what --who --why --mode")),
    "caffeinate": Wrapper("tw"),
    "flock": Wrapper("wEc", words("--wait --timeout --conflict-exit-code --command"), skip=1, text_options=words("-c --command")),
    "script": Wrapper("cEmoOIBT", words("--command --echo --logging-format --output-limit --log-out --log-in --log-io --log-timing"), skip=9, text_options=words("-c --command")),
    "strace": _STRACE,
    "ltrace": _STRACE,
    "valgrind": Wrapper(),
    "fakeroot": Wrapper("lsib"),
    "eatmydata": Wrapper(),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "torsocks": Wrapper("uapP"),
    "unbuffer": Wrapper(),
    "rlwrap": Wrapper("abcCdDefFgHilLmMnNoOpPqrRsStTvVwWXyYzZ"),
    "faketime": Wrapper("fm", skip=1),
    "dbus-run-session": Wrapper("", words("--config-file --dbus-daemon")),
    "dumb-init": Wrapper("r"),
    "tini": Wrapper("pe"),
    "catatonit": Wrapper(),
    "firejail": Wrapper(),
    "screen": Wrapper("cehpsStTX"),
    "doppler": Wrapper(),
    "xvfb-run": Wrapper("efnpsw", words("--error-file --auth-file --server-num --server-args --wait")),
    "watch": Wrapper("nq", words("--interval --equexit --shotsdir"), shell_text=True),
    "ssh": Wrapper("BbcDEeFIiJLlmOopPQRSWw", skip=1, shell_text=True),
    "sshpass": Wrapper("pfde"),
    "xargs": Wrapper(
        "aEILnPsdJRS",
        words("--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"),
        flags="0oprtxeil",
    ),
    "entr": Wrapper("", flags="acdnprsz"),
}  # fmt: skip

TWO_WORD_WRAPPERS: dict[tuple[str, str], Wrapper] = {
    ("uv", "run"): Wrapper("p", words("--python --with --with-requirements --package --extra --group --project --directory --env-file")),
    ("poetry", "run"): Wrapper(),
    ("pipenv", "run"): Wrapper(),
    ("bundle", "exec"): Wrapper(),
    ("pdm", "run"): Wrapper("p"),
    ("conda", "run"): Wrapper("np", words("--name --prefix --cwd")),
    ("git", "bisect"): Wrapper(skip=1),
    ("npm", "exec"): Wrapper("pc", words("--package --call"), text_options=words("-c --call")),
    ("direnv", "exec"): Wrapper(skip=1),
    ("mise", "exec"): Wrapper("C", words("--cd --jobs")),
    ("hatch", "run"): Wrapper(),
}  # fmt: skip
"""A subcommand that runs the words behind it (`uv run CMD`)."""

LOADERS = ("ld-linux", "ld-musl", "ld.so", "ld64.so")
LOADER = Wrapper(
    "", words("--library-path --preload --argv0 --audit --inhibit-rpath --glibc-hwcaps-prepend --glibc-hwcaps-mask")
)
"""The dynamic loader, named by the beginning of its file's name, runs the program that it is given."""

PARALLEL = Wrapper(
    "aCDEIjJlLnNPSsU",
    words("--arg-file --colsep --delimiter --jobs --max-args --max-procs --joblog --results --sshlogin --tmpdir --timeout --retries --delay --halt --load --memfree --nice --tagstring --workdir --wd"),
)  # fmt: skip

FIND_EXEC = words("-exec -execdir -ok -okdir")
FD_EXEC = words("-x --exec -X --exec-batch")

GIT_GLOBAL_VALUES = words(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source"
)
"""git's options before the subcommand that take the next word."""

GIT_PACKS = words("-u --upload-pack --receive-pack --exec")
"""Options of git's transports whose value is a program on the other side, which may be this very host."""

GIT_RUNS = re.compile(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|sequence\.editor|pager\..+"
    r"|diff\.external|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver"
    r"|(?:merge|diff)tool\..+\.cmd|(?:browser|man)\..+\.cmd|gpg\.(?:.+\.)?(?:program|defaultkeycommand)"
    r"|credential\.(?:.+\.)?helper|interactive\.difffilter|trailer\..+\.(?:cmd|command)|tar\..+\.command"
    r"|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack)|sendemail\..*cmd|ssh\.variant",
    re.IGNORECASE,
).fullmatch
"""Configuration keys whose value git runs."""

RUN_AS_COMMAND = re.compile(
    r"PS[04]|PROMPT_COMMAND|(?:GIT_|MAN)?PAGER|(?:GIT_|GIT_SEQUENCE_)?EDITOR|VISUAL|LESSOPEN|BROWSER"
    r"|GIT_(?:SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|CONFIG_VALUE_[0-9]+)|(?:GIT|SSH)_ASKPASS"
).fullmatch
"""Names of the environment whose value some program runs."""
