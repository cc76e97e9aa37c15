"""Read-only git: history, differences, names and states of a repository, with everything that could start a program off.

git runs programs that a repository's configuration names: a file-system monitor, hooks, filters, diff drivers, pagers,
signature checkers, transports. What the environment can switch off is forced here; what it cannot (filters and
drivers have free names) is a need: the judge looks at the repository's configuration before it says yes.
"""

from mtbot.policy.allow_rule import AllowRule, Needs
from mtbot.policy.grammar import Grammar, Read, grammar
from mtbot.policy.readonly_entry import Environment, entry, flat

# no empty value: the run takes an empty variable for one to leave out, and git then refuses the whole set
FORCED_CONFIGURATION = (
    ("core.fsmonitor", "false"),
    ("safe.bareRepository", "explicit"),
    ("core.pager", "cat"),
    ("core.hooksPath", "/dev/null"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.submodule", "short"),
)


def _environment() -> Environment:
    configuration: list[tuple[str, str]] = [("GIT_CONFIG_COUNT", str(len(FORCED_CONFIGURATION)))]
    for at, (key, value) in enumerate(FORCED_CONFIGURATION):
        configuration += [(f"GIT_CONFIG_KEY_{at}", key), (f"GIT_CONFIG_VALUE_{at}", value)]
    return (
        *configuration,
        ("GIT_PAGER", "cat"),
        ("PAGER", "cat"),
        ("GIT_EDITOR", "false"),
        ("GIT_SEQUENCE_EDITOR", "false"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_NO_LAZY_FETCH", "1"),
    )


GIT_ENVIRONMENT = _environment()

_NEEDS = Needs(plain_repository=True)

_BEFORE = grammar("-P --no-pager --no-optional-locks --literal-pathspecs")

_DIFF = """-pusRzwbaM -U:num --patch --no-patch --stat?range --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status
--color?(always|auto|never) --no-color --word-diff?(color|plain|porcelain|none) --color-words --unified:num --find-renames --find-copies
--diff-filter:name -w -b --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol --ignore-cr-at-eol --raw
--abbrev?num --full-index --check --minimal --patience --histogram --text --no-renames --no-ext-diff --no-textconv --relative
--diff-algorithm:name --inter-hunk-context:num --function-context -W -S:any -G:any --pickaxe-all --pickaxe-regex --indent-heuristic
--no-prefix --no-indent-heuristic --stat-width:num --ignore-submodules?(none|untracked|dirty|all) --exit-code --quiet --cc --merge-base"""

_LOG = """-0123456789 -n:num -iEFg --oneline --graph --all --decorate?(short|full|auto|no) --no-decorate --author:text --committer:text
--grep:text --all-match --invert-grep --regexp-ignore-case --since:when --after:when --until:when --before:when --merges --no-merges
--first-parent --reverse --date:format --pretty?format --format:format --follow --left-right --cherry --cherry-pick --cherry-mark
--abbrev-commit --no-abbrev-commit --branches?item --tags?item --remotes?item --max-count:num --skip:num --walk-reflogs --topo-order
--date-order --author-date-order --parents --children --boundary --simplify-by-decoration --full-history --no-notes --source
--min-parents:num --max-parents:num --relative-date --use-mailmap --no-mailmap --not --ancestry-path --dense --sparse --full-diff
--no-walk --count --objects-not-here"""


def no_signature(read: Read) -> bool:
    """A format that asks about a signature starts the program that checks it."""
    return not any("%G" in value or "signature" in value for _, value in read.values)


def git(
    leads: str,
    rest: Grammar,
    permits: tuple[str, ...],
    refuses: tuple[str, ...],
    *,
    environment: Environment = GIT_ENVIRONMENT,
) -> tuple[AllowRule, ...]:
    """An entry over git: with the forced environment, and only in a repository that names no program itself."""
    return entry(leads, rest, permits=permits, refuses=refuses, needs=_NEEDS, environment=environment, before=_BEFORE)


_REVISIONS = "rev*"
_DIFF_OPTIONS = f"{_DIFF} --cached --staged -t -r --root -m -c -0123456789"

GIT: tuple[AllowRule, ...] = flat(
    (
        git(
            "git status",
            grammar(
                "-sbvzuno --short --branch --verbose --porcelain?(v1|v2) --long --untracked-files?(no|normal|all) --ignored?(traditional|no|matching)"
                " --show-stash --ahead-behind --no-ahead-behind --no-renames --ignore-submodules?(none|untracked|dirty|all) --no-column -uall",
                _REVISIONS,
            ),
            ("git status", "git status -sb", "git --no-pager status --porcelain=v2", "git status -uno src"),
            (
                "git status --help",
                "git -c core.fsmonitor=x status",
                "git --git-dir=x status",
                "git status --porc",
                "git --exec-path=x status",
                "git -p status",
            ),
        ),
        git(
            "git log / git whatchanged / git show / git reflog show",
            grammar(f"{_LOG} {_DIFF}", _REVISIONS, also=no_signature),
            (
                "git log --oneline -20",
                "git --no-pager log --graph --all --decorate",
                "git show HEAD^ -- src/a.py",
                "git log --since=yesterday --author=x",
                "git show v1.0",
                "git log main..dev",
                "git whatchanged -p",
                "git log --format=%H -- a b",
            ),
            (
                "git log --output=f",
                "git log --ext-diff -p",
                "git log --textconv -p",
                "git log --outp=f",
                "git show --ext-diff",
                "git log --show-signature",
                "git log --format=%G?",
                "git log -O x",
                "git log --help",
                "git reflog delete x",
                "git reflog expire --all",
                "git log --exec=x",
                "git show --no-index a",
                "git --paginate log",
                "git --config-env=core.pager=X log",
            ),
        ),
        git(
            "git diff",
            grammar(_DIFF_OPTIONS, "rev?"),
            ("git diff", "git diff --stat HEAD^", "git diff --cached -- a.py", "git diff main...dev"),
            ("git diff --no-index a", "git diff /srv/empty /home/x", "git diff a ../b"),
        ),
        git(
            "git diff",
            # two words outside a repository are two paths, and of two directories every file is shown
            grammar(_DIFF_OPTIONS, "compared compared+"),
            ("git diff main dev", "git diff HEAD -- a.py", "git diff HEAD^ HEAD src/a.py"),
            (
                "git diff /srv/empty /home/x",
                "git diff a /etc",
                "git diff a ..",
                "git diff a ../b",
                "git diff a b/../../c",
                "git diff a b/..",
            ),
        ),
        git(
            "git diff-tree / git diff-index / git diff-files / git range-diff",
            grammar(_DIFF_OPTIONS, _REVISIONS),
            (
                "git diff-tree -p HEAD",
                "git diff-files",
                "git diff-index HEAD",
            ),
            (
                "git diff --ext-diff",
                "git diff --output=f",
                "git diff --output f",
                "git diff --textconv",
                "git diff --no-index a b",
                "git diff --ext",
                "git diff -Of",
                "git diff -o f",
            ),
        ),
        git(
            "git reflog",
            grammar(f"{_LOG} {_DIFF}", also=no_signature),
            ("git reflog", "git reflog -10"),
            ("git reflog delete x", "git reflog expire --all", "git reflog drop x"),
        ),
        git(
            "git shortlog",
            grammar("-sne --summary --numbered --email --no-merges --all --since:when --until:when", _REVISIONS),
            ("git shortlog -sn HEAD", "git shortlog"),
            ("git shortlog --format=%G?", "git shortlog --output=x"),
        ),
        git(
            "git blame / git annotate",
            grammar(
                "-L:item -wMCeflnst --porcelain --line-porcelain --show-email --show-name --show-number --date:format --since:when --abbrev:num --root",
                "rev+",
            ),
            ("git blame -L 10,20 a.py", "git blame HEAD a.py"),
            (
                "git blame --contents x a",
                "git blame -S x a",
                "git blame --textconv a",
                "git blame --ignore-revs-file x a",
            ),
        ),
        git(
            "git rev-list",
            grammar(f"{_LOG} --objects --no-object-names", "rev+", also=no_signature),
            ("git rev-list --count HEAD", "git rev-list main..feature"),
            ("git rev-list --disk-usage=x HEAD", "git rev-list --use-bitmap-index=x HEAD"),
        ),
        git(
            "git show-branch / git merge-base / git cherry / git name-rev / git describe",
            grammar(
                "-av --all --tags --always --long --dirty?name --abbrev:num --match:text --exclude:text --contains --exact-match --name-only --is-ancestor --fork-point --octopus --independent --current --list --remotes --heads --topics --candidates:num --first-parent --sha1-name",
                _REVISIONS,
            ),
            (
                "git describe --tags --always",
                "git merge-base main dev",
                "git show-branch",
                "git name-rev HEAD",
                "git cherry main",
            ),
            ("git describe --debug=x", "git merge-base --x a", "git name-rev --stdin-x"),
        ),
        git(
            "git grep",
            grammar(
                "-0nilLcwEFPGhHvqI -A:num -B:num -C:num -e:any --count --name-only --files-with-matches --ignore-case --line-number --word-regexp --extended-regexp --fixed-strings --perl-regexp --heading --break --cached --max-depth:num --show-function --all-match --and --or --not --color?(always|auto|never) --no-color",
                "text rev*",
            ),
            ("git grep -n TODO", "git grep -i x HEAD -- src"),
            (
                "git grep -Oless x",
                "git grep --open-files-in-pager=sh x",
                "git grep -O x",
                "git grep --textconv x",
                "git grep -f file",
                "git grep --no-index x",
                "git grep --untracked x",
                "git grep --open-files x",
            ),
        ),
        git(
            "git stash list / git stash show",
            grammar(
                f"{_LOG} {_DIFF} --include-untracked --only-untracked",
                "(stash@[{][0-9]+[}]|[0-9]+)?",
                also=no_signature,
            ),
            ("git stash list", "git stash show -p", "git stash show 'stash@{1}'"),
            ("git stash show --ext-diff", "git stash drop", "git stash list --show-signature", "git stash"),
        ),
    )
)
