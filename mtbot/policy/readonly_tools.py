"""Read-only uses of development tools: versions, checks that write nothing, explanations.

A tool whose very start runs a file of the directory it stands in (a plug-in, a chosen version of itself) is not here.
"""

from mtbot.policy.allow_rule import AllowRule, Needs, Role
from mtbot.policy.grammar import any_of, grammar
from mtbot.policy.readonly_entry import NO_PAGER, Environment, entry, flat
from mtbot.policy.readonly_git import GIT_ENVIRONMENT

_ANSIBLE: Environment = (("ANSIBLE_PAGER", "cat"), ("PAGER", "cat"), ("ANSIBLE_CONFIG", "/dev/null"))
"""A configuration file in the directory could name plug-ins."""

_WITH_VERSION = """ruff git-lfs make cmake gcc g++ cc clang ld as curl wget rsync isort terraform consul vault nomad caddy traefik
redis-server pg_dump mysqld mongod pandoc tesseract xz zstd binhex macbinary applesingle textutil htop btop
systemd-analyze black"""
"""Programs whose `--version` and `--help` read no file of the directory they run in."""

_HELPED = {
    "docker": "run exec build ps images logs pull push rm rmi inspect network volume system compose container image stop start restart",
    "podman": "run exec build ps images logs pull push rm rmi inspect network volume system container image stop start restart",
    "kubectl": "get describe logs delete apply create exec rollout scale top config explain edit patch label annotate",
    "helm": "list status install upgrade uninstall template repo search show get history rollback lint",
}
"""Subcommands of programs whose `SUBCOMMAND --help` only prints; an unknown word would be a plug-in."""


TOOLS: tuple[AllowRule, ...] = flat(
    (
        *(
            entry(
                program,
                grammar("--help -h", f"({'|'.join(subcommands.split())})", also=any_of("--help", "-h")),
                permits=(f"{program} exec --help",) if "exec" in subcommands else (f"{program} install --help",),
                refuses=(f"{program} plugin --help", f"{program} exec x --help", f"{program} exec"),
            )
            for program, subcommands in _HELPED.items()
        ),
        *(
            entry(
                f"{name} --version / {name} --help / {name} -h",
                grammar(),
                environment=NO_PAGER,
                permits=(f"{name} --version",),
                refuses=(f"{name} --version x", f"{name} --help -o x"),
            )
            for name in _WITH_VERSION.split()
        ),
        entry(
            "openssl version / openssl help / openssl list / openssl ciphers",
            grammar("-a -v -b -o -f -p -d -commands -digest-commands -cipher-commands", "", whole_words=True),
            permits=("openssl version -a", "openssl list -commands"),
            refuses=("openssl enc -in x", "openssl version -engine x", "openssl list -provider x", "openssl genrsa"),
        ),
        entry(
            "openssl x509",
            grammar(
                "-noout -text -dates -startdate -enddate -subject -issuer -serial -fingerprint -pubkey -sha1 -sha256 -hash -email -ext:words -purpose -ocsp_uri -in:path -inform:(PEM|DER|pem|der) -checkend:num -nameopt:words",
                "",
                whole_words=True,
                requires="-noout",
            ),
            permits=("openssl x509 -noout -dates -in cert.crt", "openssl x509 -in a.crt -noout -text"),
            refuses=(
                "openssl x509 -in a -out b",
                "openssl x509 -noout -in a -engine x",
                "openssl x509 -req -in a -noout",
                "openssl x509 -in a",
                "openssl x509 -noout -provider-path x -in a",
                "openssl x509 -noout -signkey k -in a",
            ),
        ),
        entry(
            "ansible-doc",
            grammar("-lFj -t:name --list --json --snippet -s --type:name --list_files", "([a-z0-9_.]+)*"),
            environment=_ANSIBLE,
            permits=("ansible-doc -t connection -l", "ansible-doc ping"),
            refuses=("ansible-doc -M path x", "ansible-doc --playbook-dir x y", "ansible-doc --module-path=x y"),
        ),
        entry(
            "terraform fmt",
            grammar(
                "-check -diff -recursive -list:(true|false) -write:(false) -no-color",
                "names?",
                whole_words=True,
                also=any_of("-check", "-write"),
            ),
            permits=("terraform fmt -check -recursive", "terraform fmt -write=false x"),
            refuses=("terraform fmt", "terraform fmt -write=true", "terraform fmt -recursive"),
        ),
        entry(
            "caddy fmt",
            grammar("-d --diff", "path?", requires="--diff"),
            permits=("caddy fmt --diff x",),
            refuses=("caddy fmt --overwrite", "caddy fmt -w", "caddy fmt"),
        ),
        entry(
            "black",
            grammar(
                "-q --check --diff --quiet --color --no-color -l:num --line-length:num",
                "content*",
                implicit=Role.CONTENT_BELOW,
                also=any_of("--check", "--diff"),
            ),
            permits=("black --check src", "black --diff a.py"),
            refuses=("black src", "black --check --config x a", "black -c code", "black --check -W 9 a"),
        ),
        entry(
            "isort",
            grammar(
                "-cdq --check-only --check --diff --quiet",
                "content*",
                implicit=Role.CONTENT_BELOW,
                also=any_of("-c", "-d", "--check-only", "--check", "--diff"),
            ),
            needs=Needs(plain_repository=True),
            environment=GIT_ENVIRONMENT,
            permits=("isort -c src", "isort --diff"),
            refuses=("isort src", "isort --check-only --settings-path x a", "isort -c --virtual-env x a"),
        ),
        entry(
            "ansible-config dump / ansible-galaxy role list / ansible-galaxy collection list",
            grammar("--only-changed"),
            environment=_ANSIBLE,
            permits=("ansible-config dump --only-changed", "ansible-galaxy role list"),
            refuses=(
                "ansible-galaxy install x",
                "ansible-galaxy collection install x",
                "ansible-config dump -c x",
                "ansible-galaxy role list -p x",
            ),
        ),
        entry(
            "ansible / ansible-playbook / ansible-galaxy / ansible-inventory / ansible-doc / ansible-config / ansible-vault / ansible-pull / ansible-console",
            grammar("--version --help -h", "", also=lambda read: bool(read.options)),
            environment=_ANSIBLE,
            permits=("ansible --version", "ansible-playbook --help"),
            refuses=("ansible --version -m x", "ansible-playbook --version x.yml"),
        ),
        entry(
            "uv / uv help / uv --version",
            grammar("--version --help -h"),
            permits=("uv --version", "uv help"),
            refuses=("uv run x", "uv pip list", "uv sync"),
        ),
        entry(
            "ruff rule / ruff linter / ruff version",
            grammar("--all --output-format:(json|text|pretty)", "([A-Z]+[0-9]+)?"),
            permits=("ruff rule E501", "ruff rule --output-format json E501", "ruff linter"),
            refuses=("ruff check --fix", "ruff rule --config x E501", "ruff format"),
        ),
        entry(
            "terraform version / terraform -version / terraform -help / caddy version",
            grammar("-json", "", whole_words=True),
            environment=(("TF_CLI_ARGS", ""), ("TF_CLI_ARGS_version", ""), ("CHECKPOINT_DISABLE", "1")),
            permits=("terraform version", "caddy version"),
            refuses=("terraform plan", "terraform -chdir=x version", "caddy run"),
        ),
        entry(
            "fzf",
            grammar("""-eixm10 +s +x -n:range -f:text -q:text -d:any --bind:([a-z0-9-]+:(?:select-all|deselect-all|toggle-all|toggle|toggle-sort|up|down|first|last|accept|abort|cancel|clear-screen|page-up|page-down|preview-up|preview-down|print-query|toggle[+]up|toggle[+]down|half-page-up|half-page-down)) --algo:name --ansi --border?name --border-label:text --color:words --cycle --delimiter:any --disabled --exit-0 --select-1 --extended --exact
        --header:text --header-lines:num --header-border?name --height:size --layout:name --reverse --literal --margin:words --padding:words --min-height:size --multi?num --no-multi --no-sort
        --no-bold --no-color --no-hscroll --no-ignore-case --no-multi-line --nth:range --with-nth:range --accept-nth:range --print-query --print0 --prompt:text --query:text --read0
        --scheme:name --smart-case --ignore-case --style:name --tac --tail:num --tiebreak:words --track --wrap --gap?num --highlight-line --hscroll-off:num --keep-right --footer:text
        --preview-border?name --preview-window:([a-z0-9:%,+-]+) --info:name --filter:text --pointer:text --marker:text --tabstop:num --walker:words --walker-skip:([A-Za-z0-9.,_-]+) --version --help --bash --fish --zsh
        --history-size:num --no-tty-default --no-info --no-mouse --sync --gap-line?text"""),
            environment=(("FZF_DEFAULT_OPTS", ""), ("FZF_DEFAULT_OPTS_FILE", ""), ("FZF_DEFAULT_COMMAND", "")),
            permits=("fzf -f x", "fzf --filter=x --no-sort", "fzf --bind=ctrl-a:select-all"),
            refuses=(
                "fzf --preview=id",
                "fzf --bind=enter:execute:id",
                "fzf --listen=6266",
                "fzf --history=x",
                "fzf --tmux=center",
                "fzf --become=id",
            ),
        ),
    )
)
