"""Read-only clients of services: gh and auth0, by the subcommands that only show.

gh asks git about the repository around it, so it gets git's forced environment and the same look at the repository's
configuration. Nothing opens a browser, downloads a file, prints a token, or sends a body.
"""

import re
from dataclasses import replace

from mtbot.policy.allow_rule import AllowRule, Needs
from mtbot.policy.grammar import Grammar, Read, any_of, grammar
from mtbot.policy.readonly_entry import Environment, entry, flat
from mtbot.policy.readonly_git import GIT_ENVIRONMENT

_GH_ENVIRONMENT: Environment = (
    *GIT_ENVIRONMENT,
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GH_NO_UPDATE_NOTIFIER", "1"),
    ("GH_NO_EXTENSION_UPDATE_NOTIFIER", "1"),
    ("GLAMOUR_STYLE", "notty"),
)
_REPOSITORY = "[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"
_QUERY = r"query=(?![\s\S]*\b(?:mutation|subscription)\b)\s*(?:query\b|[{])[\s\S]*"
"""A GraphQL document without the one word that every writing operation begins with."""
_BEFORE = grammar(f"-R:({_REPOSITORY}) --repo:({_REPOSITORY})")
_COMMON = f"""-R:({_REPOSITORY}) --repo:({_REPOSITORY}) -L:num --limit:num --json:words -q:text --jq:text -t:format --template:format
-s:name --state:name -l:text --label:text -A:text --author:text -a:text --assignee:text -S:text --search:text -B:item --base:item -H:item
--head:item -m:text --milestone:text --mention:text --app:item -O:name --order:name --sort:name --help -h"""


def _no_environment(read: Read) -> bool:
    """gh's own jq can print the environment, and with it a token."""
    return not any(re.search(r"\benv\b|\$ENV", value) for name, value in read.values if name in ("-q", "--jq"))


def _gh(subcommands: str, rest: Grammar, permits: tuple[str, ...], refuses: tuple[str, ...]) -> tuple[AllowRule, ...]:
    return entry(
        " / ".join(f"gh {subcommand}" for subcommand in subcommands.split(" / ")),
        replace(rest, also=lambda read: _no_environment(read) and (rest.also is None or rest.also(read))),
        before=_BEFORE,
        needs=Needs(network=True, plain_repository=True),
        environment=_GH_ENVIRONMENT,
        permits=permits,
        refuses=refuses,
    )


_GH = flat(
    (
        _gh(
            "pr list / issue list / pr ls / issue ls / pr status / issue status",
            grammar(f"{_COMMON} -d --draft -c --conflict-status"),
            ("gh pr list --state open", "gh -R o/r issue list", "gh issue list --label 'help wanted'", "gh pr status"),
            (
                "gh pr list --web",
                "gh pr list -w",
                "gh issue create",
                "gh pr list -R evil.example/o/r",
                "gh pr li",
                "gh issue list --x",
            ),
        ),
        _gh(
            "pr view / issue view",
            grammar(f"{_COMMON} -c --comments", "item?"),
            ("gh pr view 123 --json title,body", "gh issue view 5 --comments", "gh pr view"),
            ("gh pr view 1 --web", "gh pr view https://evil.example/o/r/pull/1", "gh issue edit 1", "gh pr checkout 1"),
        ),
        _gh(
            "pr diff / pr checks",
            grammar(
                f"{_COMMON} --patch --name-only --color:(always|never|auto) --required --watch -i:num --interval:num --fail-fast",
                "item?",
            ),
            ("gh pr diff 12", "gh pr checks --required"),
            ("gh pr diff --web", "gh pr checks --web", "gh pr merge 1"),
        ),
        _gh(
            "repo view / repo list / release view",
            grammar(
                f"{_COMMON} -b:item --branch:item --language:name --topic:name --source --fork --archived --no-archived --visibility:name",
                f"({_REPOSITORY}|[A-Za-z0-9_.-]+)?",
            ),
            ("gh repo view o/r", "gh repo list --limit 50", "gh release view v1.0"),
            (
                "gh repo view --web",
                "gh repo delete o/r",
                "gh repo clone o/r",
                "gh release download v1",
                "gh repo view https://x/y",
            ),
        ),
        _gh(
            "release list / release ls / label list / label ls / cache list / workflow list / run list / secret list / variable list / ssh-key list / gpg-key list / ruleset list / rs list / org list / extension list / ext list / alias list / gist list / project list / codespace list",
            grammar(
                f"{_COMMON} --exclude-drafts --exclude-pre-releases -k:item --key:item -r:item --ref:item --all --org:item -o:item --owner:item -e:item --env:item -u:item --user:item -w:item --workflow:item -b:item --branch:item -e:item --event:name --status:name --commit:item --created:text --public --secret --closed"
            ),
            (
                "gh run list --branch main",
                "gh release list -L 10",
                "gh secret list",
                "gh workflow list --all",
                "gh org list",
                "gh label list --search bug",
            ),
            (
                "gh secret set X",
                "gh label list --web",
                "gh label delete bug",
                "gh cache delete 1",
                "gh alias set co x",
                "gh extension install x",
                "gh gist create f",
            ),
        ),
        _gh(
            "run view",
            grammar(f"{_COMMON} --job:num -j:num --log --log-failed --exit-status -v --verbose --attempt:num", "num?"),
            ("gh run view 12345 --log", "gh run view --job 67890"),
            ("gh run view 1 --web", "gh run rerun 1", "gh run download 1", "gh run cancel 1"),
        ),
        _gh(
            "run watch / workflow view / ruleset view / rs view / project view / project field-list / project item-list / ruleset check",
            grammar(
                f"{_COMMON} --exit-status --compact -i:num --interval:num --ref:item -r:item --yaml -y --owner:item --format:(json) --org:item --parents",
                "item?",
            ),
            ("gh run watch 12", "gh workflow view 1 --yaml", "gh project item-list 1 --owner me"),
            ("gh workflow view 1 --web", "gh workflow run x", "gh project delete 1", "gh run watch --x"),
        ),
        _gh(
            "search repos / search issues / search prs / search commits / search code",
            grammar(
                f"{_COMMON} --owner:item --language:name --topic:name --stars:text --filename:text --extension:name --match:words --merged --draft --archived?(true|false) --visibility:name --created:text --updated:text --review:name --checks:name",
                "text*",
            ),
            ("gh search code 'func main'", "gh search prs --author @me", "gh search repos --topic cli"),
            ("gh search repos --web cli", "gh search code -w x"),
        ),
        _gh(
            "status / auth status / config list",
            grammar(
                "-o:item --org:item -e:item --exclude:item --hostname:(github[.]com) -h:(github[.]com) --host:(github[.]com) --active",
            ),
            ("gh status", "gh auth status", "gh config list --host github.com"),
            (
                "gh auth status --show-token",
                "gh auth token",
                "gh auth status -t",
                "gh config set a b",
                "gh auth login",
                "gh browse",
            ),
        ),
        _gh(
            "config get",
            grammar("", "(git_protocol|editor|prompt|pager|browser)"),
            ("gh config get git_protocol",),
            ("gh config get oauth_token", "gh config get -h github.com oauth_token", "gh config get"),
        ),
        _gh(
            "browse",
            grammar(
                f"{_COMMON} -n --no-browser --projects --releases --settings --wiki",
                "item?",
                also=lambda read: not read.options.isdisjoint({"-n", "--no-browser"}),
            ),
            ("gh browse -n", "gh browse --no-browser 12"),
            ("gh browse", "gh browse 12"),
        ),
        _gh(
            "extension search / ext search / codespace view / cs view",
            grammar(f"{_COMMON} -c:item", "text?"),
            ("gh extension search cli", "gh cs view"),
            (
                "gh extension exec x",
                "gh codespace ssh",
                "gh cs delete",
                "gh codespace ports forward 1:2 x",
                "gh attestation download x",
            ),
        ),
        entry(
            "gh",
            grammar(
                "--help",
                "(pr|issue|repo|run|workflow|release|gist|api|auth|search|label|secret|variable|cache|browse|alias|config|project|ruleset|org|codespace|extension)",
                requires="--help",
            ),
            environment=_GH_ENVIRONMENT,
            permits=("gh pr --help",),
            refuses=("gh myext --help", "gh pr list x --help"),
        ),
        _gh(
            "attestation verify / at verify",
            grammar(
                f"-R:({_REPOSITORY}) --repo:({_REPOSITORY}) -o:name --owner:name --format:(json) -q:text --jq:text -L:num --limit:num"
                " --predicate-type:item --deny-self-hosted-runners --digest-alg:(sha256|sha512)",
                "file",
            ),
            ("gh attestation verify a.tgz --owner o", "gh at verify a.tgz -R o/r"),
            (
                "gh attestation verify oci://evil.example/x --owner o",
                "gh attestation verify a.tgz --hostname x",
                "gh attestation verify a.tgz --bundle b",
                "gh attestation verify a.tgz --custom-trusted-root r",
                "gh attestation download a.tgz",
            ),
        ),
        _gh(
            "attestation trusted-root",
            grammar(),
            ("gh attestation trusted-root",),
            ("gh attestation trusted-root --tuf-url http://x", "gh attestation trusted-root --tuf-root x"),
        ),
        _gh(
            "gist view",
            grammar("-r --raw -f:item --filename:item --files", "([0-9a-f]+)"),
            ("gh gist view abc123 --raw",),
            ("gh gist view abc --web", "gh gist view https://x/y", "gh gist edit abc"),
        ),
        _gh(
            "api",
            grammar(
                "-X:(GET) --method:(GET) --paginate --slurp -q:text --jq:text -t:format --template:format -i --include --silent --cache:name --help",
                "(/?(?!graphql)[A-Za-z0-9_][A-Za-z0-9_./?=&%+,-]*)",
            ),
            (
                "gh api /user",
                "gh api --paginate repos/o/r/issues",
                "gh api --method GET repos/o/r",
                "gh api -XGET repos/o/r --jq .name",
            ),
            (
                "gh api graphql -f query=x",
                "gh api repos/o/r -f a=b",
                "gh api -X POST repos/o/r",
                "gh api https://evil.example/x",
                "gh api --hostname evil.example /user",
                "gh api repos/o/r --input f",
                "gh api -F a=@f x",
                "gh api -H a:b x",
                "gh api graphql",
                "gh api /user --jq env",
                "gh api /user -q $ENV.GH_TOKEN",
            ),
        ),
        _gh(
            "api",
            grammar(
                "-X:(GET) --method:(GET) -f:([A-Za-z0-9_]+=[^\\n]*) --raw-field:([A-Za-z0-9_]+=[^\\n]*) --paginate -q:text --jq:text -t:format --template:format -i --include",
                "(/?(?!graphql)[A-Za-z0-9_][A-Za-z0-9_./?=&%+,-]*)",
                also=any_of("-X", "--method"),
            ),
            ("gh api -f q='repo:cli/cli' -X GET search/issues", "gh api --method GET search/code --raw-field q=x"),
            (
                "gh api -f a=b repos/o/r/issues",
                "gh api -X POST -f a=b repos/o/r/issues",
                "gh api -X GET -F a=@f search/code",
                "gh api -X GET -f a=b graphql",
                "gh api -X GET --input f x",
            ),
        ),
        _gh(
            "api graphql",
            grammar(
                f"-f:({_QUERY}) --raw-field:({_QUERY}) --paginate -q:text --jq:text",
                also=any_of("-f", "--raw-field"),
            ),
            (
                "gh api graphql -f query='query { viewer { login } }'",
                "gh api graphql --raw-field query='{ viewer { login } }'",
            ),
            (
                "gh api graphql -f query='mutation { x }'",
                "gh api graphql -f query='{ a } mutation M { x }' -f operationName=M",
                "gh api graphql -F query=@f",
                "gh api graphql -f query=x --hostname evil.example",
                "gh api graphql",
                "gh api graphql -f a=b",
            ),
        ),
        entry(
            "gh --version / gh version / gh --help / gh help",
            grammar("", "name?"),
            environment=_GH_ENVIRONMENT,
            permits=("gh --version", "gh help pr"),
            refuses=("gh --version --x", "gh help -x"),
        ),
    )
)

_AUTH0_BEFORE = grammar("-t:item --tenant:item --no-color --no-input")
_AUTH0_GROUPS = [
    "actions",
    "apis",
    "apps",
    "attack-protection",
    "domains",
    "email",
    "event-streams",
    "logs",
    "orgs",
    "protection",
    "quickstarts",
    "qs",
    "roles",
    "rules",
    "tenants",
    "ul",
    "universal-login",
    "users",
    "organizations",
]
_AUTH0_OPTIONS = "-t:item --tenant:item --json --json-compact --csv -n:num --number:num -q:text --query:text -s:words --sort:words -f:text --filter:text --no-color --no-input"


def _auth0(shape: str, rest: Grammar, permits: tuple[str, ...], refuses: tuple[str, ...]) -> tuple[AllowRule, ...]:
    leads = " / ".join(shape.replace("GROUP", group) for group in _AUTH0_GROUPS)
    return entry(leads, rest, before=_AUTH0_BEFORE, needs=Needs(network=True), permits=permits, refuses=refuses)


_AUTH0 = flat(
    (
        _auth0(
            "auth0 GROUP list / auth0 GROUP ls",
            grammar(_AUTH0_OPTIONS),
            ("auth0 apps list", "auth0 --tenant x.auth0.com apps ls", "auth0 logs list -f type:s"),
            ("auth0 apps list --reveal-secrets", "auth0 apps list -r", "auth0 apps create"),
        ),
        _auth0(
            "auth0 GROUP show / auth0 GROUP search / auth0 GROUP search-by-email / auth0 GROUP stats / auth0 GROUP tail / auth0 GROUP diff",
            grammar(_AUTH0_OPTIONS, "item?"),
            ("auth0 users show u1", "auth0 users search --query email:a", "auth0 logs tail"),
            ("auth0 apps show x --reveal-secrets", "auth0 users delete x", "auth0 api get clients"),
        ),
        entry(
            " / ".join(
                f"auth0 {group} {verb}"
                for group in (
                    "apis scopes",
                    "orgs members",
                    "orgs roles",
                    "roles permissions",
                    "roles perms",
                    "users roles",
                    "universal-login prompts",
                    "universal-login templates",
                    "ul prompts",
                    "ul templates",
                    "email templates",
                    "protection bpd",
                    "protection breached-password-detection",
                    "protection brute-force-protection",
                    "protection bfp",
                    "protection suspicious-ip-throttling",
                    "protection sit",
                    "attack-protection bpd",
                    "attack-protection bfp",
                    "attack-protection sit",
                )
                for verb in ("list", "ls", "show")
            ),
            grammar(_AUTH0_OPTIONS, "item?"),
            before=_AUTH0_BEFORE,
            needs=Needs(network=True),
            permits=("auth0 apis scopes list a", "auth0 protection bpd show"),
            refuses=("auth0 protection bpd update", "auth0 roles permissions add x"),
        ),
        entry(
            "auth0 api / auth0 api get",
            grammar("-q:text --query:text", "(tenants/settings|stats/daily|stats/active-users)"),
            before=_AUTH0_BEFORE,
            needs=Needs(network=True),
            permits=("auth0 api get tenants/settings", "auth0 api stats/daily"),
            refuses=(
                "auth0 api get clients",
                "auth0 api post clients",
                "auth0 api patch tenants/settings",
                "auth0 api tenants/settings -d x",
                "auth0 api get client-grants",
                "auth0 api tenants/settings --data=x",
            ),
        ),
        entry("auth0 --help / auth0 --version", grammar(), permits=("auth0 --help",), refuses=("auth0 --help x",)),
    )
)

FORGES: tuple[AllowRule, ...] = (*_GH, *_AUTH0)
