"""What every command shares: which configuration, how errors are told, the early spawner; imports nothing heavy."""

import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtbot.domain.errors import ConfigError, MtclawError

if TYPE_CHECKING:
    from mtbot.bootstrap.offline import Loaded
    from mtbot.processes.spawning import SpawnerProcess


@dataclass(slots=True)
class Frame:
    """The state of one command line. ``loaded`` is the configuration, once it could be read."""

    config: str | None = None
    log_level: str | None = None
    spawner: "SpawnerProcess | None" = None
    loaded: "Loaded | None" = None

    def start_spawner(self) -> None:
        """Start the spawner now, before anything heavy is imported."""
        from mtbot.processes.spawning import harden_gateway, start_spawner

        if self.spawner is None:
            harden_gateway()
            self.spawner = start_spawner()

    def take_spawner(self) -> "SpawnerProcess":
        """The spawner, from now on the caller's to close."""
        self.start_spawner()
        taken, self.spawner = self.spawner, None
        assert taken is not None
        return taken

    def load(self, *, quiet: bool = False) -> "Loaded":
        """The configuration; its warnings go to standard error unless ``quiet``. ConfigError holds every fault."""
        from mtbot.bootstrap.offline import load_all

        self.loaded = loaded = load_all(self.config, self.log_level)
        for warning in () if quiet else loaded.warnings:
            print(self.clean(f"mtclaw: warning: {warning}"), file=sys.stderr)
        return loaded

    def explain(self, error: Exception) -> int:
        """Tell an error in as few lines as it has; the exit status."""
        if isinstance(error, ConfigError):
            for problem in error.problems:
                print(self.clean(f"mtclaw: {problem}"), file=sys.stderr)
            if error.hint:
                print(self.clean(f"        {error.hint}"), file=sys.stderr)
            return error.exit_status
        if isinstance(error, MtclawError):
            print(self.clean(f"mtclaw: {error}"), file=sys.stderr)
            return error.exit_status
        if isinstance(error, OSError):
            print(
                self.clean(f"mtclaw: {error.strerror or error}: {error.filename or ''}".rstrip(": ")), file=sys.stderr
            )
            return 1
        if os.environ.get("MTCLAW_TRACEBACK"):
            print(self.clean("".join(traceback.format_exception(error))), file=sys.stderr)
        print(
            self.clean(
                f"mtclaw: this is a fault of mtclaw itself: {type(error).__name__}: {error} (MTCLAW_TRACEBACK=1 shows where)"
            ),
            file=sys.stderr,
        )
        return 1

    def clean(self, text: str) -> str:
        """``text`` masked and without control characters; without a configuration only what any start knows is masked."""
        from mtbot.bootstrap.masking import unread_masker

        redactor = self.loaded.redactor if self.loaded else unread_masker(os.environ)
        return "".join(char if char.isprintable() or char == "\n" else "�" for char in redactor.mask(text))

    def close(self) -> None:
        """Let the spawner go, if nobody has."""
        if self.spawner is not None:
            self.spawner.process.kill()
            self.spawner.process.wait()
            self.spawner.main.close()
            self.spawner = None


def working_home() -> Path:
    """HOME, or / for a uid without one."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
