"""What CONTRIBUTING and its neighbours say of the project's files and verbs is so."""

import re

import pytest

from tests.architecture.size_rules import CLASS, CONSTRUCTOR, FILE, FUNCTION
from tests.architecture.sources import ROOT
from tests.architecture.test_house import PROMISED

TEXTS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
RECIPES = ("A tool", "A deny rule", "A doctor check", "A configuration key", "A CLI verb")


def text(name: str) -> str:
    """A text of the project."""
    return (ROOT / name).read_text()


def recipes() -> dict[str, list[str]]:
    """The recipes of CONTRIBUTING with the paths that they say to touch, in order."""
    part = text("CONTRIBUTING.md").partition("## Adding things")[2].partition("\n## ")[0]
    sections = re.split(r"^### ", part, flags=re.MULTILINE)[1:]
    return {section.partition("\n")[0]: re.findall(r"^\d\. `([^`]+)`", section, re.MULTILINE) for section in sections}


def test_there_is_a_recipe_for_each_thing_and_it_touches_at_most_three_files() -> None:
    """Adding is short, and told."""
    told = recipes()
    assert (tuple(told), [name for name, paths in told.items() if not 2 <= len(paths) <= 3]) == (RECIPES, [])


@pytest.mark.parametrize("name", RECIPES)
def test_the_files_of_a_recipe_are_there(name: str) -> None:
    """A path with a blank in it has files of that shape, any other path is a file or a directory."""
    absent = [path for path in recipes()[name] if not any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))]
    assert absent == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_path_and_link_leads_somewhere(name: str) -> None:
    """Files that a text names exist."""
    named = re.findall(r"`((?:mtbot|tests|docs|migrations|\.ci)/[\w./-]+)`", text(name))
    named += re.findall(r"\]\((?!https?:)([^)#]+)\)", text(name))
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_make_verb_is_one(name: str) -> None:
    """A command in a text is a command that there is."""
    assert set(re.findall(r"`make (\w+)`", text(name))) <= set(PROMISED)


def test_the_names_that_the_recipes_speak_of_are_in_the_code() -> None:
    """What has to be added to has that name there."""
    places = {
        "mtbot/bootstrap/profiles.py": "def _tools(",
        "mtbot/doctor/checks.py": "CHECKS: tuple",
        "mtbot/cli/main.py": "VERBS: tuple",
        "mtbot/storage/schema.py": "REVISIONS = (",
    }
    assert [path for path, name in places.items() if name not in text(path)] == []


def test_the_size_limits_are_those_that_are_held() -> None:
    """CONTRIBUTING tells the numbers of the rules."""
    told = f"A file has at most {FILE} lines, a function {FUNCTION}, a class {CLASS}, a constructor {CONSTRUCTOR} arguments."
    assert told in " ".join(text("CONTRIBUTING.md").split())
