"""Profiles: maps merge, lists replace, what denies only grows, and every fault points at the line that holds it."""

from pathlib import Path

from tests.unit.config.sample import HOME, SMALL, fault, faults, read

BASE = """\
people: {chief: 1001}
agent: {model: m, name: Base, max_iterations: 5, system_prompt_files: [base.md]}
tools:
  exec: {mode: approval, deny: [one], allow: [ls, pwd], timeout: 10s, env: {pass: [AA], set: {X: base, Y: base}}}
  denied_path: [/srv/a]
  denied_command: [/bin/a]
channels: {telegram: {bots: {main: {token_env: A, allow_from: [chief]},
                             ops: {token_env: B, allow_from: [chief], profile: ops}}}}
"""


def test_a_profile_is_laid_over_the_top(tmp_path: Path) -> None:
    """Maps merge, lists and values replace; bots without a profile see the top alone."""
    text = """
profiles:
  ops:
    agent: {name: Ops, system_prompt_files: [ops.md]}
    tools: {exec: {mode: off, allow: [df], env: {pass: [BB], set: {X: ops}}}}
"""
    settings = read(tmp_path, BASE + text)
    ops, base = settings.profile_for("ops"), settings.profile_for("main")
    assert base is settings.base is settings.profile_for(None)
    assert (ops.agent.name, ops.agent.max_iterations) == ("Ops", 5)
    assert ops.agent.system_prompt_files == (tmp_path / "ops.md",)
    assert [item.regex for item in ops.tools.exec.allow] == ["df"]
    assert (ops.tools.exec.env.passed, ops.tools.exec.env.set) == (("BB",), {"X": "ops", "Y": "base"})
    assert (ops.tools.exec.enabled, ops.tools.exec.timeout) == (False, 10)
    assert (base.agent.name, [item.regex for item in base.tools.exec.allow]) == ("Base", ["ls", "pwd"])


def test_what_denies_only_grows(tmp_path: Path) -> None:
    """An overlay cannot take a denial away, not even with an empty list."""
    more = "{exec: {deny: [two]}, denied_path: [/srv/b], denied_command: [/bin/b]}"
    none = "{exec: {deny: []}, denied_path: [], denied_command: []}"
    settings = read(tmp_path, f"{BASE}profiles: {{ops: {{tools: {more}}}, other: {{tools: {none}}}}}")
    ops, other = settings.profiles["ops"].tools, settings.profiles["other"].tools
    assert (ops.exec.deny, other.exec.deny) == (("one", "two"), ("one",))
    assert (ops.denied_path, other.denied_path) == ((Path("/srv/a"), Path("/srv/b")), (Path("/srv/a"),))
    assert (ops.denied_command, other.denied_command) == ((Path("/bin/a"), Path("/bin/b")), (Path("/bin/a"),))


def test_built_in_rules_cannot_be_softened_in_a_profile(tmp_path: Path) -> None:
    """That is one decision for the whole host, and doctor reports it."""
    text = "profiles: {ops: {tools: {exec: {builtin_deny: {off: [host.power]}}}}}"
    message = fault(tmp_path, "profiles.ops.tools.exec.builtin_deny", text)
    assert message.startswith("a profile can only add denials")


def test_the_workspace_of_a_profile_is_its_directory_and_root(tmp_path: Path) -> None:
    """Unless the top or the profile says otherwise, in one word for all three."""
    settings = read(tmp_path, BASE + "profiles: {ops: {agent: {workspace: /srv/ops}}}")
    ops, base = settings.profiles["ops"], settings.base
    assert (ops.tools.exec.cwd, [root.path for root in ops.tools.filesystem.roots]) == (
        Path("/srv/ops"),
        [Path("/srv/ops")],
    )
    assert (base.tools.exec.cwd, base.agent.workspace) == (HOME / "mtclaw-workspace", HOME / "mtclaw-workspace")


def test_the_model_of_a_profile_classifies_too(tmp_path: Path) -> None:
    """Also where the key is written and left empty, as the original has it."""
    settings = read(tmp_path, BASE + "profiles: {ops: {agent: {model: big}, tools: {exec: {auto: {model: ''}}}}}")
    assert settings.profiles["ops"].tools.exec.auto.model == "big"
    assert settings.base.tools.exec.auto.model == "m"


def test_a_fault_of_a_profile_points_at_the_profile(tmp_path: Path) -> None:
    """And one of the top is told once, however many profiles inherit it."""
    text = "profiles:\n  ops: {tools: {exec: {timeout: 0s, deny: [two, '']}}}\n  other: {}\n"
    assert faults(tmp_path, BASE.replace("timeout: 10s", "timeout: -1") + text) == [
        "4:66: tools.exec.timeout: must be more than 0 and at most 24h",
        "10:33: profiles.ops.tools.exec.timeout: must be more than 0 and at most 24h",
        "10:49: profiles.ops.tools.exec.deny[1]: must not be empty",
    ]


def test_a_profile_is_judged_even_if_no_bot_uses_it(tmp_path: Path) -> None:
    """It would be found wrong on the day it is needed."""
    assert fault(tmp_path, "profiles.spare.agent.modell", "profiles: {spare: {agent: {modell: x}}}").startswith(
        "unknown"
    )


def test_what_is_no_profile(tmp_path: Path) -> None:
    """Only agent and tools differ between bots."""
    assert (
        fault(tmp_path, "profiles.ops.channels", "profiles: {ops: {channels: {}}}")
        == "a profile holds agent and tools only"
    )
    assert 'did you mean "tools"?' in fault(tmp_path, "profiles.ops.tool", "profiles: {ops: {tool: {}}}")
    assert fault(tmp_path, "profiles.ops", "profiles: {ops: 5}") == "must be a mapping with agent and tools"
    assert fault(tmp_path, "profiles", "profiles: [ops]") == "must be a mapping"
    assert "a name has letters" in fault(tmp_path, "profiles.a b", "profiles: {a b: {}}")


def test_a_shape_that_does_not_fit_is_a_fault_and_no_merge(tmp_path: Path) -> None:
    """A list where the top has a mapping, and the other way round."""
    assert fault(tmp_path, "profiles.ops.tools.exec", "profiles: {ops: {tools: {exec: [x]}}}") == "must be a mapping"
    assert fault(tmp_path, "tools", "tools: [exec]") == "must be a mapping"
    assert fault(tmp_path, "tools.exec", "tools: {exec: true}") == "must be a mapping"
    assert [one.split(": ", 1)[1] for one in faults(tmp_path, SMALL.replace("{model: gpt-5}", "gpt-5"))] == [
        "agent: must be a mapping"
    ]
