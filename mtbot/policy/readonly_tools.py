"""Read-only uses of development tools: versions, checks that write nothing, explanations.

A tool whose very start runs a file of the directory it stands in (a plug-in, a chosen version of itself) is not here.
"""

from mtbot.policy.allow_rule import AllowRule, Needs, Role
from mtbot.policy.grammar import any_of, grammar
from mtbot.policy.readonly_entry import NO_PAGER, Environment, entry, flat, no_response_file
from mtbot.policy.readonly_git import GIT_ENVIRONMENT

_ANSIBLE: Environment = (("ANSIBLE_PAGER", "cat"), ("PAGER", "cat"), ("ANSIBLE_CONFIG", "/dev/null"))
"""A configuration file in the directory could name plug-ins."""

_TERRAFORM: Environment = (("TF_CLI_ARGS", ""), ("TF_CLI_ARGS_version", ""), ("CHECKPOINT_DISABLE", "1"))

_RUFF: Environment = (("RUFF_NO_CACHE", "true"), ("RUFF_OUTPUT_FILE", ""))
"""Its cache would be written into the directory that is checked."""

_WITH_VERSION = """ruff git-lfs make cmake gcc g++ cc clang ld as curl wget rsync isort terraform consul vault nomad caddy traefik
redis-server pg_dump mysqld mongod pandoc tesseract xz zstd binhex macbinary applesingle textutil htop btop
systemd-analyze black prometheus promtool rtk git-delta shellcheck shfmt hadolint yamllint gofmt protoc
rm rmdir mv cp ln mkdir touch chmod chown chgrp tee nano"""
"""Programs whose `--version` and `--help` read no file of the directory they run in."""

_HELPED = {
    "cdk": "install list synth deploy diff destroy bootstrap init watch",
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
            "cdk --version / cdk --help / cdk -h",
            grammar(),
            permits=("cdk --version", "cdk -h"),
            refuses=("cdk --version --app x", "cdk synth", "cdk --app x --help"),
        ),
        entry(
            "nginx -v / nginx -V / apache2 -v / httpd -v / nginx -h",
            grammar(),
            permits=("nginx -V", "apache2 -v", "httpd -v"),
            refuses=("nginx -t", "nginx -s reload", "nginx -v -c x", "apache2 -k stop", "httpd -k stop"),
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
            "openssl x509",
            grammar(
                "-noout -text -dates -startdate -enddate -subject -issuer -serial -fingerprint -pubkey -sha1 -sha256 -hash -email -ext:words -purpose -ocsp_uri"
                " -in:((?!-)(?!.*(?:priv|key|secret))[^\\n]*[.](?:pem|crt|cer|cert|der)) -inform:(PEM|DER|pem|der) -checkend:num -nameopt:words",
                "",
                whole_words=True,
                requires="-noout -in",
            ),
            why="a certificate is public: of a file with a key beside it only the certificate is shown",
            permits=("openssl x509 -noout -text -in cert.pem", "openssl x509 -in chain.pem -noout -enddate"),
            refuses=(
                "openssl x509 -noout -in privkey.pem -engine x",
                "openssl x509 -in cert.pem",
                "openssl rsa -noout -in cert.pem",
                "openssl pkey -in cert.pem",
                "openssl x509 -noout -in cert.pem -out b",
                "openssl x509 -noout -in cert.pem -passin env:X",
                "openssl x509 -noout -in cert.pem -config x",
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
            # --version would ask the network for a newer one
            "ansible-lint --help / ansible-lint -h",
            grammar(),
            environment=_ANSIBLE,
            permits=("ansible-lint --help",),
            refuses=("ansible-lint", "ansible-lint --version", "ansible-lint --help x"),
        ),
        entry(
            "ansible-galaxy role / ansible-galaxy collection",
            grammar("--help -h", "", also=lambda read: bool(read.options)),
            environment=_ANSIBLE,
            permits=("ansible-galaxy role --help", "ansible-galaxy collection -h"),
            refuses=("ansible-galaxy role", "ansible-galaxy role --help x"),
        ),
        entry(
            "ansible-galaxy role search / ansible-galaxy role info / ansible-galaxy search / ansible-galaxy info",
            grammar("--author:name --galaxy-tags:words --platforms:words --offline", "name+"),
            environment=_ANSIBLE,
            needs=Needs(network=True),
            permits=("ansible-galaxy role search nginx", "ansible-galaxy role info geerlingguy.nginx"),
            refuses=(
                "ansible-galaxy role search -s http://x nginx",
                "ansible-galaxy role search --server http://x nginx",
                "ansible-galaxy role info --token x nginx",
                "ansible-galaxy role info -p dir nginx",
                "ansible-galaxy role search",
                "ansible-galaxy role remove a b",
            ),
        ),
        entry(
            "uv help",
            grammar("--no-pager", "([a-z][a-z-]*) ([a-z][a-z-]*)?"),
            environment=NO_PAGER,
            permits=("uv help sync", "uv help pip compile"),
            refuses=("uv help --x sync", "uv cache clean", "uv tool install x", "uv python install x", "uv help ./x"),
        ),
        entry(
            "uv cache dir / uv self version",
            grammar(),
            permits=("uv cache dir", "uv self version"),
            refuses=("uv cache clean", "uv self update", "uv cache dir --config-file=x", "uv cache dir --directory x"),
        ),
        entry(
            "uv / uv help / uv --version",
            grammar("--version --help -h"),
            permits=("uv --version", "uv help"),
            refuses=("uv run x", "uv pip list", "uv sync"),
        ),
        entry(
            "ruff",
            grammar(),
            permits=("ruff",),
            refuses=("ruff --fix", "ruff clean", "ruff server"),
        ),
        entry(
            "ruff help / ruff config",
            grammar("", "([a-z][a-z.-]*)?"),
            permits=("ruff config", "ruff config lint.select", "ruff help check"),
            refuses=("ruff config --x", "ruff help --x"),
        ),
        entry(
            "ruff check",
            grammar(
                "-nqv --no-fix --no-cache --diff --statistics --preview --no-preview --show-files --show-settings --exit-zero --quiet --isolated"
                " --select:words --ignore:words --extend-select:words --output-format:name --target-version:name --exclude:text",
                "content*",
                requires="--no-fix --isolated",
                implicit=Role.CONTENT_BELOW,
                also=no_response_file,
            ),
            environment=_RUFF,
            permits=("ruff check --no-fix --isolated", "ruff check --isolated --no-fix --select E501 src"),
            refuses=(
                # the settings beside the files may name a file to write
                "ruff check --no-fix src",
                "ruff check",
                "ruff check --fix",
                "ruff check --no-fix --isolated --fix-only",
                "ruff check --no-fix --isolated --add-noqa",
                "ruff check --no-fix --isolated --unsafe-fixes --fix",
                "ruff check --no-fix --isolated -o out",
                "ruff check --no-fix --isolated --output-file=x",
                "ruff check --no-fix --isolated --config x",
                "ruff check --no-fix --isolated --cache-dir x",
                "ruff check --no-fix --isolated --watch",
                "ruff check --no-fix --isolated @a",
            ),
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
            environment=_TERRAFORM,
            permits=("terraform version", "caddy version"),
            refuses=("terraform plan", "terraform -chdir=x version", "caddy run"),
        ),
        entry(
            "terraform metadata functions",
            grammar("-json", "", whole_words=True),
            environment=_TERRAFORM,
            permits=("terraform metadata functions -json",),
            refuses=("terraform metadata x", "terraform metadata functions -x"),
        ),
        entry(
            "terraform",
            grammar(
                "-help --help -h",
                "(plan|apply|init|validate|fmt|show|state|output|providers|graph|workspace|import|destroy|refresh|taint|untaint|test|console|get|login|logout)",
                whole_words=True,
                also=lambda read: bool(read.options),
            ),
            environment=_TERRAFORM,
            permits=("terraform plan --help", "terraform apply -help"),
            refuses=("terraform plan", "terraform -chdir=x plan -help", "terraform apply x -help", "terraform x -help"),
        ),
        entry(
            "prometheus --help-long / prometheus --help-man / rtk help / rtk version / pre-commit --version / pre-commit --help / pre-commit -h / pre-commit help",
            grammar(),
            environment=GIT_ENVIRONMENT,
            needs=Needs(plain_repository=True),
            permits=("prometheus --help-long", "rtk version", "pre-commit help"),
            refuses=("prometheus --config.file=x", "rtk ls", "rtk help ls", "pre-commit run", "pre-commit install"),
        ),
        entry(
            "mktemp",
            grammar("-uqdt --dry-run --quiet --directory --suffix:name", "name?", also=any_of("-u", "--dry-run")),
            permits=("mktemp -u", "mktemp -u -t prefix"),
            refuses=("mktemp", "mktemp -d", "mktemp -p /x", "mktemp -u -p /x", "mktemp -u a/b"),
        ),
        entry(
            "fzf",
            grammar(
                """-eixm10 -n:range -f:text -q:text -d:any --bind:([a-z0-9-]+:(?:select-all|deselect-all|toggle-all|toggle|toggle-sort|up|down|first|last|accept|abort|cancel|clear-screen|page-up|page-down|preview-up|preview-down|print-query|toggle[+]up|toggle[+]down|half-page-up|half-page-down|put[(][A-Za-z0-9]*[)])) --algo:name --ansi --border?name --border-label:text --color:words --cycle --delimiter:any --disabled --exit-0 --select-1 --extended --exact
        --header:text --header-lines:num --header-border?name --height:size --layout:name --reverse --literal --margin:words --padding:words --min-height:size --multi?num --no-multi --no-sort
        --no-bold --no-color --no-hscroll --no-ignore-case --no-multi-line --nth:range --with-nth:range --accept-nth:range --print-query --print0 --prompt:text --query:text --read0
        --scheme:name --smart-case --ignore-case --style:name --tac --tail:num --tiebreak:words --track --wrap --gap?num --highlight-line --hscroll-off:num --keep-right --footer:text
        --preview-border?name --preview-window:([a-z0-9:%,+-]+) --info:name --filter:text --pointer:text --marker:text --tabstop:num --walker:words --walker-skip:([A-Za-z0-9.,_-]+) --version --help --bash --fish --zsh
        --history-size:num --no-tty-default --no-info --no-mouse --sync --gap-line?text""",
                "([+][xsicm])*",
            ),
            environment=(("FZF_DEFAULT_OPTS", ""), ("FZF_DEFAULT_OPTS_FILE", ""), ("FZF_DEFAULT_COMMAND", "")),
            permits=("fzf -f x", "fzf +x +s", "fzf --filter=x --no-sort", "fzf --bind=ctrl-a:select-all"),
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
