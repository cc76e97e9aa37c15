"""Programs and builtins that no rule may allow by pattern, and programs that run files of the workspace.

A pattern over `bash`, `python3` or `xargs` is a pattern over everything; a pattern over `declare` or `test` may run
an index expression as code. Only a rule that spells out one whole argv can name them.
"""

from functools import lru_cache

from mtbot.policy.words import words

CHANGES_DIRECTORY = frozenset({"cd", "pushd", "popd", "dirs"})
"""Never by any rule, not even an exact one: what follows would be judged in the wrong directory."""

BUILTINS = words("""eval exec source . trap command builtin alias unalias shopt set enable hash declare typeset local
export readonly let test [ [[ printf read mapfile readarray unset compgen complete compopt bind
getopts wait coproc time times history fc kill fg bg jobs disown suspend logout exit return break
continue shift caller umask ulimit : help""")

SHELLS = words("""sh bash dash zsh ksh mksh pdksh fish csh tcsh ash rbash yash elvish nu pwsh powershell xonsh osh
busybox toybox""")

INTERPRETERS = words("""python pypy ipython jupyter bpython perl ruby irb jruby php lua luajit node nodejs deno bun tclsh
wish expect guile racket scheme gosh sbcl clisp ecl emacs emacsclient vi vim nvim view ex ed red sed gsed ssed awk
gawk mawk nawk vim.basic vim.tiny original-awk dc bc gdb lldb java jshell groovy kotlin scala
clojure clj erl escript elixir iex ghci runghc runhaskell ocaml julia octave matlab rscript r swift
osascript dotnet mono psql mysql mariadb sqlite3 sqlite duckdb mongo mongosh redis-cli
sqlplus sqlcmd isql ts-node tsx npx bunx pnpx uvx pipx m4 jq-shell nix-shell""")

WRAPPERS = words("""env sudo sudoedit doas su runuser pkexec run0 xargs parallel nohup setsid timeout gtimeout nice
renice ionice chrt taskset stdbuf unbuffer script watch entr find-exec strace ltrace perf valgrind
flock lockf chroot unshare nsenter bwrap firejail setpriv capsh prlimit systemd-run at batch crontab
screen tmux dtach abduco ssh rsh mosh autossh socat nc ncat netcat telnet
start-stop-daemon daemonize setarch linux32 linux64 arch catchsegv ld.so faketime proxychains
torsocks tsocks eatmydata fakeroot unionfs doit run-parts runcon sg newgrp numactl cgexec choom
uclampset ssh-agent dbus-run-session dbus-launch xvfb-run caffeinate gtime exec-helper rlwrap
less more most man pg info git-shell""")

_VERSIONED = frozenset(
    {"python", "pypy", "perl", "ruby", "php", "lua", "node", "bash", "tclsh", "wish", "guile", "pip", "ksh", "zsh"}
)

RUNS_WORKSPACE_FILES = words("""make gmake cmake ctest ninja meson scons bazel bazelisk buck2 just task rake invoke npm npx pnpm
pnpx yarn bun bunx deno node vite webpack rollup esbuild tsc jest vitest mocha eslint prettier
stylelint gulp grunt nx turbo lerna pytest py.test tox nox hatch pdm poetry uv uvx pip pip3 pipx
pre-commit mypy pylint flake8 sphinx-build mkdocs setup.py coverage cargo rustc rustup go gradle
gradlew mvn mvnw ant sbt lein clojure mill bundle bundler rspec rubocop composer phpunit artisan mix
rebar3 stack cabal dune opam swift dotnet msbuild zig flutter dart git git-lfs hg svn jj docker
docker-compose podman podman-compose buildah skaffold tilt helm helmfile kustomize terraform tofu
terragrunt pulumi packer ansible ansible-playbook ansible-pull ansible-galaxy vagrant cdk sam
serverless direnv mise asdf nix nix-build nix-shell guix bmake latexmk flask gunicorn uvicorn uwsgi hypercorn daphne
celery django-admin rails rackup puma fab cap nodemon forever pm2 act earthly dagger puppet salt-call salt-ssh chef-client
chef-solo cf-agent supervisord honcho foreman overmind locust k6 newman artillery wp drush nim crystal exiftool
watchexec reflex air""")
"""Programs that execute, or let be executed, what they find in the directory they run in (build files, hooks, plug-ins)."""


@lru_cache(maxsize=512)
def base_name(program: str) -> str:
    """The last part of a program's path, without a version: `/usr/bin/python3.11` is `python`."""
    name = program.rsplit("/", 1)[-1].lower()
    unversioned = name.rstrip("0123456789.-")
    return unversioned if unversioned in _VERSIONED else name


@lru_cache(maxsize=512)
def never_by_pattern(program: str) -> str | None:
    """Why a pattern may not allow this program, in words; None when it may."""
    name = base_name(program)
    if name in CHANGES_DIRECTORY:
        return f"{name} changes the directory in which the rest would run"
    if name in BUILTINS:
        return f"{name} acts on the shell itself"
    if name in SHELLS:
        return f"{name} is a shell"
    if name in INTERPRETERS:
        return f"{name} runs code that it is given"
    if name in WRAPPERS:
        return f"{name} runs another command"
    return None


def runs_workspace_files(program: str) -> bool:
    """Whether the program executes files of the directory it runs in."""
    name = program.rsplit("/", 1)[-1].lower()
    return name in RUNS_WORKSPACE_FILES or base_name(program) in RUNS_WORKSPACE_FILES
