"""The read-only pack: each entry's own examples, and options that no entry may ever take."""

import pytest

from mtbot.domain.call import Below
from mtbot.policy import allow
from mtbot.policy.allow_rule import AllowRule, Role
from mtbot.policy.lexer import Literal, lex
from mtbot.policy.never import never_by_pattern
from mtbot.policy.readonly import PACKS, READONLY
from mtbot.policy.readonly_git import FORCED_CONFIGURATION
from mtbot.policy.sensitive import Places

PLACES = Places(home="/home/op")


def matching(text: str) -> list[AllowRule]:
    """Every entry that covers the single command of a text; none for a text outside the literal subset."""
    literal = lex(text)
    if not isinstance(literal, Literal) or len(literal.commands) != 1:
        return []
    argv = literal.commands[0].argv
    by_pattern = never_by_pattern(argv[0]) is None
    return [
        rule
        for rule in READONLY
        if rule.program == argv[0] and (by_pattern or rule.reads_code) and rule.match(argv) is not None
    ]


def runs(text: str) -> bool:
    """Whether the pack lets a text run where every operand is an ordinary file below /srv/app with nothing around it."""
    literal = lex(text)
    if not isinstance(literal, Literal):
        return False
    wanted = allow.wanted(literal, READONLY)
    paths = {word: allow.PathFact(_resolved(word), Below.NOTHING) for word in wanted.paths}
    context = allow.AllowContext("/srv/app", PLACES, paths, frozenset())
    return isinstance(allow.judge(literal, literal.argvs(), READONLY, context), allow.Allowed)


def roles_of(text: str) -> set[Role]:
    """The roles of every operand that a matching entry finds in the single command of a text."""
    literal = lex(text)
    assert isinstance(literal, Literal)
    matches = [rule.match(literal.commands[0].argv) for rule in READONLY if rule in matching(text)]
    return {operand.role for match in matches if match is not None for operand in match.operands}


def _resolved(word: str) -> str:
    parts: list[str] = []
    for part in (word if word.startswith("/") else f"/srv/app/{word}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


@pytest.mark.parametrize("rule", READONLY, ids=lambda rule: rule.id)
def test_entry_keeps_its_examples(rule: AllowRule) -> None:
    """Every permitted example is covered by its own entry, and no refused one by any entry."""
    assert rule.permits
    for text in rule.permits:
        literal = lex(text)
        assert isinstance(literal, Literal), text
        alike = [other for other in READONLY if other.program == rule.program]
        assert any(other.match(literal.commands[0].argv) is not None for other in alike), text
    for text in rule.refuses:
        assert matching(text) == [], text


def test_pack_is_known_by_its_name() -> None:
    """The configuration chooses a pack by name, and every entry says whose it is."""
    assert PACKS == {"readonly": READONLY}
    assert all(rule.id.startswith("readonly:") and rule.program for rule in READONLY)


REVIEWED = {
    # a column, a format, a field or an order: none of these writes a file
    "-o x": """dir egrep fgrep findmnt gh git grep hd hexdump kubectl ls lsblk nm od pacman pgrep pidof ps readelf rg size strings
        systemctl top vdir yq""",
    "--output=x": "df findmnt journalctl lsblk",
    # for fd: only names that end in .xec
    "-exec x": "egrep fd fdfind fgrep git grep rg",
    "--exec x": "",
    "--pre=x": "",
    # follow, format, force to the standard output, show files, print the name, an offer of images
    "-f x": """auth0 az bunzip2 bzcat bzip2 dir dmesg docker docker-compose dpkg dpkg-query factor findmnt fzf gh git gunzip gzip head helm iconv
        kubectl ls lsblk lzcat lzma pgrep pidof pip pip3 podman podman-compose readlink realpath rpm seq sleep sort stat tail tree unlzma
        unxz unzstd vdir xz xzcat zcat zstd zstdcat""",
    # tabs, time formats, kinds of file systems
    "-T x": "cat df egrep fgrep findmnt grep last lastb lsblk nl rev rg tac who zipinfo",
    # columns, colour, context, copies in a difference, a check
    "-C x": "dir dnf git hd hexdump jq ls nm od ps readelf size sort strings tr tree vdir xxd yum",
    # letters that stand for other options
    "-delete": """column cut date expand fmt fold fzf ipcs locale lsb_release lscpu lsipc lslocks lsmem lsmod lsns lspci lsusb nvidia-smi paste
        tsort unexpand""",
    "--web": "",
    "--config=x": "",
    "--ext-diff": "",
    "--textconv": "",
    "--to-command=sh": "",
    "--compress-program=sh": "",
    "--in-place": "",
    "--write": "",
    "--rsh=sh": "",
    "--host=evil": "",
    "--kubeconfig=x": "",
    "--unknown-option": "",
    "--unknown-option=x": "",
    # the file that is asked about
    "--file=x": "rpm",
}
"""Options that write or run in some program, and the programs in which, as somebody read, they do neither."""


@pytest.mark.parametrize("option", REVIEWED)
def test_only_reviewed_programs_take_an_option_of_that_look(option: str) -> None:
    """Put behind every permitted example, an option is taken exactly where its meaning was reviewed."""
    taken = set()
    for rule in READONLY:
        for text in rule.permits:
            literal = lex(text)
            assert isinstance(literal, Literal)
            argv = (*literal.commands[0].argv, *option.split())
            match = rule.match(argv)
            # what stands behind a carried command is its own, and is asked for where that command stands alone
            if match is not None and not match.carries:
                taken.add(rule.program)
    assert taken - {"echo", "printf"} == set(REVIEWED[option].split())


@pytest.mark.parametrize(
    "text",
    """
    sort -o out f|sort -oout f|sort --output out f|sort --outp=out f|sort --compress-program=sh f|sort --compress-prog sh f|sort -T /x f
    git --ext-diff diff|git diff --ext-diff|git -c core.pager=sh log|git -ccore.pager=sh log|git log --output=f|git log --output f|git log --outpu=f
    git grep -Osh x|git grep --open-files-in-pager=sh x|git diff --no-index a b|git --exec-path=. status|git -C a/../b status|git -C x -c core.pager=y log|git -C x push|git --git-dir=x log
    git show --textconv HEAD|git log -p --ext-diff|git blame --contents f x|git branch new|git tag v1|git stash|git config user.name x|git reflog expire
    git show HEAD:.env|git show HEAD:deploy/id_rsa|git show HEAD:.ssh/config|git cat-file -p HEAD:secrets.yml|git diff HEAD -- .env|git log -p -- .env
    rg --pre sh x|rg --pre=sh x|rg -z x|rg --search-zip x|rg --hostname-bin sh x|rg -L x|grep -f pats x|grep -R x .
    find . -delete|find . -exec id ;|find . -execdir id +|find . -ok id|find . -okdir id|find . -fprint f|find . -fprintf f x|find . -fls f|find -L . -name x
    tar -xf a|tar -tf a --to-command=sh|tar -tf a --checkpoint-action=exec=sh|tar -tf h:a|tar -I sh -tf a|tar xfC a /|tar --list --file=h:a
    date -s 12:00|date --set=12:00|date 010112002026|date -f f|hostname evil|hostname -F f|hostnamectl set-hostname x
    uniq in out|xxd -r a b|xxd a b|tee f|tee -a f|base64 -o f a|iconv -o f a|tree -o f|tree -R|jq -n env|jq -n '$ENV'|jq -f f|jq --rawfile a b .
    sed -i s/a/b/ f|sed -n '1e id' f|sed 's/x/id/e' f|sed 's/x/y/w f' f|sed w f|sed -f s f|awk 'BEGIN{system("id")}'|awk '{print>"f"}' f|awk '{print|"sh"}' f
    ps e|ps auxe|ps -auxe|ps eww|ps -e -u x|ps -o environ|ps -E|systemctl cat x|systemctl show x|systemctl restart x|systemctl -H h status|journalctl --vacuum-size=1|journalctl --file=f
    docker inspect x|docker container inspect x|docker exec x ls|docker stats|docker -H tcp://x ps|docker run x|docker compose config|docker compose up|docker cp a b
    kubectl get secret|kubectl get secrets -A|kubectl get secret/x|kubectl get pods,secrets|kubectl get pods -o yaml|kubectl describe secret x|kubectl exec p -- ls|kubectl config view --raw
    kubectl --kubeconfig=x get pods|kubectl get --raw /api|helm get values x|helm template x y --output-dir z|helm template x oci://y/z|helm env|gh auth token|gh api -X DELETE x|gh api graphql|gh pr view 1 --web|gh api https://x/y
    aws secretsmanager get-secret-value --secret-id x|aws s3 cp a b|aws ec2 describe-vpcs --endpoint-url http://x|aws sts get-session-token|az keyvault secret show -n x|az vm delete -n x
    gcloud secrets versions access 1|gcloud compute ssh x|gcloud auth print-access-token|ip link set x up|ip netns exec x id|ip -b f|ss -K|iptables -F|nft flush ruleset|route add x
    dmesg -C|last -f x|lastlog -C|mount /dev/x /mnt|swapon -a|sysctl a=b|sysctl -w a=b|unzip a.zip|gzip f|gunzip f.gz|zstd -o f a|7z x a|openssl enc -in f|pip install x|npm install
    apt install x|dpkg -i x|rpm -i x|rpm -qp http://x|snap install x|brew install x|file -C -m x|file -f list|wc --files0-from=f|du --files0-from=f|du -X f|cat /etc/shadow
    cat /proc/self/environ|cat /proc/1/environ|head /dev/sda|ls /home/op/.ssh|cat .env|cat .git/config|ls .git/hooks|grep x /home/op/.bashrc|cat /home/op/.aws/credentials|du /home/op|find /
    rg x /home/op|grep -r x /etc|grep -rn x /|tree /root|ls -R /home|lsof -i @evil|getent shadow|getent hosts evil|last ../x|yarn --version|cargo --version|python3 -m json.tool|python3 --version x|curl https://x|ping x|dig x
    xxd -in a b|xxd -ic 5 b|xz -td a.xz|bzip2 -td a|zstd -td a|zstd -ld a|xz --test --decompress a|unxz -t -d a|bunzip2 -dt a|git diff /srv/empty /home/u
    git diff a ../b|git diff a b/../../c|git diff a ..|ruff check --no-fix src|ruff check --isolated src|gh config get -h github.com oauth_token|gh config get oauth_token
    kubectl -v 6 get pods|kubectl -v=9 get pods|kubectl get pods -o name -v 9|lastlog -R x|lastlog -RC x
    env|printenv|history|less f|man ls|ssh h ls|sudo ls|watch ls|nohup ls|time ls|test -v x|printf -v x y|printf %n x|type -P x/y|strace ls|flock f ls|unshare ls|parallel ls
    """.replace("\n", "|").split("|"),
)
def test_never_matches(text: str) -> None:
    """Shapes that write, run, page, read configuration, enter elsewhere, or show a secret."""
    text = text.strip()
    assert not text or not runs(text)


@pytest.mark.parametrize(
    "text",
    """
    ls -la|cat README.md|head -n 20 a.log|tail -f app.log|wc -l a b|grep -rn TODO src|rg -n x src|git status|git log --oneline -5|git diff --stat HEAD^|git show v1.0|git branch -a
    df -h|du -sh src|ps aux|ps -ef|free -m|uptime|uname -a|id|date +%F|journalctl -u nginx -n 50 --no-pager|systemctl status nginx|docker ps -a|docker logs --tail 100 web|docker images
    docker stats --no-stream|docker compose ps|docker compose -f a.yml logs --tail=50 web|kubectl get pods -A|kubectl logs web|kubectl get nodes -o json|ip addr|ip -br a|ss -tulpn
    cat a | grep x | sort | uniq -c | sort -rn | head -5|cd src && git status && ls|ls missing 2>/dev/null || echo none|find . -name '*.py' -mtime -1|sed -n 1,20p a|awk '{print $1}' a|jq .a b.json
    stat a|file a|md5sum a|tree -L 2|which git|hostname|whoami|nproc|lscpu|lsblk|netstat -tulpn|top -bn1|pip list|helm list -A|gh pr list|aws s3 ls|az vm list -o table|gcloud projects list
    ps aux --sort=-%mem|helm install web ./chart --dry-run|git --no-pager log -3|git blame a.py|git remote -v|git rev-parse --short HEAD|git stash list|git tag -l|tar -tzf a.tgz|unzip -l a.zip|apt list --installed|dpkg -l|openssl version
    """.replace("\n", "|").split("|"),
)
def test_runs_what_people_ask_for_every_day(text: str) -> None:
    """The pack is worth choosing: everyday looks need no question."""
    text = text.strip()
    assert not text or runs(text)


RESPONSE_FILES = """7z 7za 7zz ar as c++ cc clang dwarfdump g++ gcc java javac ld lipo mypy nm objdump otool pytest ranlib readelf ruff rustc
    size strings strip symbols"""
"""Programs that take further options from the lines of a file that is named as `@FILE`."""


def test_no_entry_takes_its_options_from_a_file() -> None:
    """Among them may be one that writes a file or loads code, and whoever wrote the file chose it."""
    entries = [rule for rule in READONLY if rule.program in RESPONSE_FILES.split()]
    assert len({rule.program for rule in entries}) > 8
    for rule in entries:
        for text in rule.permits:
            literal = lex(text)
            assert isinstance(literal, Literal)
            assert rule.match((*literal.commands[0].argv, "@x")) is None, text


def test_git_is_forced_by_its_environment() -> None:
    """Every entry over git switches off monitors, hooks, pagers, transports, and demands a plain repository."""
    for rule in READONLY:
        if rule.program != "git":
            continue
        forced = dict(rule.environment)
        count = int(forced["GIT_CONFIG_COUNT"])
        pairs = {forced[f"GIT_CONFIG_KEY_{at}"]: forced[f"GIT_CONFIG_VALUE_{at}"] for at in range(count)}
        assert pairs == dict(FORCED_CONFIGURATION)
        assert pairs["core.fsmonitor"] == "false"
        assert pairs["safe.bareRepository"] == "explicit"
        assert pairs["core.hooksPath"] == "/dev/null"
        assert forced["GIT_PAGER"] == "cat"
        assert forced["GIT_ALLOW_PROTOCOL"] == "none"
        assert rule.needs.plain_repository or rule.id == "readonly:git-version"


def test_search_ignores_a_configuration_file() -> None:
    """A file named by the environment could give rg a program to run."""
    assert all(
        ("RIPGREP_CONFIG_PATH", "") in rule.environment
        for rule in READONLY
        if rule.program == "rg" and "version" not in rule.id
    )


@pytest.mark.parametrize(
    "text",
    [
        "grep -r x",
        "grep -rn x src",
        "rg x",
        "rg --files",
        "diff -r a b",
        "diff -N a b",
        "git diff a b",
        "helm show values a/b",
        "helm template x ./c",
    ],
)
def test_recursive_readers_say_that_contents_are_read(text: str) -> None:
    """What lies below has to be known before contents are read."""
    assert roles_of(text) == {Role.CONTENT_BELOW}


@pytest.mark.parametrize("text", ["find", "find src -name x", "du", "du -sh src", "tree", "fd x", "ls -R"])
def test_recursive_listers_say_that_names_are_shown(text: str) -> None:
    """What lies below has to be known before names are shown."""
    assert roles_of(text) == {Role.NAMES_BELOW}


@pytest.mark.parametrize(
    ("program", "variables"),
    [
        ("pip", {"PYENV_VERSION": "system", "ASDF_PYTHON_VERSION": "system", "MISE_PYTHON_VERSION": "system"}),
        ("pip3", {"PYENV_VERSION": "system", "ASDF_PYTHON_VERSION": "system", "MISE_PYTHON_VERSION": "system"}),
        ("black", {"PYENV_VERSION": "system", "ASDF_PYTHON_VERSION": "system", "MISE_PYTHON_VERSION": "system"}),
        ("supervisorctl", {"PYENV_VERSION": "system"}),
        ("gem", {"RBENV_VERSION": "system", "ASDF_RUBY_VERSION": "system", "MISE_RUBY_VERSION": "system"}),
        ("npm", {"NODENV_VERSION": "system", "ASDF_NODEJS_VERSION": "system", "VOLTA_BYPASS": "1"}),
        ("go", {"GOENV_VERSION": "system", "GOTOOLCHAIN": "local"}),
        *((program, {}) for program in ("kubectl", "terraform", "gh", "jq", "rg", "fd", "python3")),
    ],
)
def test_a_version_chooser_obeys_no_file_of_the_directory(program: str, variables: dict[str, str]) -> None:
    """Such a file may name a directory to take the program from; the file that is asked for cannot exist."""
    rules = [rule for rule in READONLY if rule.program == program]
    assert rules
    for rule in rules:
        forced = dict(rule.environment)
        assert len(forced) == len(rule.environment)
        assert variables.items() <= forced.items()
        assert forced["MISE_NO_CONFIG"] == "1"
        for name in (
            "ASDF_TOOL_VERSIONS_FILENAME",
            "ASDF_DEFAULT_TOOL_VERSIONS_FILENAME",
            "MISE_OVERRIDE_TOOL_VERSIONS_FILENAMES",
        ):
            assert len(forced[name]) > 255
