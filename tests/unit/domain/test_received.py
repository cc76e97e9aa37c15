"""Names that files are kept under, and sizes in words."""

import pytest

from mtbot.domain.received import LONGEST_NAME, kept_name, numbered, size_text

DAY = "2026-11-30"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "20261130-report.pdf"),
        ("Übersicht Q3 (final).xlsx", "20261130-Übersicht_Q3_final_.xlsx"),
        ("../../.ssh/authorized_keys", "20261130-authorized_keys"),
        ("C:\\Users\\me\\notes.txt", "20261130-notes.txt"),
        (".env", "20261130-env"),
        ("-rf", "20261130-rf"),
        ("$(reboot).sh", "20261130-reboot_.sh"),
        ("a\nb\u202egnp.exe", "20261130-a_b_gnp.exe"),
        ("", "20261130-file"),
        ("...", "20261130-file"),
        ("/", "20261130-file"),
        ("u\u0308.txt", "20261130-ü.txt"),
    ],
)
def test_a_name_is_safe_wherever_it_is_used(sent: str, kept: str) -> None:
    """Not hidden, not an option, no path, nothing that a shell or a reader takes for something else."""
    assert kept_name(sent, DAY) == kept


def test_a_long_name_keeps_its_suffix() -> None:
    """And fits into every file system, also counted in bytes of UTF-8."""
    name = kept_name("x" * 500 + ".tar.gz", DAY)
    assert (len(name), name.endswith(".gz")) == (LONGEST_NAME + 9, True)
    assert len(kept_name("ü" * 500, DAY).encode()) < 255
    assert len(kept_name("a." + "b" * 500, DAY)) == LONGEST_NAME + 9


def test_numbers_go_before_the_suffix() -> None:
    """The first one has none."""
    assert [numbered("a.pdf", 1), numbered("a.pdf", 2), numbered("a", 3)] == ["a.pdf", "a-2.pdf", "a-3"]


def test_sizes_in_words() -> None:
    """In the largest unit that fits."""
    assert [size_text(17), size_text(12_345), size_text(25_000_000)] == ["17 bytes", "12.3 kB", "25.0 MB"]
