"""What a call touches, as policy names it."""

import pytest

from mtbot.policy.effects import MAX_SCRIPTS, PathWant, host_of, prepare
from mtbot.policy.readonly import PACKS
from mtbot.policy.ruleset import RuleSet
from tests.unit.policy.calls import FETCH, READ, WRITE, call_of, prepared_of


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("sh x.sh", ("x.sh",)),
        ("bash -x x.sh arg", ("x.sh",)),
        ("python3 y.py", ("y.py",)),
        ("python3 -W ignore y.py", ("y.py",)),
        ("python3.11 y.py", ("y.py",)),
        ("./z", ("./z",)),
        ("/srv/wiki/deploy.sh", ("/srv/wiki/deploy.sh",)),
        ("source env.sh", ("env.sh",)),
        (". env.sh", ("env.sh",)),
        ("python3 -c 'print(1)'", ()),
        ("python3 -m http.server", ()),
        ("bash", ()),
        ("source", ()),
        ("bash -e x.sh", ("x.sh",)),
        ("sh -ex x.sh", ("x.sh",)),
        ("bash -p x.sh", ("x.sh",)),
        ("bash -o pipefail -m x.sh", ("x.sh",)),
        ("bash -s x.sh", ()),
        ("bash < x.sh", ("x.sh",)),
        ("python3 - < y.py", ("y.py",)),
        ("bash -c 'sh -e x.sh'", ("x.sh",)),
        ("$X y.py", ()),
        ("ls a b", ()),
    ],
)
def test_script_operands_are_found(command: str, scripts: tuple[str, ...]) -> None:
    """What is bound by content is what the program would read as code."""
    assert prepared_of(command).wants.scripts == scripts


def test_programs_whose_input_cannot_be_fixed_are_named() -> None:
    """The question says what a yes does not bind."""
    assert prepared_of("make test && npm run build").wants.unbound == ("make", "npm")


@pytest.mark.parametrize(
    ("command", "unbound"),
    [
        ("cat x.sh | bash", ("bash",)),
        ("echo ls | bash", ()),
        ("python3 -m tool", ("python3",)),
        ("bash $X/x.sh", ("bash",)),
        ("cd sub; bash x.sh", ("bash",)),
        ("(cd sub; ./x)", ("x",)),
        ("cd sub; bash /srv/x.sh", ()),
        ("cd sub && bash x.sh", ()),
        ("env -C sub bash x.sh", ("bash",)),
        ("env A=b bash x.sh", ()),
    ],
)
def test_a_script_that_cannot_be_found_for_sure_is_named(command: str, unbound: tuple[str, ...]) -> None:
    """What comes through a pipe, by a name that only the shell knows, or from another directory, is not bound."""
    assert prepared_of(command).wants.unbound == unbound


def test_only_so_many_scripts_are_bound() -> None:
    """A command cannot make the gate read without end."""
    command = "; ".join(f"sh s{number}.sh" for number in range(MAX_SCRIPTS + 5))
    wants = prepared_of(command).wants
    assert len(wants.scripts) == MAX_SCRIPTS
    assert wants.unbound == tuple(f"s{number}.sh" for number in range(MAX_SCRIPTS, MAX_SCRIPTS + 4))


def test_a_text_that_is_too_long_is_not_read() -> None:
    """There is nothing to look up and nothing to show."""
    prepared = prepared_of("x" * 70_000)
    assert (prepared.readings, prepared.commands, prepared.second_reading) == (None, (), None)


def test_denied_paths_make_every_word_a_look_up() -> None:
    """Any word may lead there, a redirect's too."""
    rules = RuleSet(denied_paths=("/srv/vault",))
    assert set(prepared_of("cat a > b", rules).wants.paths) == {"cat", "a", "b"}


def test_the_packs_operands_are_looked_up() -> None:
    """Recursive readers also need what lies below."""
    wants = prepared_of("cd sub && grep -r x lib", RuleSet(allow=PACKS["readonly"])).wants
    assert wants.directory == "sub"
    assert "lib" in wants.paths
    assert "lib" in wants.trees


def test_commands_are_the_literal_words_or_what_the_readings_show() -> None:
    """Outside the subset the readings speak."""
    assert prepared_of("ls 'a b'").commands == (("ls", "a b"),)
    assert prepared_of("ls *.x").commands == (("ls", "*.x"),)


def test_the_second_reading_is_bashlexs_where_it_is_plain() -> None:
    """Anything but plain commands has none."""
    assert prepared_of("ls -l; pwd").second_reading == (("ls", "-l"), ("pwd",))
    assert prepared_of("(ls)").second_reading is None


def test_path_arguments_become_targets() -> None:
    """With what is done there; a missing one is none."""
    assert prepare(call_of("read_file", {"path": "a"}), READ, RuleSet()).wants.targets == (PathWant("a", write=False),)
    assert prepare(call_of("write_file", {"path": "a"}), WRITE, RuleSet()).wants.targets == (PathWant("a", write=True),)
    assert prepare(call_of("read_file", {}), READ, RuleSet()).wants.targets == ()
    assert prepare(call_of("web_fetch", {"url": "u"}), FETCH, RuleSet()).commands == ()


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://Example.ORG/x", "example.org"), ("nonsense", ""), ("http://[::1", ""), ("", "")],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    """Lower case, and never an exception."""
    assert host_of(url) == host
