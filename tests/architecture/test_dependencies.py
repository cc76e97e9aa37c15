"""What is installed is what the locks say, what the locks say is enough and no more, and all of it may be used.

Everything here is judged from files and installed metadata, so that it needs no network.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageMetadata, metadata, packages_distributions, version
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.architecture.sources import ROOT, sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

BROUGHT_ALONG = {"pydantic-core": "pydantic"}
"""What is imported with a library that pins it exactly."""

NEVER_IMPORTED = {
    "sniffio": "tells httpcore its event loop at every lock; where it is missing, each asks the whole path for it, 0.1 ms",
    "tzdata": "holds the time zones of machines that have none, and is found by the standard library",
}
"""What is needed without being imported, and why."""

COMPATIBLE = {
    *("MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "PSF-2.0", "MPL-2.0", "ISC", "Unlicense"),
    *("LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "GPL-3.0-or-later"),
}
"""Licences whose works may be part of one under GPL-3.0-or-later."""

OLD_NAMES = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
}
"""Names that were used before there were expressions."""

EXCEPTED = {"regex": "CNRI-Python is the notice on the matcher that Python's own re came from; every Python carries it"}
"""Packages whose licence needs a second look, and what that look found."""


class Pin(NamedTuple):
    """A line of a lock with the hashes that follow it."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The package, as it is compared."""
        return canonicalize_name(self.requirement.name)


def pins(lock: str) -> dict[str, Pin]:
    """The packages of a lock."""
    logical = re.sub(r"\\\n", " ", (ROOT / lock).read_text())
    found = {}
    for line in logical.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pin = Pin(Requirement(line.partition("--hash")[0].strip()), tuple(re.findall(r"--hash=(\S+)", line)))
        found[pin.name] = pin
    return found


def licensed(expression: str) -> bool:
    """Whether an SPDX expression allows a use under GPL-3.0-or-later: all of an AND, any of an OR."""
    return any(
        all(term.strip(" ()") in COMPATIBLE for term in choice.split(" AND ")) for choice in expression.split(" OR ")
    )


def licence(found: PackageMetadata) -> str:
    """The licence as the package tells it, as an expression."""
    for expression in found.get_all("License-Expression") or ():
        return str(expression)
    kinds = [line.rpartition(" :: ")[2] for line in found.get_all("Classifier") or () if line.startswith("License ::")]
    names = kinds or found.get_all("License") or ["unknown"]
    return " AND ".join(OLD_NAMES.get(name, name) for name in names)


LOCKS = ("requirements.lock", "requirements-dev.lock")
both_locks = pytest.mark.parametrize("lock", LOCKS)


@both_locks
def test_every_package_is_pinned_to_hashes(lock: str) -> None:
    """No package is taken at any other version, or with any other content, than the one that was looked at."""
    loose = [
        name
        for name, pin in pins(lock).items()
        if not re.fullmatch(r"==[^*,]+", str(pin.requirement.specifier))
        or not pin.hashes
        or not all(re.fullmatch("sha256:[0-9a-f]{64}", value) for value in pin.hashes)
    ]
    assert (loose, len(pins(lock)) > 60) == ([], True)


@both_locks
def test_a_lock_names_no_place_to_fetch_from(lock: str) -> None:
    """Where packages come from is the machine's business, so a lock works behind any mirror."""
    assert re.findall(r"\S*://\S*|^\s*--(?!hash)\S+|^-\S+|@ \S+", (ROOT / lock).read_text(), re.MULTILINE) == []


def test_the_second_lock_holds_the_first() -> None:
    """Tests run with the very versions that people get."""
    first, second = pins(LOCKS[0]), pins(LOCKS[1])
    assert [name for name, pin in first.items() if second.get(name) != pin] == []


@both_locks
def test_every_declared_dependency_is_locked_within_its_bounds(lock: str) -> None:
    """The lock was made from what pyproject.toml says now."""
    declared = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["build"]]
    if lock == LOCKS[1]:
        declared += [item for item in PROJECT["dependency-groups"]["dev"] if isinstance(item, str)]
    locked = pins(lock)
    outside = []
    for requirement in map(Requirement, declared):
        pin = locked.get(canonicalize_name(requirement.name))
        pinned = str(pin.requirement.specifier).removeprefix("==") if pin else "0"
        if not requirement.specifier.contains(Version(pinned)):
            outside.append(str(requirement))
    assert outside == []


def test_what_is_installed_is_what_is_locked() -> None:
    """The environment that the tests run in is that of the lock."""
    here = [pin for pin in pins(LOCKS[1]).values() if not pin.requirement.marker or pin.requirement.marker.evaluate()]
    other = [pin.name for pin in here if f"=={version(pin.requirement.name)}" != str(pin.requirement.specifier)]
    assert other == []


def test_every_imported_library_is_declared_and_every_declared_one_is_imported() -> None:
    """Nothing is used that only happens to be there, and nothing is installed that nobody uses."""
    modules = {
        module.partition(".")[0]: module
        for source in sources()
        if source.within("mtbot/")
        for _, module in source.imports
    }
    owners = packages_distributions()
    outside = [name for name in modules if name and name not in sys.stdlib_module_names and name != "mtbot"]
    imported = {canonicalize_name(owner) for name in outside for owner in owners.get(name, (f"unknown:{name}",))}
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    undeclared = {name for name in imported - declared if BROUGHT_ALONG.get(name) not in declared}
    assert (undeclared, declared - imported - NEVER_IMPORTED.keys()) == (set(), set())


def test_every_package_of_the_first_lock_may_be_part_of_a_gpl_program() -> None:
    """The licences, as the packages tell them, go with ours."""
    here = [pin for pin in pins(LOCKS[0]).values() if not pin.requirement.marker or pin.requirement.marker.evaluate()]
    told = {pin.name: licence(metadata(pin.requirement.name)) for pin in here}
    assert {name: words for name, words in told.items() if not licensed(words)}.keys() == EXCEPTED.keys()


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        ("MIT", True),
        ("Apache-2.0 OR Proprietary", True),
        ("Apache-2.0 AND Proprietary", False),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", True),
        ("GPL-2.0-only", False),
        ("unknown", False),
    ],
)
def test_a_licence_expression_is_judged_by_its_terms(expression: str, verdict: bool) -> None:
    """An unknown licence is not taken for a good one."""
    assert licensed(expression) is verdict
