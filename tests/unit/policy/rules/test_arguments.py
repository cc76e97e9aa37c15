"""How rules read a command's words."""

import pytest

from mtbot.policy.reading_values import SimpleCommand, Word
from mtbot.policy.rules import arguments


def test_letters_come_from_clusters_and_stop_at_the_double_dash() -> None:
    """Every letter of every cluster counts, wherever it stands; behind `--` there are only operands."""
    assert arguments.letters(("-vr", "x", "-f", "--", "-z")) == {"v", "r", "f"}


def test_a_letter_with_a_value_takes_the_rest_of_its_cluster_or_the_next_word() -> None:
    """`-of` is one option with the value `f`, and the word behind `-o` is no cluster."""
    assert arguments.letters(("-of", "-o", "-f", "-q"), "o") == {"o", "q"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--recursive",), True),
        (("--recur",), True),
        (("--recursive=x",), True),
        (("--",), False),
        (("--", "--recursive"), False),
        (("--recursively",), False),
        (("--re",), True),
    ],
)
def test_long_options_may_be_abbreviated(given: tuple[str, ...], expected: bool) -> None:
    """GNU programs take any unambiguous beginning of a long option."""
    assert arguments.has_long(given, "--recursive") is expected


def test_operands_leave_out_options_and_their_values() -> None:
    """What is behind `--` is an operand even when it begins with a dash."""
    assert arguments.operands(("-t", "ext4", "a", "-", "--", "-b"), "t") == ["a", "-", "-b"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("//dev//sda/", "/dev/sda"),
        ("/dev/../dev/./sda", "/dev/sda"),
        ("/../..", "/"),
        ("~/x/..", "~"),
        ("a/../..", ".."),
        ("x", "x"),
        ("./", "."),
    ],
)
def test_a_path_loses_what_does_not_change_it(word: str, expected: str) -> None:
    """Doubled slashes and dots are no way around a rule about a place."""
    assert arguments.path(word) == expected


@pytest.mark.parametrize(
    "word", ["/", "//", "/*", "/.*", "~", "~/*", "~deploy", "/home/deploy/", "/etc/*", "/usr/lib", "/tmp/.."]
)
def test_roots_and_homes_are_roots(word: str) -> None:
    """Top directories, whole homes, and everything in one of them."""
    assert arguments.is_root(word)


@pytest.mark.parametrize("word", ["/tmp/x", "/home/deploy/x", "~/x", "etc", "/etc/nginx", "/var/tmp/*", "./*", "*"])
def test_what_lies_in_them_is_no_root(word: str) -> None:
    """A directory of one's own is not a root."""
    assert not arguments.is_root(word)


@pytest.mark.parametrize(
    "word",
    ["/dev/sda", "/dev/sda1", "/dev/nvme0n1", "/dev/mapper/data", "/dev/mem", "//dev/./vdb", "/dev/disk/by-id/x"],
)
def test_disks_volumes_and_memory_are_devices(word: str) -> None:
    """Writing to one of these overwrites what it holds."""
    assert arguments.is_device(word)


@pytest.mark.parametrize(
    "word", ["/dev/null", "/dev/stdout", "/dev/tty", "/dev/shm/x", "/dev/fd/3", "dev/sda", "/dev/random"]
)
def test_harmless_devices_are_none(word: str) -> None:
    """The devices that everyday commands write to."""
    assert not arguments.is_device(word)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("tee -a t", True),
        ("dd if=t of=t", True),
        ("dd if=t of=x", False),
        ("sed -i s/a/b/ t", True),
        ("sed --in-place s/a/b/ t", True),
        ("sed s/a/b/ t", False),
        ("sqlite3 t", True),
        ("sqlite3 -readonly t", False),
        ("cp t x", False),
        ("cp x t", True),
        ("mv t x", True),
        ("cat t", False),
    ],
)
def test_only_a_file_that_is_changed_is_written(argv: str, expected: bool) -> None:
    """Reading from a place is not writing to it."""
    command = SimpleCommand(tuple(Word(word) for word in argv.split()))
    assert arguments.writes(command, lambda word: word == "t") is expected
