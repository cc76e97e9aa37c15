"""The example file and the reference page, both made from the sections, so that neither can tell of a key wrongly.

``python -m mtbot.config.reference --write`` puts them in place, ``--check`` fails where they are out of date.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from mtbot.config.channels import Approvers, BotSettings
from mtbot.config.faults import element_of, section_of
from mtbot.config.reference_text import ENTRY_NAMES, EXAMPLES, INTRODUCTION, PROFILE_NOTE, SHORT_NOTES
from mtbot.config.service import ProviderSettings
from mtbot.config.settings import Profile, Top
from mtbot.config.values import Kind, Rule, Section

EXAMPLE = Path("config/mtclaw.example.yaml")
PAGE = Path("docs/configuration.md")


@dataclass(frozen=True, slots=True)
class Row:
    """One key of the reference page."""

    key: str
    default: str
    rule: str
    says: str


def rows(section: type[Section] = Top, prefix: str = "") -> Iterator[Row]:
    """Every key below a section, in the order of the file; named entries stand as NAME, list items as []."""
    for name, info in section.model_fields.items():
        key = f"{prefix}{info.alias or name}"
        inner, below = nested(info)
        if inner is None:
            yield Row(key, default_text(info), rule_text(info), info.description or "")
        elif inner is Profile:
            yield Row(f"{key}.NAME", "{}", "mapping with agent and tools", info.description or "")
        else:
            if info.description:
                yield Row(key, default_text(info), rule_text(info), info.description)
            yield from rows(inner, f"{key}{below}.")


def nested(info: FieldInfo) -> tuple[type[Section] | None, str]:
    """The section that a key holds, and how its entries are named: ``.NAME`` in a mapping, ``[]`` in a list."""
    if any(isinstance(one, Rule) for one in info.metadata):
        return None, ""
    found = section_of(info.annotation)
    if found:
        return found, ""
    return section_of(element_of(info.annotation)), ".NAME" if get_origin(info.annotation) is Mapping else "[]"


def default_text(info: FieldInfo) -> str:
    """The default as it would be written in the file; ``required`` where there is none."""
    extra = info.json_schema_extra
    if isinstance(extra, dict) and "implied" in extra:
        return str(extra["implied"])
    return "required" if info.default is PydanticUndefined else spell(info.default)


def spell(value: object) -> str:
    """A value as one piece of flow-style YAML."""
    if isinstance(value, Approvers):
        return value.who.value
    if value is None or value == "":
        return '""' if value == "" else "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(spell(item) for item in value) + "]"
    if isinstance(value, Enum):
        return str(value.value)
    return str(value)


def rule_text(info: FieldInfo) -> str:
    """What the value of a key must be."""
    return _told(info.metadata) or _annotation_text(info.annotation)


def _told(metadata: Iterable[object]) -> str:
    """The words of the outermost rule among the annotations of a type."""
    texts = [one.text for one in metadata if isinstance(one, Rule | Kind)]
    return texts[-1] if texts else ""


def _annotation_text(annotation: object) -> str:
    told = _told(getattr(annotation, "__metadata__", ()))
    if told:
        return told
    if section_of(annotation):
        return "mapping with the keys below"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(one.value) for one in annotation)
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(str(one) for one in inside)
    if origin is tuple:
        return f"list: {_annotation_text(inside[0])}"
    if origin is Mapping:
        value = "the keys below" if section_of(inside[1]) else _annotation_text(inside[1])
        return f"mapping: {_annotation_text(inside[0])} → {value}"
    present = [one for one in inside if one is not type(None)]
    if present:
        return _annotation_text(present[0])
    return "whole number" if annotation is int else "text"


# --- the page


def page() -> str:
    """docs/configuration.md."""
    parts = [INTRODUCTION]
    for name, info in Top.model_fields.items():
        inner, _ = nested(info)
        if inner is None or inner is Profile:
            continue
        parts.append(f"## {name}\n\n{_first_line(inner)}\n")
        if name == "providers":
            parts.append(SHORT_NOTES["openai"])
            parts.append(_table(rows(ProviderSettings, "openai.")))
        if name == "channels":
            parts.append(SHORT_NOTES["telegram"])
            parts.append(_table(rows(BotSettings, "channels.telegram.")))
        if name == "storage":
            parts.append(SHORT_NOTES["storage"])
        parts.append(_table(row for row in rows() if row.key.split(".")[0].removesuffix("[]") == name))
    top = [row for row in rows() if "." not in row.key]
    parts.insert(1, "## At the top\n\n" + _table(row for row in top if row.key in {"version", "people", "owner"}))
    parts.insert(2, f"## profiles\n\n{PROFILE_NOTE}")
    return "\n".join(parts)


def _first_line(section: type[Section]) -> str:
    return (section.__doc__ or "").splitlines()[0].replace("``", "`")


def _table(found: Iterator[Row]) -> str:
    lines = ["| Key | Default | Rule | Meaning |", "|---|---|---|---|"]
    for row in found:
        default = row.default if row.default in {"required", "unset"} else f"`{row.default}`"
        lines.append(f"| `{row.key}` | {default} | {_cell(row.rule)} | {_cell(row.says)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


# --- the example


def example() -> str:
    """config/mtclaw.example.yaml: loads as it is; a line that begins with ``#key`` shows a default."""
    lines = [
        '# An example configuration. Lines such as "#key: value" show the default; take the # away to change one.',
        "# What each key means is told in docs/configuration.md. Unknown keys are errors.",
    ]
    for name, info in Top.model_fields.items():
        lines += ["", *_lines(name, info, "", 0)]
    return "\n".join(lines) + "\n"


def _lines(name: str, info: FieldInfo, prefix: str, depth: int) -> list[str]:
    key = f"{prefix}{info.alias or name}"
    label = info.alias or name
    indent = "  " * depth
    inner, _ = nested(info)
    told = info.description or (_first_line(inner) if inner else "")
    prose = [f"{indent}# {told}"] if told else []
    if key in EXAMPLES:
        given = [f"#{indent}{x[1:]}" if x.startswith("#") else f"{indent}{x}" for x in EXAMPLES[key].splitlines()]
        return [*prose, *given] if given else []
    if info.exclude:
        return []
    if inner is None or (nested(info)[1] and key not in ENTRY_NAMES):
        return [*prose, f"#{indent}{label}: {default_text(info)}"]
    return _section_lines(prose, label, key, inner, depth)


def _section_lines(prose: list[str], label: str, key: str, inner: type[Section], depth: int) -> list[str]:
    """A section, or one sample entry of a mapping; without any line in force its head is a comment too."""
    indent = "  " * depth
    heads = [f"{indent}{label}:"]
    below, prefix = depth + 1, f"{key}."
    if key in ENTRY_NAMES:
        heads.append(f"{indent}  {ENTRY_NAMES[key]}:")
        below += 1
    body = [line for name, info in inner.model_fields.items() for line in _lines(name, info, prefix, below)]
    in_force = any(not line.lstrip().startswith("#") for line in body)
    return [*prose, *(heads if in_force else [f"#{head}" for head in heads]), *body]


def main(arguments: list[str]) -> int:
    """``--write`` or ``--check``, in the top directory of the project."""
    made = {EXAMPLE: example(), PAGE: page()}
    if arguments == ["--write"]:
        for path, text in made.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    if arguments != ["--check"]:
        sys.stderr.write("usage: python -m mtbot.config.reference --write | --check\n")
        return 2
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stderr.write(f"{path} is out of date: run python -m mtbot.config.reference --write\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
