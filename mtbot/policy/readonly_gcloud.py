"""Read-only gcloud: lists and descriptions in the owner's own projects, without what hands out a secret.

By shape, as for the other clouds: a known group, words that cannot act, a verb that only looks, options that only
select.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Needs
from mtbot.policy.readonly_cloud import SWITCHES, VALUE, options_only_select
from mtbot.policy.words import words

_GCLOUD_GROUPS = words(
    """app artifacts asset billing builds certificate-manager components compute container dataproc deploy dns endpoints eventarc filestore firestore
    functions iam iap kms logging memcache monitoring network-security networks org-policies organizations projects pubsub redis run scheduler
    secrets services source spanner sql storage tasks transfer workflows"""
)

_GCLOUD_NOUNS = words(
    """accounts addresses apps backends backend-services backups bindings brands buckets certificates channels clusters configs configurations connectors
    databases disks docker domains domain-mappings dns-authorizations endpoints environments executions features files firewall-rules firewalls
    folders forwarding-rules gateway-security-policies groups health-checks images instance-groups instance-templates instances interconnects jobs keyrings
    keys liens locations logs managed managed-zones maps metrics networks node-pools node-groups objects oauth-clients operations packages peerings policies projects
    queues record-sets regions repositories reservations resource-policies revisions roles routers routes rules schemas server-tls-policies client-tls-policies
    service-accounts services settings sinks snapshots sole-tenancy ssl-certificates ssl-policies subnets subscriptions tables tags target-pools
    tcp tiers topics triggers trust-configs tunnels url-maps url-lists users versions views vpn-gateways vpn-tunnels web workflows workerpools zones machine-types
    accelerator-types disk-types billing-accounts budgets entries locks security-policies target-http-proxies target-https-proxies"""
)
"""Words that may stand between a group and its verb; none of them acts."""

_GCLOUD_VERBS = words("list describe get-iam-policy list-tags list-grantable-roles get-ancestors")

_GCLOUD_SHOWN_WHOLE = words(
    "artifacts billing certificate-manager dns iam iap kms logging network-security organizations projects pubsub secrets sql storage"
)
"""Groups whose things hold no environment, start-up script or credential; of the others only plain tables are shown."""
_GCLOUD_PLAIN_NOUNS = words("zones regions snapshots networks disks images")


def _match_gcloud(argv: Argv) -> Match | None:
    rest = list(argv[1:])
    leading: list[str] = []
    while rest and rest[0].startswith("--"):
        leading.append(rest.pop(0))
        if "=" not in leading[-1] and rest and leading[-1] not in SWITCHES:
            leading.append(rest.pop(0))
    path: list[str] = []
    while rest and re.fullmatch(r"[a-z][a-z0-9-]*", rest[0]) and (not path or path[-1] not in _GCLOUD_VERBS):
        path.append(rest.pop(0))
    if (
        not leading
        and not rest
        and path
        in (
            ["info"],
            ["version"],
            ["auth", "list"],
            ["config", "list"],
            ["components", "list"],
            ["config", "configurations", "list"],
            ["config", "get", "project"],
            ["config", "get", "account"],
            ["config", "get-value", "project"],
            ["app", "describe"],
            ["iap", "settings", "get"],
        )
    ):
        return Match()
    if path[:1] in (["help"], ["topic"]) and not leading and not rest:
        return Match()
    if not path and argv[1:] in (("--version",), ("--help",)):
        return Match()
    if path[:1] in (["beta"], ["alpha"]):
        path = path[1:]
    if path == ["logging", "read"]:
        path, rest = ["logging", "list"], rest[1:] if rest and VALUE.fullmatch(rest[0]) else rest
    if (
        len(path) < 2
        or path[0] not in _GCLOUD_GROUPS
        or path[-1] not in _GCLOUD_VERBS
        or not _GCLOUD_NOUNS.issuperset(path[1:-1])
    ):
        return None
    options = [*leading, *rest]
    names = []
    while rest and not rest[0].startswith("-"):
        names.append(rest.pop(0))
    if len(names) > 1 or not all(re.fullmatch(r"(?:gs://|//)?[A-Za-z0-9_][A-Za-z0-9_.:/@-]*", name) for name in names):
        return None
    shown = path[-1] == "describe" or any(word.startswith(("--format", "--flatten")) for word in options)
    if shown and path[0] not in _GCLOUD_SHOWN_WHOLE and not _GCLOUD_PLAIN_NOUNS.issuperset(path[1:-1]):
        return None
    return Match() if options_only_select(_without_format([*leading, *rest]), "") else None


def _without_format(options: list[str]) -> list[str]:
    """The options without `--format` and its harmless value; an unknown value stays and is judged as an option."""
    kept: list[str] = []
    rest = list(options)
    while rest:
        word = rest.pop(0)
        if word == "--format" and rest and re.fullmatch(r"[a-z]+(?:\([A-Za-z0-9_.,:=\[\]() -]*\))?", rest[0]):
            rest.pop(0)
        elif re.fullmatch(r"--format=[a-z]+(?:\([A-Za-z0-9_.,:=\[\]() -]*\))?", word) is None:
            kept.append(word)
    return kept


GCLOUD: tuple[AllowRule, ...] = (
    AllowRule(
        id="readonly:gcloud",
        match=_match_gcloud,
        program="gcloud",
        needs=Needs(network=True),
        environment=(("CLOUDSDK_CORE_DISABLE_PROMPTS", "1"), ("PAGER", "cat")),
        why="lists and describes in the owner's account",
        permits=(
            "gcloud projects list",
            "gcloud help compute instances",
            "gcloud topic configurations",
            "gcloud container images describe gcr.io/p/i",
            "gcloud compute instances list --filter=status=RUNNING",
            "gcloud dns record-sets list --zone=z",
            "gcloud secrets versions list s",
            "gcloud --project=p pubsub topics list",
            "gcloud logging read resource.type=x --limit=5",
        ),
        refuses=(
            "gcloud auth print-access-token",
            "gcloud help -- x",
            "gcloud --format=json help compute",
            "gcloud secrets versions access 1 --secret=s",
            "gcloud compute instances delete list",
            "gcloud compute instances describe vm",
            "gcloud run services describe s",
            "gcloud container clusters describe c",
            "gcloud container clusters list --format=json",
            "gcloud scheduler jobs describe j",
            "gcloud compute instances list --format=json",
            "gcloud compute ssh vm",
            "gcloud projects list --flags-file=x",
            "gcloud container clusters get-credentials c",
            "gcloud projects list --impersonate-service-account=x",
            "gcloud --access-token-file=x projects list",
            "gcloud config set project x",
            "gcloud projects list --log-http",
            "gcloud config get-value x y",
        ),
    ),
)
