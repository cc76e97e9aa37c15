"""The tests mirror the product, and every directory of Python files is a package."""

from pathlib import PurePosixPath

from tests.architecture.sources import ROOT, sources


def test_every_directory_of_the_product_and_of_the_tests_is_a_package() -> None:
    """Two test files of one name in two directories stay two modules."""
    places = {PurePosixPath(source.path).parent for source in sources() if source.within("mtbot/", "tests/")}
    assert [str(place) for place in sorted(places) if not (ROOT / place / "__init__.py").is_file()] == []


def test_unit_tests_lie_where_what_they_test_lies() -> None:
    """Each directory below tests/unit is one of mtbot, and each test file begins with the name of a file there
    or of the directory.
    """
    strays = []
    for source in sources():
        path = PurePosixPath(source.path)
        if not source.within("tests/unit/") or not path.name.startswith("test_"):
            continue
        place = ROOT / "mtbot" / path.parent.relative_to("tests/unit")
        subjects = {item.stem for item in place.glob("*") if item.suffix == ".py" or item.is_dir()} | {place.name}
        name = path.stem.removeprefix("test_")
        if not any(name == subject or name.startswith(f"{subject}_") for subject in subjects):
            strays.append(source.path)
    assert strays == []


def test_test_modules_have_tests_in_them() -> None:
    """A file that is named as a test holds at least one."""
    empty = [
        source.path
        for source in sources()
        if PurePosixPath(source.path).name.startswith("test_") and "def test_" not in source.text
    ]
    assert empty == []
