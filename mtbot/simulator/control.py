"""The people's side of the Telegram simulator over HTTP, for programs that drive it from another process.

JSON objects below /control/ on the same port. A mistake is answered with 400 and {"error": ...}. Loopback only, like
the rest; the bot under test has no business here.

POST say    {user, chat?, text, thread?, reply_to?, bot?, name?, username?, document?: {name, base64}} -> {message_id}
POST edit   {user, chat?, message_id, text}                                              -> {}
POST press  {user, button | message_id, chat?, timeout?}                                 -> {text, alert}
POST group  {chat, title?, members?, forum?}                                             -> {}
POST topic  {chat, name}                                                                 -> {thread}
GET  chat   ?chat=&thread=&bot=                                                          -> {messages: [...]}
GET  log    ?after=&timeout=   waits up to timeout seconds for a call behind `after`     -> {calls: [...]}
POST faults {method, fault: 401|409|429|502|hang|drop|cut|refuse, retry_after?, times?}  -> {}
POST release, POST clear_faults                                                          -> {}
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from mtbot.simulator import faults
from mtbot.simulator.faults import Fault, FaultQueue
from mtbot.simulator.params import Params
from mtbot.simulator.people import People, attachment
from mtbot.simulator.server import Server
from mtbot.simulator.state import World
from mtbot.simulator.values import ApiRefusal, CallRecord, JsonObject, Message, Person

_Verb: TypeAlias = Callable[[Params], Awaitable[JsonObject]]


class Control:
    """Handlers over the same world that the bots see."""

    def __init__(self, world: World, people: People, queue: FaultQueue, server: Server) -> None:
        self._world = world
        self._people = people
        self._faults = queue
        self._server = server

    def add_routes(self, app: web.Application) -> None:
        """Put the verbs below /control/."""
        posts: tuple[tuple[str, _Verb], ...] = (
            ("say", self._say),
            ("edit", self._edit),
            ("press", self._press),
            ("group", self._group),
            ("topic", self._topic),
            ("faults", self._add_fault),
            ("release", self._release),
            ("clear_faults", self._clear_faults),
        )
        for name, verb in posts:
            app.router.add_post(f"/control/{name}", _handler(verb))
        app.router.add_get("/control/chat", _handler(self._chat))
        app.router.add_get("/control/log", _handler(self._log))

    async def _say(self, params: Params) -> JsonObject:
        user = self._person(params)
        document = params.object("document")
        attach = None
        if document is not None:
            data = base64.b64decode(str(document.get("base64", "")), validate=True)
            attach = attachment(str(document.get("name", "file.bin")), data)
        number = await self._people.say(
            user,
            params.integer("chat"),
            params.text("text") or "",
            bot=params.text("bot"),
            thread=params.integer("thread"),
            reply_to=params.integer("reply_to"),
            attach=attach,
        )
        return {"message_id": number}

    def _person(self, params: Params) -> Person:
        user = _needed(params, "user")
        name = params.text("name")
        return self._world.person(Person(user, name, params.text("username")) if name else user)

    async def _edit(self, params: Params) -> JsonObject:
        message = _needed(params, "message_id")
        await self._people.edit(
            self._person(params), params.integer("chat"), message, params.text("text") or "", bot=params.text("bot")
        )
        return {}

    async def _press(self, params: Params) -> JsonObject:
        which = params.text("button") or _needed(params, "message_id")
        query = await self._people.tap(self._person(params), which, params.integer("chat"), bot=params.text("bot"))
        answer = await self._people.answer(query, float(params.integer("timeout") or 30))
        return {"text": answer.text, "alert": answer.alert}

    async def _group(self, params: Params) -> JsonObject:
        members = params.values.get("members")
        people = [member for member in members if isinstance(member, int)] if isinstance(members, list) else []
        self._people.group(
            _needed(params, "chat"),
            params.text("title") or "group",
            members=people,
            forum=params.flag("forum"),
        )
        return {}

    async def _topic(self, params: Params) -> JsonObject:
        return {"thread": self._people.topic(_needed(params, "chat"), params.text("name") or "topic")}

    async def _add_fault(self, params: Params) -> JsonObject:
        fault = _fault(params.text("fault") or "", params.integer("retry_after") or 1)
        self._faults.add(params.text("method") or faults.ANY_METHOD, fault, params.integer("times") or 1, None)
        return {}

    async def _release(self, params: Params) -> JsonObject:  # noqa: ARG002 - every verb has this shape
        self._server.release()
        return {}

    async def _clear_faults(self, params: Params) -> JsonObject:
        self._faults.clear(params.text("method"))
        return {}

    async def _chat(self, params: Params) -> JsonObject:
        bot = self._world.bot(params.text("bot"))
        messages = self._world.visible(bot, _needed(params, "chat"), params.integer("thread"))
        return {"messages": [shown_json(message) for message in messages]}

    async def _log(self, params: Params) -> JsonObject:
        after = params.integer("after") or 0
        deadline = asyncio.get_running_loop().time() + (params.integer("timeout") or 0)
        while len(self._world.log) <= after:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await self._world.pulse.wait(left):
                break
        return {"calls": [record_json(record) for record in self._world.log[after:]]}


def _handler(verb: _Verb) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return web.json_response(await verb(await _read(request)))
        except (LookupError, ValueError, TimeoutError, ApiRefusal, binascii.Error) as mistake:
            return web.json_response({"error": str(mistake)}, status=400)

    return handle


async def _read(request: web.Request) -> Params:
    """A JSON object, or the query string with its numbers read as numbers."""
    if request.method != "POST":
        return Params(
            {key: int(value) if value.lstrip("-").isdigit() else value for key, value in request.query.items()}
        )
    body = await request.read()
    found = json.loads(body) if body else {}
    if not isinstance(found, dict):
        raise ValueError("a JSON object is expected")
    return Params(found)


def _needed(params: Params, name: str) -> int:
    found = params.integer(name)
    if found is None:
        raise ValueError(f"{name} is missing")
    return found


def _fault(name: str, retry_after: int) -> Fault:
    known: dict[str, Callable[[], Fault]] = {
        "401": faults.unauthorized,
        "409": faults.conflict,
        "429": lambda: faults.too_many(retry_after),
        "502": faults.bad_gateway,
        "hang": faults.hang,
        "drop": faults.drop,
        "cut": faults.cut,
        "refuse": faults.refuse,
    }
    if name not in known:
        raise ValueError(f"unknown fault {name!r}; known: {', '.join(known)}")
    return known[name]()


def shown_json(message: Message) -> JsonObject:
    """A message as a person sees it, for another process."""
    attached = message.attachment
    return {
        "id": message.id,
        "from": message.sender.id,
        "name": message.sender.name,
        "is_bot": message.sender.is_bot,
        "text": message.text,
        "entities": [entity.json() for entity in message.entities],
        "thread": message.thread,
        "reply_to": message.reply_to,
        "silent": message.silent,
        "buttons": [
            [{"label": cell.label, "data": cell.data, "url": cell.url} for cell in row] for row in message.buttons
        ],
        "edits": [version.text for version in message.edits],
        "document": None
        if attached is None
        else {"name": attached.name, "base64": base64.b64encode(attached.data).decode()},
    }


def record_json(record: CallRecord) -> JsonObject:
    """A call for another process."""
    return {
        "sequence": record.sequence,
        "at": record.at,
        "bot": record.bot,
        "method": record.method,
        "params": dict(record.params),
        "error": None if record.error is None else record.error.answer(),
        "notes": list(record.notes),
        "fault": record.fault,
    }
