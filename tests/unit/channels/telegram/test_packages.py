"""aiogram's packages are imported in parts, and are the same packages."""

from __future__ import annotations

import json

from tests.unit.channels.telegram.test_models import python

LATE = "import mtbot.channels.telegram, sys\n"


def test_what_the_bot_uses_is_a_tenth_of_aiogram() -> None:
    """And of Python's test framework, which aiogram wants one sentinel of, nothing."""
    script = LATE + (
        "import mtbot.channels.telegram.show, mtbot.channels.telegram.account, mtbot.channels.telegram.poll\n"
        "print(sum(name.startswith('aiogram') for name in sys.modules) < 90, 'unittest' in sys.modules)\n"
        "from aiogram.types.base import UNSET; print(UNSET); import unittest.mock; print(unittest.mock.call)\n"
    )
    assert python("-c", script) == "True False\nsentinel.UNSET\ncall\n"


def test_every_name_of_every_package_is_what_an_ordinary_import_gives() -> None:
    """One by one, each by the way that a package is asked: an attribute, then an import from it."""
    script = LATE + (
        "import json\n"
        "from tests.unit.channels.telegram.model_behaviour import names\n"
        "import aiogram.types, aiogram.methods, aiogram.enums\n"
        "rooms = (aiogram.enums, aiogram.methods, aiogram.types)\n"
        "said = {}\n"
        "for room in rooms:\n"
        "    for name in reversed(names(room)):\n"
        "        value = getattr(room, name)\n"
        "        space = {}\n"
        "        exec(f'from {room.__name__} import {name}', space)\n"
        "        assert space[name] is value\n"
        "        said[f'{room.__name__}.{name}'] = str(value).partition(' at 0x')[0]\n"
        "print(json.dumps([said, 'aiogram.client.bot' in sys.modules]))\n"
    )
    late, whole = json.loads(python("-c", script))
    eager, _ = json.loads(python("-c", script, eager=True))
    assert late == eager
    assert len(late) > 600
    assert not whole


def test_a_name_of_the_whole_has_everything_imported() -> None:
    """What each package says of itself, and what aiogram's first page of documentation shows."""
    script = LATE + (
        "import aiogram\n"
        "print('aiogram.client.bot' in sys.modules)\n"
        "from aiogram import Bot, Dispatcher, F, Router, __version__, html\n"
        "from aiogram.types import *\n"
        "print(Message is aiogram.types.Message, len(aiogram.types.__all__) > 300, len(aiogram.methods.__all__) > 100)\n"
        "print(Update.__pydantic_complete__, Bot('42:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA').id)\n"
    )
    assert python("-c", script) == "False\nTrue True True\nFalse 42\n"


def test_a_module_of_a_package_is_had_without_the_rest() -> None:
    """By its name on the package, imported before or not, as an ordinary import leaves it."""
    script = LATE + (
        "import aiogram\n"
        "print(aiogram.types.user.User is aiogram.types.User, 'aiogram.types.update' in sys.modules)\n"
        "from aiogram import exceptions; print(exceptions.__name__)\n"
    )
    assert python("-c", script) == "True False\naiogram.exceptions\n"


def test_a_name_that_there_is_not_is_an_error_as_ever() -> None:
    """Also the second time; Python's own questions of a module never import anything."""
    script = LATE + (
        "import aiogram.types, inspect\n"
        "print(inspect.unwrap(aiogram.types) is aiogram.types, hasattr(aiogram.types, '__wrapped__'))\n"
        "print('aiogram.types.update' in sys.modules)\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        aiogram.types.Telegraph\n"
        "    except AttributeError as error:\n"
        "        print(error)\n"
        "try:\n"
        "    from aiogram.methods import SendPigeon\n"
        "except ImportError as error:\n"
        "    print(error.name)\n"
    )
    missing = "module 'aiogram.types' has no attribute 'Telegraph'\n"
    assert python("-c", script) == f"True False\nFalse\n{missing}{missing}aiogram.methods\n"


def test_a_source_that_is_written_in_another_way_is_run_as_it_is() -> None:
    """A later aiogram may be; it only costs more then."""
    script = LATE + (
        "from mtbot.channels.telegram import packages\n"
        "packages.names_in = lambda source: {'User': 'user'}\n"
        "from aiogram.types import User; import aiogram.types\n"
        "print('aiogram.types.update' in sys.modules, '__getattr__' in vars(aiogram.types))\n"
        "print(aiogram.types.Update.model_validate({'update_id': 1}).update_id)\n"
    )
    assert python("-c", script) == "True False\n1\n"


def test_a_base_that_wants_more_of_the_test_framework_gets_it() -> None:
    """Then it is run again with the real one."""
    script = LATE + (
        "import importlib.machinery as machinery\n"
        "plain = machinery.SourceFileLoader.get_source\n"
        "inherited = machinery.SourceFileLoader.exec_module\n"
        "def more(loader, module):\n"
        "    if module.__name__ == 'aiogram.types.base':\n"
        "        exec('from unittest.mock import patch', vars(module))\n"
        "    return inherited(loader, module)\n"
        "machinery.SourceFileLoader.exec_module = more\n"
        "import aiogram.types.base as base\n"
        "print(base.patch.__module__, base.UNSET, 'unittest.mock' in sys.modules)\n"
    )
    assert python("-c", script) == "unittest.mock sentinel.UNSET True\n"


def test_threads_may_ask_for_different_names_at_once() -> None:
    """Each gets the one class that there is."""
    script = LATE + (
        "import threading, aiogram.types as types\n"
        "asked = ['Update', 'Message', 'Chat', 'CallbackQuery', 'Poll', 'Update', 'Message', 'InlineKeyboardMarkup']\n"
        "gate, got = threading.Barrier(len(asked)), []\n"
        "def ask(name):\n"
        "    gate.wait()\n"
        "    got.append((name, id(getattr(types, name))))\n"
        "threads = [threading.Thread(target=ask, args=(name,)) for name in asked]\n"
        "[one.start() for one in threads]; [one.join() for one in threads]\n"
        "print(len(got), len(set(got)))\n"
    )
    assert python("-c", script) == "8 6\n"
