"""Parameters have the same types in every encoding."""

import json
from collections.abc import Mapping

import aiohttp
import pytest

from mtbot.simulator.params import Params, typed
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import ApiRefusal

_KEYBOARD = {"inline_keyboard": [[{"text": "12", "callback_data": "7"}]]}
_WANTED = {"chat_id": 1001, "text": "17", "disable_notification": True, "reply_markup": _KEYBOARD}
_AS_TEXT = {
    "chat_id": "1001",
    "text": "17",
    "disable_notification": "true",
    "reply_markup": json.dumps(_KEYBOARD),
}


async def _post(sim: TelegramSimulator, kind: str) -> None:
    url = f"{sim.base_url}/bot{sim.token()}/sendMessage"
    async with aiohttp.ClientSession() as session:
        match kind:
            case "json":
                response = await session.post(url, json=_WANTED)
            case "json with text":
                response = await session.post(url, json=_AS_TEXT)
            case "form":
                response = await session.post(url, data=_AS_TEXT)
            case "multipart":
                form = aiohttp.FormData(_AS_TEXT, default_to_multipart=True)
                response = await session.post(url, data=form)
            case _:
                response = await session.get(url, params=_AS_TEXT)
        assert response.status == 200
        await response.read()


@pytest.mark.parametrize("kind", ["json", "json with text", "form", "multipart", "query"])
async def test_every_encoding_gives_the_same_typed_values(sim: TelegramSimulator, kind: str) -> None:
    """Numbers are numbers, text stays text even if it looks like one."""
    sim.open(1001)

    await _post(sim, kind)

    logged: Mapping[str, object] = sim.calls("sendMessage")[0].params
    assert logged == _WANTED
    assert {name: type(value) for name, value in logged.items()} == {
        name: type(value) for name, value in _WANTED.items()
    }


def test_a_channel_name_stays_text_and_broken_json_is_refused() -> None:
    """An id is a number or a name."""
    assert [typed("chat_id", text) for text in ("-100123", "@news", "1x")] == [-100123, "@news", "1x"]
    with pytest.raises(ApiRefusal, match="can't parse reply markup JSON object"):
        typed("reply_markup", "{")


def test_getters_refuse_the_wrong_type_and_pass_what_is_absent() -> None:
    """A truth value is not a number."""
    wrong = Params({"chat_id": True, "text": 5, "reply_markup": [], "entities": {}, "allowed_updates": [1]})

    for read in (
        lambda: wrong.integer("chat_id"),
        lambda: wrong.text("text"),
        lambda: wrong.object("reply_markup"),
        lambda: wrong.objects("entities"),
        lambda: wrong.strings("allowed_updates"),
    ):
        with pytest.raises(ApiRefusal):
            read()
    empty = Params({})
    assert (empty.integer("a"), empty.text("a"), empty.object("a"), empty.objects("a"), empty.strings("a")) == (
        None,
    ) * 5
