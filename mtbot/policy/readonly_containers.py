"""Read-only docker, podman and compose: lists, states and logs.

What prints a container's environment (`inspect`, `compose config`) is not here, nor what reaches another host, enters
a container or reads a credential.
"""

from mtbot.policy.allow_rule import AllowRule, Needs
from mtbot.policy.grammar import Grammar, any_of, grammar
from mtbot.policy.readonly_entry import Environment, entry, flat

_NETWORK = Needs(network=True)

_FORMAT = "--format:format"

_LIST = f"-aq -f:words {_FORMAT} --all --quiet --no-trunc --filter:words --sort:name --help"

_LOGS = """-ft -n:name --tail:name --since:when --until:when --follow --timestamps --details --names --no-color --no-log-prefix
--latest --index:num --help"""

_ENGINE_BEFORE = grammar("-D -l:name --debug --log-level:name")

_FIELDS = "|".join(
    (
        "Id|Name|Created|Image|Driver|Platform|RestartCount|RepoTags|RepoDigests|Architecture|Os|Size",
        "State[.](?:Status|Running|Paused|Restarting|OOMKilled|Dead|Pid|ExitCode|StartedAt|FinishedAt|Health[.]Status)",
        "NetworkSettings[.](?:IPAddress|Gateway|Ports)",
        "HostConfig[.](?:RestartPolicy[.]Name|NetworkMode|Memory)",
    )
)
"""Fields of `inspect` that hold no environment, no command line and no output of a check."""

_FIELD_FORMAT = rf"((?:[A-Za-z0-9_:,=/-]|\\[nt]|[{{][{{](?:json\s)?[.](?:{_FIELDS})[}}][}}])+)"

_COMPOSE_BEFORE = grammar(
    "-f:path -p:name --file:path --project-name:name --project-directory:path --profile:name --ansi:name"
)

_COMPOSE_ENVIRONMENT: Environment = (
    ("COMPOSE_EXPERIMENTAL_GIT_REMOTE", "false"),
    ("COMPOSE_EXPERIMENTAL_OCI_REMOTE", "false"),
    ("COMPOSE_MENU", "false"),
)
"""A compose file may include others by an address; nothing is fetched for a list."""


def _engine(
    subcommands: str,
    rest: Grammar,
    permits: str,
    refuses: str,
    *,
    needs: Needs = Needs(),  # noqa: B008 - a frozen value
) -> tuple[AllowRule, ...]:
    """The same subcommands for docker and podman; examples are arguments, one text each, separated by ` / `."""
    return flat(
        tuple(
            entry(
                " / ".join(f"{program} {subcommand}" for subcommand in subcommands.split(" / ")),
                rest,
                before=_ENGINE_BEFORE,
                needs=needs,
                permits=tuple(f"{program} {text}" for text in permits.split(" / ")),
                refuses=tuple(f"{program} {text}" for text in refuses.split(" / ")),
            )
            for program in ("docker", "podman")
        )
    )


def _compose(subcommands: str, rest: Grammar, permits: str, refuses: str) -> tuple[AllowRule, ...]:
    """The same subcommands for each of the four spellings of compose."""
    return flat(
        tuple(
            entry(
                " / ".join(f"{program} {subcommand}" for subcommand in subcommands.split(" / ")),
                rest,
                before=_COMPOSE_BEFORE,
                environment=_COMPOSE_ENVIRONMENT,
                permits=tuple(f"{program} {text}" for text in permits.split(" / ")),
                refuses=tuple(f"{program} {text}" for text in refuses.split(" / ")),
            )
            for program in ("docker compose", "docker-compose", "podman compose", "podman-compose")
        )
    )


_ENGINES = flat(
    (
        _engine(
            "ps / container ls / container ps / container list",
            grammar(f"{_LIST} -sl -n:num --size --latest --last:num"),
            "ps -a / ps --format '{{.Names}}' / container ls / --log-level debug ps",
            "-H tcp://x ps / --config /x ps / ps --x / --context x ps / --url x ps / --remote ps",
        ),
        _engine(
            "images / image ls / image list",
            grammar(f"{_LIST} --digests --tree", "item?"),
            "images / image ls -a / images app",
            "images --x / image rm x / image prune",
        ),
        _engine(
            "logs / container logs / service logs",
            grammar(f"{_LOGS} --raw --no-resolve --no-task-ids", "item+"),
            "logs --tail 100 web / logs -f web / logs --since 1h web",
            "logs --x web / logs / logs --tai 1 web",
        ),
        _engine(
            "stats / container stats",
            grammar(f"-a {_FORMAT} --all --no-stream --no-trunc", "item*", requires="--no-stream"),
            "stats --no-stream / stats --no-stream web",
            "stats / stats --no-str / stats web",
        ),
        _engine(
            "inspect / container inspect / image inspect",
            grammar(
                f"-f:{_FIELD_FORMAT} --format:{_FIELD_FORMAT} -s --size --type:(container|image|network|volume)",
                "item+",
                also=any_of("-f", "--format"),
            ),
            "inspect --format '{{.State.Running}}' web / inspect -f '{{.Id}}:{{json .Name}}' web / image inspect --format='{{json .RepoTags}}' app",
            "inspect web / inspect -f '{{.Config.Env}}' web / inspect -f '{{json .}}' web / inspect -f '{{.}}' web / inspect --format '{{.Args}}' web"
            " / image inspect app / inspect -f '{{range .Config.Env}}{{.}}{{end}}' web / inspect -f '{{json .State}}' web / inspect -f x --host y web",
        ),
        _engine(
            "top / container top",
            grammar("", "item (aux|ef|pid|pid,cmd)?"),
            "top web / top web aux",
            "top / top web e / top web eww",
        ),
        _engine(
            "port / container port / diff / container diff",
            grammar(f"-qH {_FORMAT} --no-trunc --quiet --human", "item num?"),
            "port web 80 / diff web",
            "port / diff --x a / history app",
        ),
        _engine(
            "network ls / network list / volume ls / volume list / secret ls / config ls / node ls / service ls / service list / stack ls / plugin ls / context ls / buildx ls / pod ls / pod ps",
            grammar(_LIST),
            "network ls / volume ls -q / secret ls / service ls",
            "network rm x / volume prune / config inspect x / context use x",
        ),
        _engine(
            "service ps / stack ps / stack services / node ps",
            grammar(_LIST, "item+"),
            "stack ps app / service ps web",
            "service scale a=2 / service ps --x a / stack rm a",
        ),
        _engine(
            "network inspect / node inspect / buildx inspect / context inspect / secret inspect",
            grammar(f"{_FORMAT} -v --verbose --pretty", "item*"),
            "network inspect bridge / secret inspect --pretty s",
            "inspect web / container inspect web / image inspect x / network connect a b",
        ),
        _engine(
            "version / info / system df / system info / buildx du / buildx version / events / system events / --version",
            grammar(f"-v -f:format {_FORMAT} --since:when --until:when --filter:words --verbose --help"),
            "version / info / system df -v / events --since 1h / --version",
            "system prune / info --x / buildx prune",
        ),
        _engine(
            "manifest inspect / buildx imagetools inspect / search / trust inspect",
            grammar(f"-v --verbose --limit:num --no-trunc --pretty --filter:words {_FORMAT}", "item"),
            "manifest inspect nginx:latest / search nginx",
            "manifest push x / search --x a / manifest inspect a b",
            needs=_NETWORK,
        ),
    )
)

_COMPOSES = flat(
    (
        _compose(
            "ps / ls / images / top / port / events / version",
            grammar(f"{_LIST} --services --status:name --json --short", "item*"),
            "ps -a / -f docker-compose.yml ps / -p app images / top",
            "ps --x / config / config --hash / up -d / exec web sh / -H x ps / down / --env-file x ps",
        ),
        _compose(
            "config",
            grammar("--services --images --volumes --profiles -q --quiet", "", also=lambda read: bool(read.options)),
            "config --services / -f a.yml config -q",
            "config / config --environment / config --services --x",
        ),
        _compose(
            "logs",
            grammar(_LOGS, "item*"),
            "logs --tail=50 web / logs -f / -p app logs",
            "logs --x / --project-nam x logs / kill",
        ),
    )
)

CONTAINERS: tuple[AllowRule, ...] = (*_ENGINES, *_COMPOSES)
