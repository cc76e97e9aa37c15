"""No test sees a person's home, or a variable that could hold a secret."""

import os
import pwd
import time
from pathlib import Path

from tests.surroundings import kept


def test_a_test_has_an_empty_home_of_its_own(home: Path) -> None:
    """HOME is a fresh directory, and it is where Python looks too."""
    assert (Path.home(), os.environ["HOME"], list(home.iterdir())) == (home, str(home), [])


def test_the_home_is_not_that_of_the_person_who_runs_the_tests(home: Path) -> None:
    """The home of the account is somewhere else."""
    real = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    assert home.resolve() != real


def test_only_names_that_are_known_to_be_harmless_are_kept() -> None:
    """What is not named is dropped, whatever its name looks like; language and time zone are the same everywhere."""
    harmless = {"PATH": "/bin", "CI": "true", "PYTEST_XDIST_WORKER": "gw0"}
    dropped = (
        "HOME",
        "OPENAI_API_KEY",
        "MTCLAW_CONFIG",
        "TELEGRAM_BOT_TOKEN",
        "https_proxy",
        "LC_ALL",
        "XPATH",
        "CITY",
    )
    found = kept(harmless | dict.fromkeys((*dropped, "TZ", "LANG"), "x"))
    assert found == harmless | {"LANG": "C.UTF-8", "TZ": "UTC"}


def test_the_tests_run_in_these_surroundings() -> None:
    """The process itself holds nothing else than what may be kept, and its clock is on UTC."""
    assert (kept(os.environ).keys() | {"HOME"}, time.tzname) == (set(os.environ), ("UTC", "UTC"))
