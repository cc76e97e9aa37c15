"""The tools' sections: defaults of the design, one switch for exec, and no way to widen by a typing error."""

from pathlib import Path

import pytest

from mtbot.config.load import load
from mtbot.config.tools import (
    AllowItem,
    AllowPack,
    Category,
    Containment,
    ExecSettings,
    Mode,
    Root,
    RootAccess,
    ToolsSettings,
    WriteRule,
)
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import HOME, RULES, SMALL, fault, faults, read, write

WORKSPACE = HOME / "mtclaw-workspace"


def tools(directory: Path, text: str) -> ToolsSettings:
    """The tools of ``SMALL`` with that section."""
    return read(directory, f"{SMALL}tools: {text}").base.tools


def execs(directory: Path, text: str) -> ExecSettings:
    """The exec section of ``SMALL`` with those keys."""
    return tools(directory, f"{{exec: {{{text}}}}}").exec


def wrong(directory: Path, key: str, text: str) -> str:
    """The one fault of those keys of exec."""
    return fault(directory, f"tools.exec.{key}", f"tools: {{exec: {{{text}}}}}")


def test_the_defaults_are_the_designs(tmp_path: Path) -> None:
    """A non-login shell, approval, the workspace as directory and only root, half an hour for a question."""
    found = read(tmp_path, SMALL).base.tools
    command = found.exec
    assert (command.enabled, command.mode, command.cwd) == (True, Mode.APPROVAL, WORKSPACE)
    assert command.shell == ("/bin/bash", "--noprofile", "--norc", "-c")
    assert (command.timeout, command.max_output_bytes, command.approval_timeout) == (120, 65536, 1800)
    assert (command.deny, command.allow, command.allow_packs) == ((), (), ())
    assert (command.builtin_deny.ask, command.builtin_deny.off) == ((), ())
    assert (command.auto.model, command.auto.confirm_on) == ("gpt-5", tuple(Category))
    assert (command.containment.profile, command.containment.require) == (Containment.HOST, False)
    assert command.path == ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
    assert (command.env.passed, command.env.set) == ((), {})
    files, web = found.filesystem, found.web_fetch
    assert files.roots == (Root(path=WORKSPACE, access=RootAccess.READ_WRITE),)
    assert (files.enabled, files.write) == (True, WriteRule.ALLOW)
    assert (files.max_read_bytes, files.max_write_bytes) == (262144, 1048576)
    assert (web.enabled, web.timeout, web.max_bytes, web.hosts) == (True, 30, 1048576, ())
    assert (found.denied_path, found.denied_command) == ((), ())


@pytest.mark.parametrize(
    "text", ["mode: off", "enabled: false", "enabled: false, mode: auto", "enabled: true, mode: off"]
)
def test_off_and_disabled_are_one_switch(tmp_path: Path, text: str) -> None:
    """No reader can see one without the other; off is a word here and no boolean."""
    found = execs(tmp_path, text)
    assert (found.enabled, found.mode) == (False, Mode.OFF)


def test_a_misspelt_mode_is_refused(tmp_path: Path) -> None:
    """And not taken for the default."""
    assert wrong(tmp_path, "mode", "mode: aproval") == 'must be one of approval, auto, off (did you mean "approval"?)'


@pytest.mark.parametrize(
    "text", ["timeout: 0s", "timeout: -1", "approval_timeout: 0", "timeout: 1e9", "timeout: true", "timeout: .nan"]
)
def test_a_limit_of_nothing_or_for_ever_is_refused(tmp_path: Path, text: str) -> None:
    """0 would end every command at once, and NaN never."""
    assert wrong(tmp_path, text.split(":", maxsplit=1)[0], text).startswith("must be")


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("exec", "max_output_bytes"),
        ("filesystem", "max_read_bytes"),
        ("filesystem", "max_write_bytes"),
        ("web_fetch", "max_bytes"),
    ],
)
@pytest.mark.parametrize("value", ["0", "-5", "1e9", "true", "'5'"])
def test_a_size_is_at_least_one_byte(tmp_path: Path, section: str, key: str, value: str) -> None:
    """A negative one ended the original."""
    message = fault(tmp_path, f"tools.{section}.{key}", f"tools: {{{section}: {{{key}: {value}}}}}")
    assert message.startswith("must be")


def test_a_web_fetch_needs_an_end(tmp_path: Path) -> None:
    """Zero once meant no limit."""
    assert fault(tmp_path, "tools.web_fetch.timeout", "tools: {web_fetch: {timeout: 0s}}").startswith(
        "must be more than 0"
    )


def test_a_shell_is_a_program_and_its_flag(tmp_path: Path) -> None:
    """With one word the command would become the name of a script; an empty list is the default."""
    assert execs(tmp_path, "shell: [/bin/dash, -c]").shell == ("/bin/dash", "-c")
    assert execs(tmp_path, "shell: []").shell == ("/bin/bash", "--noprofile", "--norc", "-c")
    assert "at least two words" in wrong(tmp_path, "shell", "shell: [/bin/bash]")
    assert "absolute path" in wrong(tmp_path, "shell", "shell: [bash, -c]")
    assert wrong(tmp_path, "shell", "shell: /bin/bash -c") == "must be a list"


@pytest.mark.parametrize("flags", ["-lc", "'-l', -c", "--login, -c", "-i, -c"])
def test_a_login_shell_is_warned_of(tmp_path: Path, flags: str) -> None:
    """The original's own default still works, with its price told."""
    settings = read(tmp_path, SMALL + f"tools: {{exec: {{shell: [/bin/bash, {flags}]}}}}\nprofiles: {{ops: {{}}}}")
    assert settings.warnings == (
        "tools.exec.shell is a login shell: its start-up files can change what a command means",
    )


def test_a_relative_program_directory_is_refused(tmp_path: Path) -> None:
    """Whoever can write where a command starts could plant a program there."""
    for value in ("'/bin:.'", "[/bin, bin]", "'/bin::/usr/bin'"):
        assert "is relative" in wrong(tmp_path, "path", f"path: {value}")
    assert "must be a list of directories" in wrong(tmp_path, "path", "path: []")
    assert execs(tmp_path, "path: '/bin:~/bin'").path == ("/bin", "/home/chief/bin")


def test_a_program_directory_inside_a_root_is_refused(tmp_path: Path) -> None:
    """Also where only a link makes it so; the default root is the workspace."""
    link = tmp_path / "bin"
    work = tmp_path / "work"
    (work / "tools").mkdir(parents=True)
    link.symlink_to(work / "tools")
    where = f"agent: {{model: m, workspace: {work}}}\nchannels: {{telegram: {{allow_from: [1]}}}}\n"
    for directory in (work, work / "tools", link):
        [found] = faults(tmp_path, f"{where}tools: {{exec: {{path: [/bin, {directory}]}}}}")
        assert f"tools.exec.path: {directory} lies inside the root {work}" in found


def test_a_program_directory_inside_the_root_of_a_profile_is_refused(tmp_path: Path) -> None:
    """The path comes from the top and the root from the overlay; together they are a fault."""
    text = "tools: {exec: {path: [/srv/ops/bin]}}\nprofiles: {ops: {agent: {workspace: /srv/ops}}}"
    assert fault(tmp_path, "tools.exec.path", text).startswith("/srv/ops/bin lies inside the root /srv/ops")


def test_allow_items_in_both_shapes(tmp_path: Path) -> None:
    """A text is an expression; a mapping names argv and what the command needs."""
    text = """
  exec:
    allow:
      - docker ps
      - {argv: [restic, backup, "**"], cwd: ~/data, network: true, write: [cache], containment: host, why: nightly,
         permits: [restic backup /srv], refuses: [restic forget]}
"""
    expression, pattern = tools(tmp_path, text).exec.allow
    assert expression == AllowItem(regex="docker ps")
    assert (pattern.regex, pattern.argv) == (None, ("restic", "backup", "**"))
    assert (pattern.cwd, pattern.network, pattern.write) == (HOME / "data", True, (tmp_path / "cache",))
    assert (pattern.containment, pattern.why) == (Containment.HOST, "nightly")
    assert (pattern.permits, pattern.refuses) == (("restic backup /srv",), ("restic forget",))


@pytest.mark.parametrize(
    ("item", "key", "message"),
    [
        ("{why: x}", "allow[0]", "must have argv, or be a regular expression"),
        ("{argv: [ls], regex: ls}", "allow[0]", "and not both"),
        ("{argv: []}", "allow[0]", "must have argv"),
        ("{argv: ['*']}", "allow[0].argv", "the program must be written out"),
        ("{argv: [git, '**', x]}", "allow[0].argv", "** may only be the last word"),
        ("{argv: git log}", "allow[0].argv", "must be a list"),
        ("{argv: [git, 5]}", "allow[0].argv[1]", "must be text"),
        ("{argv: [ls], netwrok: true}", "allow[0].netwrok", 'unknown key (did you mean "network"?)'),
        ("{argv: [ls], network: yes}", "allow[0].network", "must be true or false"),
        ("5", "allow[0]", "must be a mapping"),
        ("''", "allow[0]", "must not be empty"),
    ],
)
def test_what_is_no_allow_item(tmp_path: Path, item: str, key: str, message: str) -> None:
    """A rule that can run a command without a question is read strictly."""
    assert message in wrong(tmp_path, key, f"allow: [{item}]")


def test_expressions_are_judged_by_who_knows_them(tmp_path: Path) -> None:
    """A deny that was skipped because it did not compile once left a bot open; here it is a fault of the file."""
    path = write(tmp_path, SMALL + "tools: {exec: {deny: [ok, '('], allow: ['(', {regex: '('}]}}")
    with pytest.raises(ConfigError) as caught:
        load(path, {}, HOME, RULES, regex_problem=lambda text: "missing )" if text == "(" else None)
    assert [problem.removeprefix(f"{path}:") for problem in caught.value.problems] == [
        "4:27: tools.exec.deny[1]: is not a regular expression that RE2 reads: missing )",
        "4:41: tools.exec.allow[0]: is not a regular expression that RE2 reads: missing )",
        "4:54: tools.exec.allow[1].regex: is not a regular expression that RE2 reads: missing )",
    ]


def test_built_in_rules_are_softened_by_their_id(tmp_path: Path) -> None:
    """To a question or off; packs and the auto model are named as well."""
    found = execs(tmp_path, "builtin_deny: {ask: [files.rm-recursive], off: [host.power]}, allow_packs: [readonly]")
    assert (found.builtin_deny.ask, found.builtin_deny.off) == (("files.rm-recursive",), ("host.power",))
    assert found.allow_packs == (AllowPack.READONLY,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("files.rm-recursiv", 'no built-in rule is called "files.rm-recursiv" (did you mean "files.rm-recursive"?)'),
        ("nothing", 'no built-in rule is called "nothing"; `mtclaw policy rules` lists them'),
        ("host.fork-bomb", "host.fork-bomb is hardline: it always refuses and cannot be changed"),
        ("5", "must be the id of a built-in rule"),
    ],
)
@pytest.mark.parametrize("key", ["ask", "off"])
def test_which_built_in_rules_cannot_be_softened(tmp_path: Path, key: str, value: str, message: str) -> None:
    """Unknown ones, because the right one would stay hard in silence, and the hardline."""
    assert message in wrong(tmp_path, f"builtin_deny.{key}[0]", f"builtin_deny: {{{key}: [{value}]}}")


def test_a_rule_cannot_be_off_and_ask(tmp_path: Path) -> None:
    """One of the two must be meant."""
    message = wrong(tmp_path, "builtin_deny", "builtin_deny: {ask: [host.power], off: [host.power]}")
    assert message == "host.power stands under ask and under off"


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "IFS", "BASH_FUNC_ls", "PS4", "SHELLOPTS"])
def test_variables_that_steer_a_shell_cannot_be_handed_on(tmp_path: Path, name: str) -> None:
    """With LD_PRELOAD or BASH_ENV, ``ls`` in an allow rule is no longer ls."""
    assert name in wrong(tmp_path, "env.pass[0]", f"env: {{pass: [{name}]}}")
    assert name in wrong(tmp_path, f"env.set.{name}", f"env: {{set: {{{name}: x}}}}")


def test_the_childs_environment(tmp_path: Path) -> None:
    """Names that are passed on, and fixed values, which must be text."""
    found = execs(tmp_path, "env: {pass: [KUBECONFIG], set: {PAGER: cat}}").env
    assert (found.passed, found.set) == (("KUBECONFIG",), {"PAGER": "cat"})
    assert wrong(tmp_path, "env.set.N", "env: {set: {N: 1}}") == "must be text"


def test_secrets_reach_no_child(tmp_path: Path) -> None:
    """Neither as a fixed value in the file, nor by passing on what holds a token or key of the gateway."""
    message = wrong(tmp_path, "env.set", "env: {set: {GITHUB_TOKEN: abc}}")
    assert "GITHUB_TOKEN looks like a secret" in message
    assert "abc" not in message
    for name in ("TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY"):
        assert wrong(tmp_path, "env.pass[1]", f"env: {{pass: [X, {name}]}}") == f"{name} holds a secret of the gateway"
    text = "providers: {main: {api_key_env: MODEL}}\ntools: {exec: {env: {set: {MODEL: x}}}}"
    assert fault(tmp_path, "tools.exec.env.set.MODEL", text) == "MODEL holds a secret of the gateway"


def test_roots_in_both_shapes(tmp_path: Path) -> None:
    """A path alone may be written to; a root for reading says so."""
    found = tools(tmp_path, "{filesystem: {roots: [~/work, {path: docs, access: read}], write: ask}}").filesystem
    assert found.roots == (
        Root(path=HOME / "work", access=RootAccess.READ_WRITE),
        Root(path=tmp_path / "docs", access=RootAccess.READ),
    )
    assert found.write is WriteRule.ASK


@pytest.mark.parametrize(
    ("roots", "key", "message"),
    [
        ("[]", "roots", "must not be empty"),
        ("[{path: /x, access: write}]", "roots[0].access", "must be one of read, read-write"),
        ("[{access: read}]", "roots[0].path", "is missing"),
        ("[5]", "roots[0]", "must be a path, written as text"),
        ("~/x", "roots", "must be a list"),
    ],
)
def test_what_are_no_roots(tmp_path: Path, roots: str, key: str, message: str) -> None:
    """Where nothing is said, the workspace is the root; where something is said, it must be meant."""
    assert message in fault(tmp_path, f"tools.filesystem.{key}", f"tools: {{filesystem: {{roots: {roots}}}}}")


@pytest.mark.parametrize("key", ["denied_path", "denied_command"])
def test_what_is_denied_to_all_tools(tmp_path: Path, key: str) -> None:
    """Absolute, or from the home; never everything, and never something that depends on where one stands."""
    found = tools(tmp_path, f"{{{key}: [/srv/keys, ~/.ssh]}}")
    assert getattr(found, key) == (Path("/srv/keys"), HOME / ".ssh")
    for entry, message in (
        ("/", "/ would deny everything"),
        ("//", "/ would deny"),
        ("/x/..", "/ would deny"),
        ("keys", "must be absolute"),
        ("~bob/x", "must be absolute"),
        ("5", "must be absolute"),
    ):
        assert message in fault(
            tmp_path, f"tools.{key}[0]", f"tools: {{{key}: ['{entry}']}}" if entry != "5" else f"tools: {{{key}: [5]}}"
        )


def test_hosts_are_names_and_no_addresses(tmp_path: Path) -> None:
    """A scheme or a path in the list would never match."""
    assert tools(tmp_path, "{web_fetch: {hosts: [Docs.Example.org, '*.example.com']}}").web_fetch.hosts == (
        "docs.example.org",
        "*.example.com",
    )
    for host in ("https://x.org", "x.org/path", "x.org:80", "*", "a..b", ""):
        assert "must be a host name" in fault(
            tmp_path, "tools.web_fetch.hosts[0]", f"tools: {{web_fetch: {{hosts: ['{host}']}}}}"
        )


def test_categories_are_matched_loosely_but_none_is_invented(tmp_path: Path) -> None:
    """Case and blanks do not matter; an unknown category would never be confirmed."""
    assert execs(tmp_path, "auto: {confirm_on: [' Network', DESTRUCTIVE]}").auto.confirm_on == (
        Category.NETWORK,
        Category.DESTRUCTIVE,
    )
    message = wrong(tmp_path, "auto.confirm_on[0]", "auto: {confirm_on: [netwrok]}")
    assert message.startswith("must be one of destructive, privileged, network, secret_access")
