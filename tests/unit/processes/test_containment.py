"""What becomes a part, what is granted, and what never is."""

from pathlib import Path

import pytest

from mtbot.domain.process import Containment, Grants
from mtbot.processes import probe
from mtbot.processes.containment import NO_HOME, Guard, environment_for, parts_for, system_paths, without
from mtbot.processes.request import Part
from mtbot.processes.spawner.curtains import DEVICES


def guard(*own: str, closed: tuple[str, ...] = (), above: tuple[str, ...] = ()) -> Guard:
    """A guard over these paths."""
    return Guard(closed=lambda path: path in closed, above=lambda path: path in above, own=own)


def landlock(grants: Grants, guarded: Guard | None = None, system: tuple[str, ...] = ("/usr",)) -> dict[str, object]:
    """The settings of the part that confines files."""
    parts = parts_for(grants, system, "/tmp/private", guarded or guard())
    (settings,) = [part.settings for part in parts if part.name == "landlock"]
    return dict(settings)


def test_without_grants_there_is_the_system_and_a_private_directory() -> None:
    """In the order in which a process can apply them to itself."""
    assert parts_for(Grants(), ("/usr", "/bin"), "/tmp/private", guard()) == (
        Part("no_new_privs"),
        Part("limits", {"RLIMIT_CORE": 0}),
        Part("capabilities"),
        Part("landlock", {"read": ["/usr", "/bin"], "names": [], "write": [*DEVICES, "/tmp/private"]}),
        Part("seccomp", {"network": False, "attributes": False}),
    )


def test_network_and_attributes_are_for_the_filter() -> None:
    """And change nothing about files."""
    parts = parts_for(Grants(network=True, attributes=True), ("/usr",), "/tmp/private", guard())
    assert parts[-1] == Part("seccomp", {"network": True, "attributes": True})
    assert parts[:-1] == parts_for(Grants(), ("/usr",), "/tmp/private", guard())[:-1]


def test_of_what_is_looked_at_directories_are_listed_and_files_read(tmp_path: Path) -> None:
    """A directory's contents are another grant."""
    file = tmp_path / "file"
    file.write_text("")
    found = landlock(Grants(look=(str(tmp_path), str(file), "/missing"), read=("/srv/tree",), write=("/srv/out",)))
    assert found == {
        "read": ["/usr", "/srv/tree", str(file), "/missing"],
        "names": [str(tmp_path)],
        "write": [*DEVICES, "/tmp/private", "/srv/out"],
    }


@pytest.mark.parametrize("path", ["/srv/bot", "/srv/bot/db", "/srv", "/"])
def test_nothing_that_holds_own_files_is_granted(path: str) -> None:
    """Neither the files themselves, nor what lies below, nor what lies above."""
    found = landlock(Grants(read=(path,), write=(path,)), guard("/srv/bot"))
    assert found == {"read": ["/usr"], "names": [], "write": [*DEVICES, "/tmp/private"]}


def test_a_neighbour_with_a_like_name_is_granted() -> None:
    """A path is not below another one because it begins with the same letters."""
    assert landlock(Grants(read=("/srv/bot2",)), guard("/srv/bot"))["read"] == ["/usr", "/srv/bot2"]


def test_programs_come_with_what_is_installed_beside_them(tmp_path: Path) -> None:
    """Unless that is a sensitive place, or holds one."""
    for place in ("opt/bin", "home/bin", "key/bin", "plain"):
        (tmp_path / place).mkdir(parents=True)
    known = guard(above=(str(tmp_path / "home"),), closed=(str(tmp_path / "key"),))
    programs = tuple(str(tmp_path / place) for place in ("opt/bin", "home/bin", "key/bin", "plain"))
    assert landlock(Grants(programs=programs), known)["read"] == [
        "/usr",
        str(tmp_path / "opt/bin"),
        str(tmp_path / "opt"),
        str(tmp_path / "home/bin"),
        str(tmp_path / "key/bin"),
        str(tmp_path / "plain"),
    ]


def test_a_repository_is_readable_from_anywhere_in_it(tmp_path: Path) -> None:
    """Its top is what git looks for upwards; a guarded one is not granted, and no repository grants nothing."""
    inner = tmp_path / "top" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "top" / ".git").mkdir()
    grants = Grants(repository=str(inner))
    assert landlock(grants)["read"] == ["/usr", str(tmp_path / "top")]
    assert landlock(grants, guard(above=(str(tmp_path / "top"),)))["read"] == ["/usr"]
    assert landlock(Grants(repository="/"))["read"] == ["/usr"]


def test_a_linked_work_tree_comes_with_its_git_directory(tmp_path: Path) -> None:
    """And a pointer that leads to something else leads nowhere."""
    common = tmp_path / "main" / ".git"
    home = common / "worktrees" / "side"
    home.mkdir(parents=True)
    (common / "objects").mkdir()
    for place in (home, common):
        (place / "HEAD").write_text("ref: refs/heads/main\n")
    (home / "commondir").write_text("../..\n")
    side, planted = tmp_path / "side", tmp_path / "planted"
    for place, target in ((side, home), (planted, tmp_path)):
        place.mkdir()
        (place / ".git").write_text(f"gitdir: {target}\n")
    assert landlock(Grants(repository=str(side)))["read"] == ["/usr", str(side), str(home), str(common)]
    assert landlock(Grants(repository=str(planted)))["read"] == ["/usr", str(planted)]


def test_own_files_inside_a_system_directory_are_cut_out(tmp_path: Path) -> None:
    """What lies beside them stays readable."""
    for name in ("a", "b/own", "b/other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert sorted(without(str(tmp_path), [str(tmp_path / "b/own")])) == [str(tmp_path / "a"), str(tmp_path / "b/other")]
    assert without(str(tmp_path), [str(tmp_path)]) == without(str(tmp_path / "a"), [str(tmp_path)]) == []
    assert without(str(tmp_path), ["/elsewhere"]) == [str(tmp_path)]


def test_neither_home_nor_passwords_belong_to_the_system() -> None:
    """Of /etc it is a list of names, and nothing above HOME or mtclaw's own directories is in it."""
    paths = system_paths(guard())
    assert not {"/", "/etc", "/home", "/root", "/var", "/var/lib", "/run", "/dev", "/tmp", "/opt", "/sys"} & set(paths)
    assert not [path for path in paths if path.startswith(("/etc/shadow", "/etc/ssh", "/etc/sudoers", "/root/"))]


def test_the_environment_has_a_private_directory_and_no_settings_of_home() -> None:
    """What a rule forces stays forced."""
    forced = {"GIT_CONFIG_NOSYSTEM": "0", "TMPDIR": "/tmp", "A": "b"}
    assert environment_for(forced, "/tmp/p") == {**NO_HOME, "GIT_CONFIG_NOSYSTEM": "0", "TMPDIR": "/tmp/p", "A": "b"}


@pytest.mark.parametrize("name", probe.FILES)
def test_one_way_to_a_file_is_one_too_many(name: str) -> None:
    """Each attempt counts against its own kind."""
    found = probe.read_answer(f'{{"allowed": true, "made": ["{name}"]}}', "")
    assert found == Containment(network=True, signals=True, missing=(probe.FILES[name],))
    assert not found.ready


@pytest.mark.parametrize("name", probe.NETWORK)
def test_one_way_out_is_one_too_many(name: str) -> None:
    """Without the network part nothing is called contained."""
    found = probe.read_answer(f'{{"allowed": true, "made": ["{name}"]}}', "")
    assert (found.files, found.network, found.signals, found.ready) == (True, False, True, False)


def test_signals_are_not_needed() -> None:
    """An older kernel cannot scope them; that is said, and commands are contained all the same."""
    found = probe.read_answer('{"allowed": true, "made": ["signal"]}', "")
    assert found == Containment(files=True, network=True, missing=(probe.SIGNALS["signal"],))
    assert found.ready


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("", "cannot start: LandlockMissing"),
        ("Traceback", "cannot start: LandlockMissing"),
        ("[]", "cannot start: LandlockMissing"),
        ('{"made": []}', "cannot start: LandlockMissing"),
        ('{"allowed": false, "made": []}', "a contained command could not do what it was granted"),
    ],
)
def test_without_a_whole_answer_nothing_holds(output: str, missing: str) -> None:
    """A probe that did not run has proved nothing."""
    found = probe.read_answer(output, "cannot start: LandlockMissing")
    assert found == Containment(missing=(missing,), no_bubblewrap=(missing,))
    assert not found.ready
