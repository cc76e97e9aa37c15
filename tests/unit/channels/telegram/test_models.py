"""Models of aiogram are built when they are used, and are the same models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[4]
MESSAGE = '{"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}}'


class Behaviour(TypedDict):
    """What `model_behaviour` prints."""

    built_by_import: list[str]
    behaviour: dict[str, list[object]]
    whole: bool


def python(*arguments: str, eager: bool = False) -> str:
    """What a fresh interpreter prints; these things can only be seen before aiogram's first import."""
    environment = {key: value for key, value in os.environ.items() if key != "MTCLAW_EAGER_MODELS"}
    if eager:
        environment["MTCLAW_EAGER_MODELS"] = "1"
    run = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_every_type_method_and_answer_behaves_as_after_an_ordinary_import() -> None:
    """Built late and in the reverse order, each accepts, refuses and prints the same."""
    late: Behaviour = json.loads(python("-m", "tests.unit.channels.telegram.model_behaviour"))
    eager: Behaviour = json.loads(python("-m", "tests.unit.channels.telegram.model_behaviour", eager=True))
    names = set(eager["behaviour"])
    assert late["behaviour"] == eager["behaviour"]
    assert (late["whole"], eager["whole"]) == (False, True)
    assert set(eager["built_by_import"]) == names
    assert {name for name in late["built_by_import"] if not name.startswith("answer of ")} <= {
        "aiogram.methods.Request",
        "aiogram.methods.Response",
        "aiogram.methods.TelegramMethod",
    }
    assert {"aiogram.types.Update", "aiogram.methods.SendMessage", "answer of GetUpdates"} <= names


def test_importing_the_package_does_not_import_aiogram() -> None:
    """Rendering and translation tests, and every command that only reads, stay free of it."""
    assert python("-c", "import sys, mtbot.channels.telegram; print('aiogram' in sys.modules)") == "False\n"


def test_the_base_modules_can_still_be_inspected() -> None:
    """Tracebacks read the source through the loader that a module names."""
    script = (
        "import mtbot.channels.telegram, inspect, aiogram.types.base as b; "
        "print(type(b.__loader__).__name__, type(b.__spec__.loader).__name__, 'TelegramObject' in inspect.getsource(b))"
    )
    assert python("-c", script) == "SourceFileLoader SourceFileLoader True\n"


def test_arranging_it_twice_is_the_same_as_once() -> None:
    """Whoever is first does it."""
    script = (
        "import sys; from mtbot.channels.telegram.models import hold_back_building as hold; before = len(sys.meta_path); "
        "print(hold(), len(sys.meta_path) - before)"
    )
    assert python("-c", script) == "True 0\n"


def test_the_environment_can_ask_for_the_ordinary_import() -> None:
    """A way out on a host where anything about this should be wrong."""
    script = (
        "import mtbot.channels.telegram; from mtbot.channels.telegram.models import hold_back_building as hold; "
        "from aiogram.types import Update; print(hold(), Update.__pydantic_complete__)"
    )
    assert python("-c", script, eager=True) == "False True\n"


def test_an_aiogram_that_is_already_there_is_left_alone() -> None:
    """Its models have been built."""
    script = (
        "import aiogram, mtbot.channels.telegram; from mtbot.channels.telegram.models import hold_back_building as hold; "
        "print(hold(), aiogram.types.Update.__pydantic_complete__)"
    )
    assert python("-c", script) == "False True\n"


def test_a_pydantic_that_works_otherwise_gets_the_ordinary_import() -> None:
    """The way of building late is tried on a small model first; here pydantic fails that trial."""
    script = (
        "import pydantic, mtbot.channels.telegram\n"
        "inherited = pydantic.BaseModel.__dict__['model_rebuild'].__func__\n"
        "def refuse(cls, **options):\n"
        "    if cls.__name__ == 'Probe':\n"
        "        raise TypeError('unknown option')\n"
        "    return inherited(cls, **options)\n"
        "pydantic.BaseModel.model_rebuild = classmethod(refuse)\n"
        "from aiogram.types import Update\n"
        "print(Update.__pydantic_complete__)\n"
    )
    assert python("-c", script) == "True\n"


def test_the_model_of_an_answer_is_kept() -> None:
    """pydantic forgets such a model between two answers; built again for each, it would cost more than was saved."""
    script = (
        "import gc, weakref, mtbot.channels.telegram\n"
        "from aiogram.methods import Response; from aiogram.types import Message\n"
        "def answer():\n"
        f'    made = Response[Message].model_validate_json(\'{{"ok": true, "result": {MESSAGE}}}\')\n'
        "    return weakref.ref(type(made))\n"
        "kept = answer(); gc.collect(); print(kept() is Response[Message])\n"
    )
    assert python("-c", script) == "True\n"


def test_a_local_name_of_a_model_is_not_taken_for_all_names() -> None:
    """pydantic gives the names around to the class whose parameter is named there; they are not aiogram's own."""
    script = (
        "import mtbot.channels.telegram, aiogram.types as types\n"
        "def answer():\n"
        "    from aiogram.methods import Response\n"
        f'    return Response[types.Message].model_validate_json(\'{{"ok": true, "result": {MESSAGE}}}\')\n'
        "print(answer().result.message_id, types.Update(update_id=2).update_id)\n"
    )
    assert python("-c", script) == "1 2\n"


def test_two_threads_never_build_at_the_same_time() -> None:
    """pydantic's rebuilding is not safe for that; here two threads would meet inside it if they could."""
    script = (
        "import threading, pydantic, mtbot.channels.telegram\n"
        "inherited, met = pydantic.BaseModel.__dict__['model_rebuild'].__func__, []\n"
        "inside, ready = threading.Barrier(2), threading.Barrier(2)\n"
        "def watched(cls, **options):\n"
        "    if cls.__name__ == 'Message':\n"
        "        try:\n"
        "            met.append(inside.wait(timeout=0.5))\n"
        "        except threading.BrokenBarrierError:\n"
        "            pass\n"
        "    return inherited(cls, **options)\n"
        "pydantic.BaseModel.model_rebuild = classmethod(watched)\n"
        "from aiogram.types import Message\n"
        "made = []\n"
        "def use():\n"
        "    ready.wait()\n"
        f"    made.append(Message.model_validate_json('{MESSAGE}').message_id)\n"
        "threads = [threading.Thread(target=use) for _ in range(2)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(met, made)\n"
    )
    assert python("-c", script) == "[] [1, 1]\n"
