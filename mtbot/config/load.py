"""From a file to Settings: find it, read it, judge it as a whole, and report every fault with its line.

There are no fallbacks: a file with a fault is not used in part, and the last good one is not used instead.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from mtbot.config.budgets import BudgetSettings
from mtbot.config.channels import BotSettings, ChannelsSettings
from mtbot.config.checks import Parts, ScheduleProblem, check
from mtbot.config.faults import empty_values, judge
from mtbot.config.limits import LimitSettings
from mtbot.config.overlay import Rewrite, profile_tree, short_forms, table
from mtbot.config.problems import Problem, nearest, render_all
from mtbot.config.regular_file import NotReadable, read_regular
from mtbot.config.service import (
    AuditSettings,
    CronSettings,
    ElevationSettings,
    LogSettings,
    ProviderSettings,
    StorageSettings,
)
from mtbot.config.settings import Profile, Settings, Top
from mtbot.config.values import Frame, Section, person_id, valid_name
from mtbot.config.yaml_marks import Entry, Table, parse, plain
from mtbot.config.zones import find_zone
from mtbot.domain.errors import ConfigError
from mtbot.domain.ids import UserId

S = TypeVar("S", bound=Section)

MAX_FILE_BYTES = 1024 * 1024
VARIABLE = "MTCLAW_CONFIG"
TOP_KEYS = (*Top.model_fields, *Top.short_form)


class Source(StrEnum):
    """What named the file."""

    FLAG = "flag"
    ENV = "env"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Located:
    """Which file holds the configuration (it need not exist), and what named it."""

    path: Path
    source: Source
    warnings: tuple[str, ...] = ()


def locate(flag: str | None, environ: Mapping[str, str], home: Path) -> Located:
    """The file of ``--config``, else of ``MTCLAW_CONFIG``, else ``~/.mtclaw/config.yaml`` (or ``.yml`` there)."""
    if flag is not None:
        return Located(_named(flag, home), Source.FLAG)
    if environ.get(VARIABLE):
        return Located(_named(environ[VARIABLE], home), Source.ENV)
    yaml_file, yml_file = home / ".mtclaw" / "config.yaml", home / ".mtclaw" / "config.yml"
    if not yml_file.exists():
        return Located(yaml_file, Source.DEFAULT)
    if not yaml_file.exists():
        return Located(yml_file, Source.DEFAULT)
    return Located(yaml_file, Source.DEFAULT, (f"both {yaml_file} and {yml_file} exist; {yaml_file.name} is used",))


def _named(text: str, home: Path) -> Path:
    if not text:
        raise ConfigError(("--config: must name a file",))
    path = home / text[2:] if text.startswith("~/") else Path(text)
    return Path(os.path.normpath(path.absolute()))


def load(
    path: Path,
    environ: Mapping[str, str],
    home: Path,
    known_rules: Mapping[str, bool],
    *,
    regex_problem: Callable[[str], str | None] | None = None,
    schedule_problem: ScheduleProblem | None = None,
) -> Settings:
    """Read and resolve the configuration. ConfigError holds every fault, each as ``file:line:column: key: message``.

    ``known_rules`` maps the ids of built-in deny rules to whether they are hardline. ``regex_problem`` and
    ``schedule_problem`` judge what other rooms know: an expression, and a schedule in a zone.
    """
    try:
        text = read_regular(path, MAX_FILE_BYTES).content.decode()
    except NotReadable as error:
        hint = "run `mtclaw onboard` to make one" if "does not exist" in str(error) else ""
        raise ConfigError((f"{path}: {error}",), hint=hint) from error
    except UnicodeDecodeError as error:
        raise ConfigError((f"{path}: is not UTF-8 text (byte {error.start})",)) from error
    tree, problems = parse(text)
    if tree is None:
        raise ConfigError(render_all(str(path), problems))
    reader = _Reader(path, Frame(path.parent, home, {}, known_rules, regex_problem), short_forms(tree))
    reader.problems += [*problems, *empty_values(tree)]
    settings = reader.settings(environ, schedule_problem)
    if settings is None:
        raise ConfigError(render_all(str(path), reader.problems))
    return settings


def _shell_warnings(profiles: Mapping[str | None, Profile]) -> Iterator[str]:
    """A login or interactive shell reads start-up files, which then decide what an approved command means."""
    for name, profile in profiles.items():
        if name is not None and profile.tools.exec.shell == profiles[None].tools.exec.shell:
            continue
        if any(
            flag in {"--login", "-i"} or re.fullmatch(r"-[a-z]*l[a-z]*", flag) for flag in profile.tools.exec.shell[1:]
        ):
            where = f"profiles.{name}." if name else ""
            yield f"{where}tools.exec.shell is a login shell: its start-up files can change what a command means"


class _Reader:
    """One reading of one file; collects problems until all that can be judged has been."""

    def __init__(self, file: Path, frame: Frame, rewrite: Rewrite) -> None:
        self.file = file
        self.root = rewrite.root
        self.shared = rewrite.shared
        self.warnings = tuple(rewrite.warnings)
        self.problems = list(rewrite.problems)
        people = self._people()
        self.people = {name: UserId(one) for name, one in people.items() if one}
        self.frame = Frame(frame.directory, frame.home, people, frame.rules, frame.regex_problem)

    def settings(self, environ: Mapping[str, str], schedule_problem: ScheduleProblem | None) -> Settings | None:
        """The settings, or None if there is any problem."""
        self._top_keys()
        if self.shared is not None:
            self.problems += judge(BotSettings, self.shared, self.frame)[1]
        channels = self._section("channels", ChannelsSettings)
        cron = self._section("cron", CronSettings)
        storage = self._section("storage", StorageSettings)
        log = self._section("log", LogSettings)
        audit = self._section("audit", AuditSettings)
        elevation = self._section("elevation", ElevationSettings)
        budgets = self._section("budgets", BudgetSettings)
        limits = self._section("limits", LimitSettings)
        zone = find_zone(cron.timezone, environ) if cron else None
        parts = Parts(
            self.root,
            people=self.people,
            owner=self._owner(),
            providers=self._providers(),
            channels=channels,
            cron=cron,
            storage=storage,
            log=log,
            audit=audit,
            elevation=elevation,
            profiles=self._profiles(),
            zone=zone,
            schedule_problem=schedule_problem,
        )
        self.problems += check(parts)
        if self.problems or None in (channels, cron, storage, log, audit, elevation, budgets, limits, zone):
            return None
        assert channels and cron and storage and log  # noqa: PT018 - one fact, stated for the type checker
        assert audit and elevation and budgets and limits and zone  # noqa: PT018 - as above
        profiles = {name: profile for name, (profile, _) in parts.profiles.items()}
        return Settings(
            file=self.file,
            people=parts.people,
            owner=parts.owner,
            base=profiles[None],
            profiles={name: profile for name, profile in profiles.items() if name is not None},
            providers=parts.providers,
            channels=channels,
            cron=cron,
            storage=storage,
            log=log,
            audit=audit,
            elevation=elevation,
            budgets=budgets,
            limits=limits,
            zone=zone,
            warnings=(*self.warnings, *_shell_warnings(profiles)),
        )

    def _section(self, key: str, model: type[S]) -> S | None:
        node = self.root.get(key)
        section, problems = judge(model, table(node, (key,)) if node is None else node, self.frame)
        self.problems += problems
        return section

    def _top_keys(self) -> None:
        for key, entry in self.root.entries.items():
            if key not in TOP_KEYS:
                message = f"unknown key{nearest(key, TOP_KEYS) or '; known here: ' + ', '.join(TOP_KEYS)}"
                self.problems.append(Problem(entry.key_place, (key,), message))
        version = self.root.get("version")
        if version is not None and plain(version) != 1:
            self.problems.append(Problem(version.place, ("version",), "must be 1"))

    def _people(self) -> dict[str, int]:
        """Names to ids; a name with a bad id is kept as 0, so that its uses are not faults as well."""
        people: dict[str, int] = {}
        for name, entry in self._entries("people"):
            path = ("people", name)
            if name in {"any", "requester", "not_requester"}:
                message = "is a word of approvers and cannot name a person"
                self.problems.append(Problem(entry.key_place, path, message))
            people[name] = 0
            try:
                one = person_id(plain(entry.node), {})
            except ValueError as error:
                self.problems.append(Problem(entry.node.place, path, str(error)))
                continue
            twin = next((other for other, known in people.items() if known == one), None)
            if twin:
                self.problems.append(Problem(entry.node.place, path, f"is the same id as {twin}"))
            people[name] = one
        return people

    def _owner(self) -> UserId | None:
        node = self.root.get("owner")
        if node is None:
            return None
        try:
            return person_id(plain(node), self.frame.people) or None
        except ValueError as error:
            self.problems.append(Problem(node.place, node.path, str(error)))
            return None

    def _providers(self) -> dict[str, ProviderSettings]:
        return {name: one for name, one in self._each("providers", ProviderSettings) if one}

    def _profiles(self) -> dict[str | None, tuple[Profile, Table]]:
        names: list[str | None] = [None, *(name for name, _ in self._entries("profiles"))]
        found: dict[str | None, tuple[Profile, Table]] = {}
        for name in names:
            tree, problems = profile_tree(self.root, name)
            profile, faults = judge(Profile, tree, self.frame)
            self.problems += [*problems, *faults]
            if profile:
                found[name] = (profile, tree)
        return found

    def _each(self, key: str, model: type[S]) -> Iterator[tuple[str, S | None]]:
        for name, entry in self._entries(key):
            section, problems = judge(model, entry.node, self.frame)
            self.problems += problems
            yield name, section

    def _entries(self, key: str) -> Iterator[tuple[str, Entry]]:
        """The named things of a section; a bad name or a section that is no mapping is reported."""
        node = self.root.get(key)
        if isinstance(node, Table):
            for name, entry in node.entries.items():
                try:
                    valid_name(name)
                except ValueError as error:
                    self.problems.append(Problem(entry.key_place, (key, name), str(error)))
                yield name, entry
        elif node is not None:
            self.problems.append(Problem(node.place, node.path, "must be a mapping"))
