"""Agent, providers, cron, storage, log, audit: each key with what it takes and what it refuses."""

from pathlib import Path

import pytest

from mtbot.config.load import load
from mtbot.config.service import Anchor, Driver, LogFormat, LogLevel, OnAsk, SessionKind
from mtbot.config.settings import ModelRef, Settings
from mtbot.config.values import SecretRef
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import HOME, RULES, SMALL, fault, faults, read, write

REST = "channels: {telegram: {allow_from: [1]}}\n"


def job(directory: Path, text: str, rest: str = "") -> Settings:
    """A file with one enabled job that has those keys."""
    return read(
        directory, f"{SMALL}cron: {{enabled: true, jobs: [{{name: j, enabled: true, prompt: x, {text}}}]}}\n{rest}"
    )


def wrong_job(directory: Path, key: str, text: str, rest: str = "") -> str:
    """The one fault of such a file."""
    text = f"cron: {{enabled: true, jobs: [{{name: j, enabled: true, prompt: x, {text}}}]}}\n{rest}"
    return fault(directory, f"cron.jobs[0].{key}", text)


def test_the_defaults_of_the_agent(tmp_path: Path) -> None:
    """The temperature is not sent unless it is set."""
    agent = read(tmp_path, SMALL).base.agent
    assert (agent.name, agent.model, agent.temperature) == ("MTClaw", "gpt-5", None)
    assert (agent.max_iterations, agent.max_history_turns, agent.system_prompt_files) == (20, 40, ())
    assert agent.workspace == HOME / "mtclaw-workspace"


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("{}", "model", "is missing"),
        ("{model: ''}", "model", "must not be empty"),
        ("{model: 5}", "model", "must be text"),
        ("{model: m, temperature: 2.1}", "temperature", "must be from 0 to 2"),
        ("{model: m, temperature: .nan}", "temperature", "must be a number"),
        ("{model: m, max_iterations: 0}", "max_iterations", "must be from 1 to 100"),
        ("{model: m, max_iterations: true}", "max_iterations", "must be a whole number"),
        ("{model: m, max_history_turns: 1}", "max_history_turns", "must be from 2 to 1000"),
        ("{model: m, workspace: 5}", "workspace", "must be a path"),
        ("{model: m, system_prompt_files: a.md}", "system_prompt_files", "must be a list"),
        ('{model: m, name: "a\\nb"}', "name", "must be one line"),
    ],
)
def test_what_is_no_agent(tmp_path: Path, text: str, key: str, message: str) -> None:
    """A workspace that is wrong is one fault, though three keys would take it over."""
    [found] = faults(tmp_path, f"{REST}agent: {text}\n")
    assert f"agent.{key}: {message}" in found


def test_the_short_form_is_one_provider_with_the_originals_variable(tmp_path: Path) -> None:
    """Also where the section is not there at all."""
    for text in ("", "openai: {}", "openai: {timeout: 60s}"):
        settings = read(tmp_path, SMALL + text)
        assert list(settings.providers) == ["openai"]
        provider = settings.providers["openai"]
        assert provider.key_ref("openai") == SecretRef("providers.openai.api_key", "OPENAI_API_KEY", None)
        assert (provider.base_url, provider.max_retries) == ("https://api.openai.com/v1", 3)


def test_a_provider_streams_unless_it_is_told_not_to(tmp_path: Path) -> None:
    """Where an answer is seen growing; a server that breaks its streams off is found out."""
    found = [read(tmp_path, SMALL + f"openai: {{{text}}}").providers["openai"].stream for text in ("", "stream: false")]
    assert found == [True, False]


def test_an_empty_variable_means_no_key_and_not_the_default(tmp_path: Path) -> None:
    """For a server on this host that wants none."""
    settings = read(tmp_path, SMALL + "openai: {api_key_env: '', base_url: 'http://127.0.0.1:8080/v1/'}")
    assert settings.providers["openai"].key_ref("openai").named is False
    assert settings.providers["openai"].base_url == "http://127.0.0.1:8080/v1"


def test_a_named_provider_says_where_its_key_is(tmp_path: Path) -> None:
    """It has no default variable, so that the key for one server is never sent to another."""
    assert "names no key: give api_key_env or api_key_file" in fault(
        tmp_path, "providers.main", "providers: {main: {base_url: 'https://models.example.org/v1'}}"
    )
    settings = read(tmp_path, SMALL + "providers: {main: {api_key_file: secrets/model}}")
    assert settings.providers["main"].key_ref("main") == SecretRef(
        "providers.main.api_key", "", tmp_path / "secrets/model"
    )


def test_short_and_long_form_together_are_a_fault(tmp_path: Path) -> None:
    """Which of them would win nobody could say."""
    message = fault(tmp_path, "openai", "openai: {}\nproviders: {main: {api_key_env: ''}}")
    assert message == "openai is the short form of one entry of providers; give one of the two"
    assert fault(tmp_path, "providers", "providers: {}") == "must not be empty"


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("api_key: sk-abcdef", "api_key", "name the variable in api_key_env or the file in api_key_file"),
        ("api_key_env: sk-abcdef", "api_key_env", "must be the NAME of an environment variable"),
        ("base_url: 'https://user:sk-abcdef@x/v1'", "base_url", "must not hold a user or password"),
        ("base_url: models", "base_url", "absolute http or https address"),
        ("timeout: 0", "timeout", "must be more than 0"),
        ("max_retries: -1", "max_retries", "must be from 0 to 10"),
        ("api_kee_env: X", "api_kee_env", 'did you mean "api_key_env"?'),
    ],
)
def test_what_is_no_provider(tmp_path: Path, text: str, key: str, message: str) -> None:
    """No fault repeats what may be a key."""
    found = fault(tmp_path, f"openai.{key}", f"openai: {{{text}}}")
    assert message in found
    assert "abcdef" not in found


def test_a_model_belongs_to_a_provider(tmp_path: Path) -> None:
    """With one provider the name may be left out and slashes are part of the model; with several it must be there."""
    two = "providers: {main: {api_key_env: ''}, spare: {api_key_env: ''}}\n"
    settings = read(tmp_path, f"{REST}{two}agent: {{model: spare/qwen/32b}}")
    assert settings.model_ref(settings.base.agent.model) == ModelRef("spare", "qwen/32b")
    one = read(tmp_path, f"{REST}agent: {{model: qwen/32b}}")
    assert one.model_ref("qwen/32b") == ModelRef("openai", "qwen/32b")
    assert one.model_ref("openai/gpt-5") == ModelRef("openai", "gpt-5")
    with pytest.raises(ConfigError, match="names no provider"):
        settings.model_ref("gpt-5")
    [found] = faults(tmp_path, f"{REST}{two}agent: {{model: mian/m}}")
    assert 'agent.model: must begin with a provider and a slash (main, spare) (did you mean "main"?)' in found
    [found] = faults(tmp_path, f"{REST}{two}agent: {{model: main/m}}\ntools: {{exec: {{auto: {{model: small}}}}}}")
    assert "tools.exec.auto.model: must begin with a provider and a slash" in found
    [found] = faults(tmp_path, f"{REST}{two}agent: {{model: main/m, fallback_models: [spare/m, nobody/m]}}")
    assert "agent.fallback_models: must begin with a provider and a slash" in found


def test_models_that_stand_in_come_in_their_order(tmp_path: Path) -> None:
    """The model first, then the others as they are written."""
    two = "providers: {main: {api_key_env: ''}, spare: {api_key_env: ''}}\n"
    settings = read(tmp_path, f"{REST}{two}agent: {{model: main/m, fallback_models: [spare/m, main/small]}}")
    assert settings.model_refs(settings.base.agent) == (
        ModelRef("main", "m"),
        ModelRef("spare", "m"),
        ModelRef("main", "small"),
    )


def test_a_job(tmp_path: Path) -> None:
    """Its defaults: it remembers, may run ten minutes, and tells nobody."""
    [found] = job(tmp_path, "schedule: '0 7 * * *'").cron.jobs
    assert (found.session, found.timeout, found.deliver_to) == (SessionKind.PERSISTENT, 600, None)
    cron = read(tmp_path, SMALL).cron
    assert (cron.enabled, cron.timezone, cron.jobs, cron.approval_timeout) == (False, "Local", (), 43_200)
    assert found.on_ask is OnAsk.REFUSE


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("schedule: '30 0 9 * * *'", "schedule", "must have exactly 5 fields"),
        ("schedule: hourly", "schedule", "must have exactly 5 fields"),
        ("schedule: '@daily', session: forever", "session", "must be one of persistent, ephemeral"),
        ("schedule: '@daily', timeout: 0s", "timeout", "must be more than 0"),
        ("schedule: '@daily', on_ask: park", "on_ask", "park needs deliver_to: the question goes where"),
        ("schedule: '@daily', on_ask: wait", "on_ask", "must be one of refuse, park"),
        ("schedule: '@daily', deliver_to: {}", "deliver_to.chat_id", "is missing"),
        ("schedule: '@daily', deliver_to: {chat_id: '*'}", "deliver_to.chat_id", "must name one chat"),
        ("schedule: '@daily', deliver_to: {chat_id: ''}", "deliver_to.chat_id", "must name one chat"),
        ("schedule: '@daily', deliver_to: {chat_id: true}", "deliver_to.chat_id", "must name one chat"),
        ("schedule: '@daily', deliver_to: {chat_id: cheif}", "deliver_to.chat_id", 'did you mean "chief"?'),
        ("schedule: '@daily', deliver_to: {chat_id: 5}", "deliver_to.chat_id", "must be a person of allow_from"),
        ("schedule: '@daily', deliver_to: {chat_id: -5}", "deliver_to.chat_id", "must be a group with its own entry"),
        ("schedule: '@daily', deliver_to: {chat_id: chief, thread_id: 0}", "deliver_to.thread_id", "must be from 1"),
        ("schedule: '@daily', deliver_to: {chat_id: chief, bot: x}", "deliver_to.bot", 'no bot is called "x"'),
        (
            "schedule: '@daily', deliver_to: {chat_id: chief, channel: mail}",
            "deliver_to.channel",
            "must be one of telegram",
        ),
    ],
)
def test_what_is_no_job(tmp_path: Path, text: str, key: str, message: str) -> None:
    """Among them results that would go where the bot does not speak."""
    assert message in wrong_job(tmp_path, key, text)


def test_a_prompt_says_something(tmp_path: Path) -> None:
    """Blank text would start a turn about nothing."""
    text = "cron: {jobs: [{name: j, schedule: '@daily', prompt: '  '}]}"
    assert fault(tmp_path, "cron.jobs[0].prompt", text) == "must not be empty"


def test_names_of_jobs_are_unique(tmp_path: Path) -> None:
    """A name is a session and a row of the record."""
    one = "{name: j, schedule: '@daily', prompt: x}"
    assert fault(tmp_path, "cron.jobs[1].name", f"cron: {{jobs: [{one}, {one}]}}") == "a job called j exists already"


def test_where_results_go(tmp_path: Path) -> None:
    """To a person by name, or to a topic of a listed group; never to a group that only the star lets in."""
    found = job(tmp_path, "schedule: '@daily', deliver_to: {chat_id: chief}").cron.jobs[0].deliver_to
    assert found is not None
    assert (found.chat_id, found.thread_id, found.bot) == (1001, None, None)
    group = "{telegram: {allow_from: [1], groups: {-1001: {}, '*': {}}}}"
    people = f"agent: {{model: m}}\nchannels: {group}\n"
    jobs = (
        "cron: {{enabled: true, jobs: [{{name: j, enabled: true, prompt: x, schedule: '@daily', deliver_to: {{{}}}}}]}}"
    )
    settings = read(tmp_path, people + jobs.format("chat_id: '-1001', thread_id: 7"))
    assert settings.cron.jobs[0].deliver_to is not None
    assert (settings.cron.jobs[0].deliver_to.chat_id, settings.cron.jobs[0].deliver_to.thread_id) == (-1001, 7)
    [found_fault] = faults(tmp_path, people + jobs.format("chat_id: -1002"))
    assert "must be a group with its own entry in groups" in found_fault


def test_with_several_bots_a_job_names_the_one_that_speaks(tmp_path: Path) -> None:
    """Each bot has its own people."""
    bots = """
agent: {model: m}
channels: {telegram: {bots: {one: {token_env: A, allow_from: [1]}, two: {token_env: B, allow_from: [2]}}}}
cron: {enabled: true, jobs: [{name: j, enabled: true, prompt: x, schedule: '@daily', deliver_to: {chat_id: 2%s}}]}
"""
    assert read(tmp_path, bots % ", bot: two").cron.jobs[0].deliver_to is not None
    [found] = faults(tmp_path, bots % "")
    assert "deliver_to.bot: must name the bot that speaks: one, two" in found
    [found] = faults(tmp_path, bots % ", bot: one")
    assert "deliver_to.chat_id: must be a person of allow_from" in found


def test_the_target_of_a_job_that_does_not_run_is_not_looked_at(tmp_path: Path) -> None:
    """Neither with the job nor with cron as a whole switched off."""
    off = "{name: j, schedule: '@daily', prompt: x, deliver_to: {chat_id: 5}}"
    assert read(tmp_path, f"{SMALL}cron: {{enabled: true, jobs: [{off}]}}").cron.jobs[0].enabled is False
    on = "{name: j, enabled: true, schedule: '@daily', prompt: x, deliver_to: {chat_id: 5}}"
    assert read(tmp_path, f"{SMALL}cron: {{jobs: [{on}]}}").cron.enabled is False


def test_a_job_cannot_deliver_where_the_channel_is_off(tmp_path: Path) -> None:
    """It would write into the void every day."""
    text = """
agent: {model: m}
channels: {telegram: {enabled: false}}
cron: {enabled: true, jobs: [{name: j, enabled: true, prompt: x, schedule: '@daily', deliver_to: {chat_id: 5}}]}
"""
    [found] = faults(tmp_path, text)
    assert "cron.jobs[0].deliver_to.channel: telegram is not enabled" in found


def test_schedules_are_judged_in_the_configured_zone_by_who_knows_them(tmp_path: Path) -> None:
    """A line that can never fire is a fault of the file, at its place."""
    text = "cron: {timezone: Asia/Ho_Chi_Minh, jobs: [{name: j, schedule: '0 9 31 2 *', prompt: x}]}"
    path = write(tmp_path, SMALL + text)
    with pytest.raises(ConfigError) as caught:
        load(path, {}, HOME, RULES, schedule_problem=lambda line, zone: f"{line} in {zone.key}")
    assert caught.value.problems == (f"{path}:4:63: cron.jobs[0].schedule: 0 9 31 2 * in Asia/Ho_Chi_Minh",)


def test_zones(tmp_path: Path) -> None:
    """An IANA name, or the host's; TZ says which that is."""
    assert read(tmp_path, SMALL + "cron: {timezone: Asia/Tokyo}").zone.key == "Asia/Tokyo"
    assert read(tmp_path, SMALL, {"TZ": "Europe/Berlin"}).zone.key == "Europe/Berlin"
    for name in ("Mars/Base", "../etc/passwd", "/etc/localtime", "Europe"):
        assert "no such time zone" in fault(tmp_path, "cron.timezone", f"cron: {{timezone: {name}}}")


def test_the_database_is_a_file_by_default(tmp_path: Path) -> None:
    """No character of its path has a meaning of its own."""
    assert read(tmp_path, SMALL).storage.dsn == "/home/chief/.mtclaw/mtclaw.db"
    storage = read(tmp_path, SMALL + "storage: {dsn: 'a#b?c%d.db'}").storage
    assert (storage.driver, storage.dsn) == (Driver.SQLITE, f"{tmp_path}/a#b?c%d.db")


def test_the_old_name_of_the_path_still_works_with_a_warning(tmp_path: Path) -> None:
    """It means the very same key; both together are a fault."""
    settings = read(tmp_path, SMALL + "storage: {path: x.db}")
    assert settings.storage.dsn == f"{tmp_path}/x.db"
    assert settings.warnings == ("line 4: storage.path is the old name of storage.dsn",)
    message = fault(tmp_path, "storage.path", "storage: {path: x.db, dsn: y.db}")
    assert message == "is the old name of storage.dsn; give one of the two"


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("path: ''", "path", "must not be empty: the data would be lost"),
        ("dsn: ' '", "dsn", "must not be empty: the data would be lost"),
        ("dsn: ':memory:'", "dsn", "must be the path of a file"),
        ("dsn: 'sqlite:///x.db'", "dsn", "must be the path of a file"),
        ("dsn: /tmp", "dsn", "is a directory"),
        ("dsn: /etc/passwd/x.db", "dsn", "cannot be made: /etc/passwd is no directory"),
        ("dsn: 'postgresql://u@h/d'", "dsn", "set storage.driver to postgres"),
        ("dsn_env: DSN", "dsn_env", "is for postgres"),
        ("driver: mysql", "driver", "must be one of sqlite, postgres"),
        ("driver: postgres", "dsn", "is missing: postgres needs dsn, dsn_env or dsn_file"),
        ("driver: postgres, dsn: x.db", "dsn", "must be postgresql://user@host/database"),
        ("driver: postgres, dsn: 'postgresql://u@h'", "dsn", "must be postgresql://user@host/database"),
        ("driver: postgres, dsn: 'postgresql://u:abcdef@h/d'", "dsn", "must hold no password"),
        ("driver: postgres, dsn: 'postgresql://u@h/d?password=abcdef'", "dsn", "must hold no password"),
        ("driver: postgres, dsn: 'host=h password=abcdef'", "dsn", "must hold no password"),
    ],
)
def test_what_is_no_database(tmp_path: Path, text: str, key: str, message: str) -> None:
    """Among them databases that vanish at exit, and passwords."""
    found = fault(tmp_path, f"storage.{key}", f"storage: {{{text}}}")
    assert message in found
    assert "abcdef" not in found


def test_postgres(tmp_path: Path) -> None:
    """By a DSN without a password, or by the place of one that has it."""
    plain = read(
        tmp_path, SMALL + "storage: {driver: postgres, dsn: 'postgresql://u@h:5432/d?sslmode=require'}"
    ).storage
    assert (plain.driver, plain.dsn) == (Driver.POSTGRES, "postgresql://u@h:5432/d?sslmode=require")
    assert plain.dsn_ref.named is False
    secret = read(tmp_path, SMALL + "storage: {driver: postgres, dsn_env: DSN}")
    assert secret.storage.dsn_ref == SecretRef("storage.dsn", "DSN", None)
    assert secret.secret_names() == {"TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "DSN"}


def test_the_log(tmp_path: Path) -> None:
    """Levels in any case, warning as warn; no file is stderr."""
    log = read(tmp_path, SMALL).log
    assert (log.level, log.format, log.file) == (LogLevel.INFO, LogFormat.TEXT, None)
    log = read(tmp_path, SMALL + "log: {level: Warning, format: json, file: x.log}").log
    assert (log.level, log.format, log.file) == (LogLevel.WARN, LogFormat.JSON, tmp_path / "x.log")
    assert read(tmp_path, SMALL + "log: {file: ''}").log.file is None
    assert 'did you mean "debug"?' in fault(tmp_path, "log.level", "log: {level: debgu}")
    assert fault(tmp_path, "log.file", "log: {file: /tmp}") == "is a directory"


def test_the_anchor_needs_an_owner_to_be_sent_to(tmp_path: Path) -> None:
    """Off and syslog need nobody; off is a word here."""
    assert read(tmp_path, SMALL + "audit: {anchor: off}").audit.anchor is Anchor.OFF
    assert read(tmp_path, SMALL + "audit: {anchor: syslog}").audit.anchor is Anchor.SYSLOG
    assert read(tmp_path, SMALL + "owner: chief\naudit: {anchor: owner}").audit.anchor is Anchor.OWNER
    assert fault(tmp_path, "audit.anchor", "audit: {anchor: owner}") == "is owner, but no owner is named"


def test_nothing_that_needs_root_is_approved_in_a_chat_unless_it_is_named(tmp_path: Path) -> None:
    """By an argv pattern that begins with sudo and its program."""
    assert read(tmp_path, SMALL).elevation.chat == ()
    named = read(tmp_path, SMALL + "owner: chief\nelevation: {chat: [[sudo, systemctl, restart, nginx]]}")
    assert named.elevation.chat == (("sudo", "systemctl", "restart", "nginx"),)
    begins = "must be sudo, a program without a path and its arguments: "
    for words, why in (
        ("[ls]", "must begin with sudo"),
        ("[sudo]", "sudo without a program runs nothing"),
        ("[sudo, -u, x]", "sudo takes no options of its own here"),
        ("[sudo, /bin/x]", "the program that sudo runs is written by its bare name, without a path or an assignment"),
        ("[sudo, '*']", "must write out the program that sudo runs"),
        ("[sudo, su, x]", "su inside sudo: the user is changed once"),
        ("[sudo, '**', x]", "** may only be the last word"),
    ):
        said = fault(tmp_path, "elevation.chat[0]", f"owner: chief\nelevation: {{chat: [{words}]}}")
        assert said == begins + why


def test_what_only_the_owner_may_approve_needs_an_owner(tmp_path: Path) -> None:
    """Otherwise nobody could."""
    said = fault(tmp_path, "elevation.chat", "elevation: {chat: [[sudo, id]]}")
    assert said == "lists what only the owner may approve, but no owner is named"


def test_the_address_follows_the_protocol(tmp_path: Path) -> None:
    """Unless one is named."""
    both = (
        "providers: {a: {api: anthropic, api_key_env: K}, b: {api: anthropic, api_key_env: L, base_url: 'http://x/v1'}}"
    )
    settings = read(tmp_path, f"{REST}{both}\nagent: {{model: a/m}}")
    assert [settings.providers[name].base_url for name in "ab"] == ["https://api.anthropic.com/v1", "http://x/v1"]
    assert "must be one of openai, anthropic" in fault(tmp_path, "openai.api", "openai: {api: antropic}")
