"""Each check judges both ways, on values alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.bootstrap.offline import Loaded, load_all
from mtbot.doctor.checks import (
    CHECKS,
    Row,
    Status,
    anchor,
    containment,
    cron,
    elevation,
    exec_policy,
    gateway,
    host,
    judge,
    model,
    paths,
    secrets,
    storage,
    telegram,
)
from mtbot.doctor.containment import ProfileHeld
from mtbot.doctor.gateway import GatewayFound, PollFound
from mtbot.doctor.probes import AccountFound, BotFound, DatabaseFound, Gathered, ModelFound, PathFound
from mtbot.domain.process import Containment

CONFIG = """\
version: 1
people: {chief: 1001}
owner: chief
agent: {model: m, workspace: ws}
openai: {api_key_env: ""}
channels: {telegram: {token_file: token, allow_from: [chief]}}
tools: {exec: {mode: MODE, builtin_deny: {ask: [files.rm-recursive], off: [git.force-push]}}}
cron: {enabled: CRON, timezone: UTC, jobs: [{name: nightly, schedule: "0 7 * * *", prompt: x, enabled: true}]}
storage: {dsn: db/m.db}
"""


def loaded(directory: Path, *, mode: str = "approval", cron_on: bool = False, text: str = CONFIG) -> Loaded:
    """A configuration that loads."""
    file = directory / "config.yaml"
    file.write_text(text.replace("MODE", mode).replace("CRON", str(cron_on).lower()))
    token = directory / "token"
    token.write_text("1:abc")
    token.chmod(0o600)
    return load_all(str(file), environ={"HOME": str(directory)})


def found(directory: Path, **changes: object) -> Gathered:
    """A sound installation, but for what is changed."""
    here = str(directory)
    place = PathFound("storage.dsn", here, True, True, True, True, True)  # noqa: FBT003 - six facts of one path
    base = Gathered(
        loaded=loaded(directory),
        config_mode=0o600,
        state_directory=place,
        paths=(),
        database=DatabaseFound("m.db", events=7),
        bots=(BotFound("main", username="nas_bot"),),
        models=(ModelFound("openai", "m", listed=True),),
        user="mtclaw",
        held=Containment(files=True, network=True, signals=True),
    )
    return replace(base, **changes)  # type: ignore[arg-type] # test values by name


def statuses(rows: list[Row]) -> list[tuple[Status, str]]:
    """Status and message of each row."""
    return [(row.status, row.message) for row in rows]


def path(
    key: str,
    *,
    exists: bool = True,
    directory: bool = True,
    readable: bool = True,
    writable: bool = True,
    executable: bool = True,
) -> PathFound:
    """A path as it was found."""
    return PathFound(key, f"/srv/{key}", exists, directory, readable, writable, executable)


def test_a_sound_installation_has_no_warning(tmp_path: Path) -> None:
    """But for what the sample changes on purpose."""
    rows = judge(found(tmp_path))
    assert [row for row in rows if row.status is Status.FAIL] == []
    assert {row.check for row in rows if row.status is Status.WARN} == {"built-in rules"}


def test_a_configuration_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    """With the remedy."""
    rows = judge(found(tmp_path, config_mode=0o644))
    (row,) = [row for row in rows if row.check == "configuration permissions"]
    assert (row.status, row.message.endswith("can be read by others; chmod 600 it")) == (Status.WARN, True)


def test_a_missing_secret_fails_and_names_the_key(tmp_path: Path) -> None:
    """What is there is told with its source and without its value."""
    (tmp_path / "other").mkdir()
    sound = loaded(tmp_path)
    rows = secrets(found(tmp_path, loaded=replace(sound, missing=("providers.openai.api_key: no",))))
    assert [row.status for row in rows] == [Status.OK, Status.FAIL]
    assert "1:abc" not in str(rows)


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        (DatabaseFound("m.db", absent=True), [(Status.INFO, "m.db is made at the first start")]),
        (DatabaseFound("m.db", fault="m.db is damaged"), [(Status.FAIL, "m.db is damaged")]),
        (DatabaseFound("m.db", chain_fault="event 3"), [(Status.OK, "m.db"), (Status.FAIL, "event 3")]),
        (
            DatabaseFound("m.db", events=7, holder="42", pending=2),
            [
                (Status.OK, "m.db"),
                (Status.OK, "7 events, chain whole"),
                (Status.INFO, "running, pid 42"),
                (Status.INFO, "2 open; `mtclaw approvals pending` shows them"),
            ],
        ),
    ],
)
def test_the_database_is_told_as_it_is(
    tmp_path: Path, database: DatabaseFound, expected: list[tuple[Status, str]]
) -> None:
    """Absent, damaged, broken chain, in use."""
    assert statuses(storage(found(tmp_path, database=database))) == expected


def test_a_state_directory_that_is_not_writable_fails(tmp_path: Path) -> None:
    """SQLite needs the directory, not only the file."""
    place = path("storage.dsn", writable=False)
    (row, *_) = storage(found(tmp_path, state_directory=place))
    assert (row.status, row.message) == (
        Status.FAIL,
        "/srv/storage.dsn is not writable for mtclaw, and the database needs it",
    )


def test_a_bot_that_telegram_does_not_know_fails(tmp_path: Path) -> None:
    """And one that it knows is named."""
    rows = telegram(found(tmp_path, bots=(BotFound("main", fault="no"), BotFound("ops", username="ops_bot"))))
    assert statuses(rows) == [(Status.FAIL, "no"), (Status.OK, "@ops_bot")]


def test_no_owner_is_warned_of_and_no_telegram_is_fine(tmp_path: Path) -> None:
    """Nobody would hear of trouble."""
    without = loaded(tmp_path, text=CONFIG.replace("owner: chief\n", ""))
    assert statuses(telegram(found(tmp_path, loaded=without, bots=())))[-1][0] is Status.WARN
    off = loaded(tmp_path, text=CONFIG.replace("{telegram: {", "{telegram: {enabled: false, "))
    assert statuses(telegram(found(tmp_path, loaded=off, bots=()))) == [(Status.OK, "switched off")]


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (ModelFound("p", "m", listed=True), Status.OK),
        (ModelFound("p", "m"), Status.WARN),
        (ModelFound("p", "m", fault="no answer"), Status.FAIL),
    ],
)
def test_a_model_is_listed_or_not_or_does_not_answer(tmp_path: Path, one: ModelFound, status: Status) -> None:
    """Three ends."""
    assert [row.status for row in model(found(tmp_path, models=(one,)))] == [status]


@pytest.mark.parametrize(
    ("one", "status", "said"),
    [
        (path("agent.workspace"), Status.OK, "/srv/agent.workspace"),
        (path("agent.workspace", exists=False), Status.FAIL, "mkdir -p"),
        (path("agent.workspace", directory=False), Status.FAIL, "no directory"),
        (path("agent.workspace", writable=False), Status.FAIL, "not writable for mtclaw"),
        (path("tools.exec.cwd", readable=False), Status.FAIL, "cannot be read by mtclaw"),
        (path("tools.exec.shell", directory=False), Status.OK, "/srv/tools.exec.shell"),
        (path("tools.exec.shell", exists=False), Status.FAIL, "set tools.exec.shell"),
        (path("tools.exec.shell", directory=False, executable=False), Status.FAIL, "cannot be executed"),
        (path("agent.system_prompt_files", exists=False), Status.WARN, "does not exist"),
    ],
)
def test_a_path_is_judged_by_what_it_is_for(tmp_path: Path, one: PathFound, status: Status, said: str) -> None:
    """With what mends it."""
    (row,) = paths(found(tmp_path, paths=(one,)))
    assert row.status is status
    assert said in row.message


def test_auto_mode_and_changed_rules_are_always_warned_of(tmp_path: Path) -> None:
    """Every change to the built-in rules is reported."""
    rows = exec_policy(found(tmp_path, loaded=loaded(tmp_path, mode="auto")))
    assert [row.status for row in rows] == [Status.WARN] * 3
    assert [row.message for row in rows][1:] == [
        "files.rm-recursive asks instead of refusing",
        "git.force-push is switched off",
    ]


def test_a_profile_is_judged_by_itself(tmp_path: Path) -> None:
    """Its name stands in the row."""
    text = CONFIG + "profiles: {ops: {tools: {exec: {mode: auto}}}}\n"
    rows = exec_policy(found(tmp_path, loaded=loaded(tmp_path, text=text)))
    assert "exec mode of profile ops" in [row.check for row in rows]


def test_root_is_warned_of_and_others_are_told_what_a_command_can_reach(tmp_path: Path) -> None:
    """The same uid can reach the database."""
    (as_root,) = host(found(tmp_path, root=True))
    assert as_root.status is Status.WARN
    for lost in ("every secret", "record", "ends or traces the gateway", "sudo asks it for nothing", "tools.exec.user"):
        assert lost in as_root.message
    (as_itself,) = host(found(tmp_path))
    assert as_itself.status is Status.INFO
    assert "could reach the database" in as_itself.message
    assert "tools.exec.user" in as_itself.message


def test_another_user_for_commands_is_good_where_it_can_be_had(tmp_path: Path) -> None:
    """And said to be none where it cannot, or where it reaches what is ours all the same."""
    apart = host(found(tmp_path, root=True, user="root", account=AccountFound("deploy")))
    assert statuses(apart) == [
        (Status.OK, "the gateway runs as root, commands as deploy, who cannot reach database, keys and secrets")
    ]
    faults = ("tools.exec.user: there is no user deploy on this host", "agent.workspace: deploy cannot write in /ws")
    assert statuses(host(found(tmp_path, account=AccountFound("deploy", faults)))) == [
        (Status.FAIL, "there is no user deploy on this host"),
        (Status.FAIL, "agent.workspace: deploy cannot write in /ws"),
    ]
    (open_,) = host(found(tmp_path, root=True, account=AccountFound("deploy", exposed=("/a/m.db", "/a/m.db.key"))))
    assert (open_.status, "/a/m.db, /a/m.db.key" in open_.message) == (Status.WARN, True)


def test_what_a_chat_may_approve_that_changes_the_user_is_listed(tmp_path: Path) -> None:
    """Every command, as a warning."""
    assert [row.status for row in elevation(found(tmp_path))] == [Status.OK]
    listed = loaded(tmp_path, text=CONFIG + "elevation: {chat: [[sudo, id], [sudo, apt-get, update]]}\n")
    (row,) = elevation(found(tmp_path, loaded=listed))
    assert (row.status, "sudo id; sudo apt-get update" in row.message) == (Status.WARN, True)


def test_jobs_are_listed_where_cron_is_on(tmp_path: Path) -> None:
    """With their next run."""
    assert statuses(cron(found(tmp_path))) == [(Status.INFO, "switched off")]
    on = found(tmp_path, loaded=loaded(tmp_path, cron_on=True), overdue=(("nightly", "Tue 07:00"),))
    assert statuses(cron(on)) == [(Status.OK, "next Tue 07:00")]


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_something_to_say_of_a_sound_installation(
    tmp_path: Path, check: Callable[[Gathered], list[Row]]
) -> None:
    """A check that says nothing might as well not be there."""
    rows = check(found(tmp_path, paths=(path("agent.workspace"),)))
    assert rows
    assert all(row.message for row in rows)


WITHOUT_BUBBLEWRAP = (
    "without bubblewrap builds can read secrets in the workspace, change git hooks, and change modes of the user's files "
    "anywhere (why)"
)
NOTHING = Containment(missing=("TCP connections can be made", "files outside can be read"))


@pytest.mark.parametrize(
    ("held", "profiles", "rows"),
    [
        (
            Containment(files=True, network=True, signals=True, bubblewrap=True),
            (ProfileHeld("", needs=("the readonly pack",), require=True),),
            [(Status.OK, "ready: files, network, signals, bubblewrap (a contained command tried to break out)")],
        ),
        (
            Containment(files=True, network=True, missing=("processes can be signalled",), no_bubblewrap=("why",)),
            (),
            [
                (Status.OK, "ready: files, network (a contained command tried to break out)"),
                (Status.INFO, "not held: processes can be signalled"),
                (Status.INFO, WITHOUT_BUBBLEWRAP),
            ],
        ),
        (
            NOTHING,
            (ProfileHeld("", needs=("the readonly pack", "mode auto")), ProfileHeld("ops", needs=("mode auto",))),
            [
                (Status.WARN, "NOT CONTAINED: TCP connections can be made; files outside can be read"),
                (Status.WARN, "run on the host and say NOT CONTAINED: the readonly pack"),
            ],
        ),
        (
            NOTHING,
            (ProfileHeld("ops", needs=("allow[0] (make)", "mode auto"), require=True),),
            [
                (Status.WARN, "NOT CONTAINED: TCP connections can be made; files outside can be read"),
                (Status.WARN, "refused, in chat and by cron: allow[0] (make), mode auto"),
            ],
        ),
        (
            Containment(files=True, network=True, signals=True, bubblewrap=True),
            (ProfileHeld("ops", "the workspace holds /srv/db", ("allow[0] (make)",), require=True),),
            [
                (Status.OK, "ready: files, network, signals, bubblewrap (a contained command tried to break out)"),
                (Status.WARN, "NOT CONTAINED: the workspace holds /srv/db"),
                (Status.WARN, "refused, in chat and by cron: allow[0] (make)"),
            ],
        ),
    ],
)
def test_containment(
    tmp_path: Path, held: Containment, profiles: tuple[ProfileHeld, ...], rows: list[tuple[Status, str]]
) -> None:
    """What holds, and what becomes of that which should be held where it cannot be."""
    assert statuses(containment(found(tmp_path, held=held, profiles=profiles))) == rows


def test_a_gateway_is_told_by_what_it_says_itself(tmp_path: Path) -> None:
    """Its polls with their age, silence where one runs, and why it refuses; nothing where none runs."""
    running = DatabaseFound("m.db", events=7, holder="77")
    assert statuses(gateway(found(tmp_path))) == [(Status.INFO, "no gateway runs")]
    silent = "nothing answers; it works, but approve, reload and status do not reach it at once"
    assert statuses(gateway(found(tmp_path, database=running))) == [(Status.WARN, silent)]
    assert statuses(gateway(found(tmp_path, gateway=GatewayFound(fault="no")))) == [(Status.WARN, "no")]
    polls = (
        PollFound("a", 3.4),
        PollFound("b", 3.4, "no connection"),
        PollFound("c", None),
        PollFound("d", 121.0),
    )
    state = GatewayFound(answers=True, polls=polls)
    assert [(row.check, row.status, row.message) for row in gateway(found(tmp_path, gateway=state))] == [
        ("control socket", Status.OK, "the gateway answers"),
        ("polling a", Status.OK, "last answer 3 s ago"),
        ("polling b", Status.WARN, "last answer 3 s ago; no connection"),
        ("polling c", Status.WARN, "Telegram has not answered yet, which is longer than a poll lasts"),
        ("polling d", Status.WARN, "last answer 121 s ago, which is longer than a poll lasts"),
    ]


@pytest.mark.parametrize(
    ("setting", "trouble", "expected"),
    [
        ("off", "", (Status.INFO, "off: somebody with this account could rewrite the record unnoticed")),
        ("owner", "", (Status.OK, "owner")),
        ("syslog", "", (Status.OK, "syslog")),
        ("syslog", "nobody listens at /dev/log", (Status.WARN, "nobody listens at /dev/log")),
    ],
)
def test_where_the_head_of_the_record_goes_is_said(
    tmp_path: Path, setting: str, trouble: str, expected: tuple[Status, str]
) -> None:
    """Off is a choice that is told; an anchor that takes nothing is a warning."""
    config = loaded(tmp_path, text=f"{CONFIG}audit: {{anchor: {setting}}}\n")
    (row,) = anchor(found(tmp_path, loaded=config, anchor_trouble=trouble))
    assert (row.check, row.status) == ("audit.anchor", expected[0])
    assert row.message.startswith(expected[1])
