"""Read-only git about names: branches, tags, remotes, paths, settings, and the state of a repository.

With an operand `git branch` and `git tag` make something, so an operand needs an option that lists.
"""

from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.grammar import Read, any_of, grammar
from mtbot.policy.readonly_entry import entry, flat
from mtbot.policy.readonly_git import GIT_ENVIRONMENT, git, no_signature

_LISTING = frozenset({"--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"})

_REF_OPTIONS = "--sort:words --format:format --color?(always|auto|never) --no-color --ignore-case --column?words --no-column --omit-empty"


def _lists(read: Read) -> bool:
    """With an operand, `git branch` and `git tag` make something unless one of these is present."""
    return no_signature(read) and not read.options.isdisjoint(_LISTING)


REFS: tuple[AllowRule, ...] = flat(
    (
        git(
            "git branch",
            grammar(
                f"-arvl --all --remotes --verbose --list --show-current --abbrev?num --contains --no-contains --merged --no-merged {_REF_OPTIONS}",
                also=no_signature,
            ),
            ("git branch", "git branch -avv", "git branch --show-current", "git branch --merged"),
            (
                "git branch -d x",
                "git branch -D x",
                "git branch new",
                "git branch -m a b",
                "git branch -f x",
                "git branch --edit-description",
                "git branch --set-upstream-to=x",
                "git branch --unset-upstream",
                "git branch --show",
            ),
        ),
        git(
            "git branch",
            grammar(
                f"-arvi --all --remotes --verbose --list --contains --no-contains --merged --no-merged --points-at {_REF_OPTIONS}",
                "([A-Za-z0-9_./*@~^-]+)*",
                also=_lists,
            ),
            (
                "git branch --contains abc",
                "git branch --list 'feat/*'",
                "git branch --merged main",
                "git branch -r --no-merged dev",
            ),
            ("git branch -l new", "git branch --list -D x", "git branch -a new", "git branch --copy a b"),
        ),
        git(
            "git tag",
            grammar(
                f"-ln -0123456789 --list --contains --no-contains --merged --no-merged --points-at {_REF_OPTIONS}",
                also=no_signature,
            ),
            ("git tag", "git tag -l", "git tag -n5"),
            (
                "git tag v1",
                "git tag -d v1",
                "git tag -a v1 -m x",
                "git tag -v v1",
                "git tag -s x",
                "git tag -f v1",
                "git tag --verify v1",
            ),
        ),
        git(
            "git tag",
            grammar(
                f"-n -0123456789 -l --list --contains --no-contains --merged --no-merged --points-at {_REF_OPTIONS}",
                "([A-Za-z0-9_./*@~^-]+)*",
                also=lambda read: no_signature(read) and not read.options.isdisjoint(_LISTING | {"-l"}),
            ),
            ("git tag -l 'v1.*'", "git tag --contains HEAD", "git tag --list x"),
            ("git tag -l -d x", "git tag -n x", "git tag --list --delete x"),
        ),
        git(
            "git remote",
            grammar("-v --verbose"),
            ("git remote", "git remote -v"),
            (
                "git remote show origin",
                "git remote add a b",
                "git remote update",
                "git remote remove x",
                "git remote set-url a b",
                "git remote prune x",
            ),
        ),
        git(
            "git remote get-url",
            grammar("--all --push", "name"),
            ("git remote get-url origin",),
            ("git remote get-url --add x y",),
        ),
        git(
            "git for-each-ref / git show-ref",
            grammar(
                f"-dsq --heads --tags --verify --hash?num --count:num --abbrev?num --contains:rev --merged:rev --points-at:rev --head --dereference {_REF_OPTIONS}",
                "([A-Za-z0-9_./*-]+)*",
                also=no_signature,
            ),
            (
                "git for-each-ref --sort=committerdate refs/heads",
                "git show-ref --heads",
                "git show-ref --verify refs/heads/main",
            ),
            (
                "git for-each-ref --format='%(signature)'",
                "git for-each-ref --stdin=x",
                "git show-ref --exclude-existing=x",
            ),
        ),
        git(
            "git rev-parse",
            grammar(
                "--show-toplevel --abbrev-ref?(strict|loose) --short?num --verify --quiet -q --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --symbolic --symbolic-full-name --show-prefix --show-cdup --show-superproject-working-tree --all --branches --tags --remotes --show-object-format --path-format:name",
                "rev*",
            ),
            ("git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git rev-parse --show-toplevel"),
            ("git rev-parse --parseopt", "git rev-parse --x", "git rev-parse --resolve-git-dir x"),
        ),
        git(
            "git ls-files",
            grammar(
                "-cdomsiutvzk --cached --deleted --others --modified --stage --ignored --exclude-standard --unmerged --error-unmatch --full-name --abbrev?num --directory --deduplicate --eol -x:text --exclude:text",
                "rev*",
            ),
            ("git ls-files", "git ls-files -o --exclude-standard src"),
            (
                "git ls-files -X file",
                "git ls-files --exclude-from=x",
                "git ls-files --recurse-submodules",
                "git ls-files --exclude-per-directory=x",
            ),
        ),
        git(
            "git ls-tree",
            grammar(
                "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev?num --object-only", "rev+"
            ),
            ("git ls-tree -r HEAD --name-only", "git ls-tree HEAD src"),
            ("git ls-tree --x HEAD",),
        ),
        git(
            "git cat-file",
            grammar("-tspe", "rev"),
            ("git cat-file -p HEAD", "git cat-file -t abc"),
            (
                "git cat-file --textconv HEAD:a",
                "git cat-file --filters HEAD:a",
                "git cat-file --batch-command",
                "git cat-file blob x y",
            ),
        ),
        git(
            "git symbolic-ref",
            grammar("-q --short --quiet", "name"),
            ("git symbolic-ref --short HEAD",),
            ("git symbolic-ref HEAD refs/heads/x", "git symbolic-ref -d HEAD", "git symbolic-ref -m x HEAD"),
        ),
        git(
            "git config --get / git config --get-all",
            grammar(
                "--local --global --system --show-origin --show-scope",
                "((user[.](name|email)|init[.]defaultbranch|core[.][a-zA-Z]+|branch[.][A-Za-z0-9_./-]+|remote[.][A-Za-z0-9_-]+[.]url|pull[.]rebase|push[.]default))",
            ),
            ("git config --get user.email", "git config --get remote.origin.url"),
            (
                "git config --get http.extraheader",
                "git config --get user.name x",
                "git config --get credential.helper",
                "git config -e",
                "git config user.name x",
                "git config --get -f x user.name",
                "git config --get --file=x user.name",
            ),
        ),
        git(
            "git config / git config get",
            grammar(
                "-z --local --global --system --show-origin --show-scope --null",
                "((user[.](name|email)|init[.]defaultbranch|core[.][a-zA-Z]+|branch[.][A-Za-z0-9_./-]+|remote[.][A-Za-z0-9_-]+[.]url|pull[.]rebase|push[.]default))",
            ),
            ("git config user.name", "git config --global user.email", "git config get --show-origin user.name"),
            (
                "git config user.name x",
                "git config --global user.email x",
                "git config --list",
                "git config -l",
                "git config --unset user.name",
                "git config --edit",
                "git config get --all http.extraheader",
                "git config get --file x user.name",
                "git config get --url=x user.name",
                "git config set user.name",
            ),
        ),
        git(
            "git add / git stage",
            grammar(
                "-nvAu --dry-run --verbose --all --update --no-all --ignore-removal --ignore-missing",
                "rev*",
                also=any_of("-n", "--dry-run"),
            ),
            ("git add -n .", "git add --dry-run -A", "git stage -nv src"),
            (
                "git add .",
                "git add -A",
                "git add -n -p",
                "git add -n -i",
                "git add -n -e a",
                "git add -n --pathspec-from-file=x",
                "git add -n --refresh",
                "git add -n --chmod=+x a",
                "git add -nf --renormalize a",
            ),
        ),
        git(
            "git fsck / git verify-pack",
            grammar(
                "-vs --full --no-full --strict --dangling --no-dangling --connectivity-only --unreachable --no-reflogs --root --tags"
                " --name-objects --progress --no-progress --verbose --stat-only",
                "rev*",
            ),
            ("git fsck --no-dangling", "git verify-pack -v .git/objects/pack/a.idx"),
            ("git fsck --lost-found", "git fsck --x", "git verify-pack --object-format=x a"),
        ),
        git(
            "git bundle verify / git bundle list-heads",
            grammar("-q --quiet", "path"),
            ("git bundle verify repo.bundle", "git bundle list-heads repo.bundle"),
            ("git bundle create x HEAD", "git bundle unbundle x", "git bundle verify --x a"),
        ),
        git(
            "git check-ref-format / git check-mailmap",
            grammar("--branch --normalize --allow-onelevel", "rev+"),
            ("git check-ref-format --branch feat/a",),
            ("git check-mailmap --stdin-x", "git check-ref-format --print-x a"),
        ),
        git(
            "git worktree list / git notes list / git sparse-checkout list / git bisect log / git var GIT_AUTHOR_IDENT / git var GIT_COMMITTER_IDENT / git rerere status / git rerere diff / git replace -l / git lfs ls-files / git lfs status / git notes show",
            grammar("--porcelain -v --verbose -z"),
            (
                "git worktree list",
                "git notes list",
                "git bisect log",
                "git sparse-checkout list",
                "git var GIT_AUTHOR_IDENT",
            ),
            (
                "git worktree add x",
                "git worktree prune",
                "git bisect run x",
                "git var GIT_EDITOR",
                "git notes add",
                "git rerere forget x",
            ),
        ),
        git(
            "git count-objects",
            grammar("-vH --verbose --human-readable"),
            ("git count-objects -vH",),
            ("git count-objects --x",),
        ),
        git(
            "git check-ignore / git check-attr",
            grammar("-vnaq --verbose --all --non-matching --no-index --cached", "rev+"),
            ("git check-ignore -v a", "git check-attr -a f"),
            ("git check-ignore --stdin-x a", "git check-attr --source=x a"),
        ),
        entry(
            "git version / git --version / git --help / git -- --help / git help / git",
            grammar("--build-options"),
            permits=("git --version", "git version", "git --help", "git help", "git"),
            refuses=("git help x", "git --version x", "git version --x", "git --exec-path=x"),
            environment=GIT_ENVIRONMENT,
        ),
        git(
            "git hash-object",
            grammar("-t:(blob) --stdin --no-filters", "path*"),
            ("git hash-object a",),
            ("git hash-object -w a", "git hash-object --stdin-paths", "git hash-object --path=x a"),
        ),
    )
)
