"""The demo on a terminal: type to the bot, press its buttons by number."""

import asyncio
import sys

from mtbot.cli.demo_stage import CHIEF, Scene, Stage
from mtbot.redaction.display import terminal_safe
from mtbot.simulator.values import Message

_HELLO = """\
This is mtclaw on this machine: the real gateway, database and shell, in a temporary directory.
Only Telegram and the model are played. Type as Chief; try:
  what is here · please clean up · write a note · remove the note · run uname -a
A number presses the button of that number. Ctrl-D ends it.
"""


async def chat(stage: Stage) -> int:
    """Chat until the input ends; 0."""
    async with stage.open() as scene:
        print(_HELLO)
        shower = asyncio.create_task(_show(scene))
        try:
            await _read(scene)
        finally:
            shower.cancel()
            await asyncio.gather(shower, return_exceptions=True)
    print()
    return 0


async def _read(scene: Scene) -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop.add_reader(sys.stdin.fileno(), lambda: lines.put_nowait(sys.stdin.readline()))
    try:
        while line := await lines.get():
            text = line.strip()
            buttons = _buttons(scene)
            if text.isdigit() and 1 <= int(text) <= len(buttons):
                message, data = buttons[int(text) - 1]
                note = await scene.telegram.answer(await scene.telegram.people.tap(CHIEF, data, message.chat))
                if note.text:
                    print(f"    ({terminal_safe(note.text, table=True)})")
            elif text:
                await scene.telegram.say(CHIEF, None, text)
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _buttons(scene: Scene) -> list[tuple[Message, str]]:
    """Every live button of the chat in reading order."""
    found = []
    for message in scene.telegram.chat(CHIEF.id):
        found += [(message, button.data or "") for row in message.buttons for button in row]
    return found


async def _show(scene: Scene) -> None:
    """Print what the bot says as it says it; an edit shows its last line only."""
    seen: dict[int, str] = {}
    while True:
        for message in scene.telegram.chat(CHIEF.id):
            before = seen.get(message.id)
            if not message.sender.is_bot or before == message.text + repr(message.labels):
                continue
            seen[message.id] = message.text + repr(message.labels)
            text = terminal_safe(message.text, table=False)
            print(f"    {text.splitlines()[-1]}" if before is not None else _framed(scene, message, text), flush=True)
        await scene.telegram.wait_for(lambda sim: _changed(sim.chat(CHIEF.id), seen), 86_400)


def _changed(messages: tuple[Message, ...], seen: dict[int, str]) -> bool:
    return any(m.sender.is_bot and seen.get(m.id) != m.text + repr(m.labels) for m in messages)


def _framed(scene: Scene, message: Message, text: str) -> str:
    lines = [f"  bot: {text}".replace("\n", "\n       ")]
    data = [found for _, found in _buttons(scene)]
    numbered = [f"[{data.index(button.data or '') + 1}] {button.label}" for row in message.buttons for button in row]
    if numbered:
        lines.append("       " + "   ".join(numbered))
    return "\n".join(lines)
