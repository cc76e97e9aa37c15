"""A gateway as some user whose contained commands try to break out, for tests."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

ROOT = os.geteuid() == 0
NOBODY = 65534


class Confined:
    """A gateway as some user, a workspace, and things outside that belong to the same user."""

    def __init__(self, folder: Path, command: tuple[str, ...], uid: int, **options: object) -> None:
        """``options`` are for what is started: see confined.py."""
        self.folder, self.uid = folder, uid
        self.workspace, self.outside = folder / "workspace", folder / "outside"
        self.command = command
        self.process = subprocess.Popen(
            [*command, "-B", str(Path(__file__).with_name("confined.py")), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd="/",
        )
        self.about = self._hear()
        self.lay_out()

    def lay_out(self) -> None:
        """Make workspace and targets afresh."""
        for place in (self.workspace, self.outside):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(mode=0o700)
        (self.outside / "file").write_text("untouched")
        (self.outside / "token").write_text("123:secret")
        (self.outside / "token").chmod(0o600)
        for path in (self.workspace, self.outside, *self.outside.iterdir()):
            os.chown(path, self.uid, -1)

    def state(self) -> dict[str, tuple[int, str]]:
        """What lies outside: mode and content by name."""
        return {path.name: (path.stat().st_mode, path.read_text()) for path in self.outside.iterdir() if path.is_file()}

    def run(self, script: str, profile: str = "contained", **grants: Any) -> tuple[int | None, str]:
        """Exit code and output of a script in the workspace; it finds the names of its targets in its environment."""
        end = self.ask(script, profile, **grants)
        assert end["exit"] is not None, end
        return int(str(end["exit"])), str(end["output"])

    def ask(
        self, script: str, profile: str = "contained", plan: Mapping[str, str] | None = None, **grants: Any
    ) -> dict[str, object]:
        """Everything about the end of a script. ``plan`` is put up instead of what a look would find: kinds by path."""
        env = {
            "OUT": str(self.outside),
            "GATEWAY": str(self.about["pid"]),
            "SPAWNER": str(self.about["spawner"]),
            "PYTHON": str(self.about["python"]),
        }
        wanted = {"script": script, "cwd": str(self.workspace), "env": env, "profile": profile}
        wanted |= {} if plan is None else {"plan": dict(plan)}
        grants.setdefault("write", [str(self.workspace)])
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({**wanted, "grants": grants}) + "\n")
        self.process.stdin.flush()
        return self._hear()

    def another(self, **options: object) -> "Confined":
        """Another gateway of the same user, with options of its own."""
        return Confined(self.folder, self.command, self.uid, **options)

    def holds(self, kind: str) -> bool:
        """What the probe said."""
        return bool(self.about[kind])

    def _hear(self) -> dict[str, object]:
        assert self.process.stdout is not None
        found: dict[str, object] = json.loads(self.process.stdout.readline())
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


def python(source: str) -> str:
    """A script that runs Python."""
    return f'"$PYTHON" -I -S -c \'import os, socket, ctypes; O = os.environ["OUT"]; {source}\''
