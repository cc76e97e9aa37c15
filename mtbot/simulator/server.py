"""The wire of the Telegram simulator: one request in, faults and limits first, then the method, then the log.

Kept apart from telegram.py so that what tests arrange and what the network sees stay two short stories.
"""

import asyncio
from dataclasses import dataclass

from aiohttp import web

from mtbot.simulator.faults import Fault, FaultKind, FaultQueue, FloodGate, FloodLimits
from mtbot.simulator.methods import METHODS, PACED, Call, Switches, file_path
from mtbot.simulator.params import Params, read_params
from mtbot.simulator.state import Bot, World
from mtbot.simulator.values import ApiRefusal, CallRecord, JsonObject

MAX_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Answered:
    """How a call ended, before it is put on the wire."""

    result: object = None
    error: ApiRefusal | None = None
    notes: tuple[str, ...] = ()

    def body(self) -> JsonObject:
        return {"ok": True, "result": self.result} if self.error is None else self.error.answer()

    def status(self) -> int:
        return 200 if self.error is None else self.error.code


class Server:
    """Request handlers over one world."""

    def __init__(self, world: World, switches: Switches, faults: FaultQueue) -> None:
        self._world = world
        self._switches = switches
        self._faults = faults
        self._flood: FloodGate | None = None
        self._gate = asyncio.Event()
        self._hung_up = asyncio.Event()
        self.hanging: list[str] = []

    def application(self) -> web.Application:
        """A fresh aiohttp application; an application can be served only once."""
        self._hung_up.clear()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/bot{token:[^/]+}/{method}", self._on_call)
        app.router.add_get("/file/bot{token:[^/]+}/{path:.+}", self._on_download)
        return app

    def set_flood(self, limits: FloodLimits | None) -> None:
        """Start or stop counting."""
        self._flood = FloodGate(limits, self._world.clock) if limits is not None else None

    def release(self) -> None:
        """Let hung calls go on."""
        self._gate.set()
        self._gate = asyncio.Event()

    def hang_up(self) -> None:
        """Wake everybody who waits, because the server ends."""
        self._hung_up.set()
        for bot in self._world.bots.values():
            bot.queue.close()
        self.release()

    async def _on_call(self, request: web.Request) -> web.StreamResponse:
        asked = request.match_info["method"]
        bot = self._world.bots.get(request.match_info["token"])
        if bot is None:
            known_form = ":" in request.match_info["token"]
            return _json(ApiRefusal(401, "Unauthorized") if known_form else ApiRefusal(404, "Not Found"))
        method = METHODS[asked.lower()][0] if asked.lower() in METHODS else asked
        if asked.lower() == "getupdates":
            method = "getUpdates"
        try:
            params = await read_params(request)
        except ApiRefusal as refusal:
            self._record(bot, method, Params({}), _Answered(error=refusal), None)
            return _json(refusal)
        fault = self._faults.take(method, bot.account.token)
        if fault is not None and fault.kind is FaultKind.HANG:
            await self._hang(method)
        if self._hung_up.is_set() or (fault is not None and fault.kind is FaultKind.REFUSE):
            self._record(bot, method, params, _Answered(), fault)
            return _close(request)
        if fault is not None and fault.kind is FaultKind.STATUS:
            return self._failed(bot, method, params, fault)
        answered = await self._perform(bot, method, params)
        if self._hung_up.is_set():
            return _close(request)
        self._record(bot, method, params, answered, fault)
        if fault is not None and fault.kind is FaultKind.DROP:
            return _close(request)
        if fault is not None and fault.kind is FaultKind.CUT:
            return await _cut_short(request, answered)
        return web.json_response(answered.body(), status=answered.status())

    async def _hang(self, method: str) -> None:
        self.hanging.append(method)
        self._world.pulse.beat()
        try:
            await self._gate.wait()
        finally:
            self.hanging.remove(method)
            self._world.pulse.beat()

    def _failed(self, bot: Bot, method: str, params: Params, fault: Fault) -> web.Response:
        refusal = fault.refusal or ApiRefusal(fault.status, "Bad Gateway")
        self._record(bot, method, params, _Answered(error=refusal), fault)
        if fault.html:
            return web.Response(status=fault.status, text=fault.html, content_type="text/html")
        return _json(refusal)

    async def _perform(self, bot: Bot, method: str, params: Params) -> _Answered:
        call = Call(self._world, self._switches, bot, params)
        try:
            if method == "getUpdates":
                return _Answered(await _get_updates(bot, params))
            self._pace(bot, method, params)
            if method.lower() not in METHODS:
                raise ApiRefusal(404, "Not Found")
            return _Answered(METHODS[method.lower()][1](call), None, tuple(call.notes))
        except ApiRefusal as refusal:
            return _Answered(None, refusal, tuple(call.notes))

    def _pace(self, bot: Bot, method: str, params: Params) -> None:
        chat = params.values.get("chat_id")
        if self._flood is None or method not in PACED or not isinstance(chat, int):
            return
        refusal = self._flood.admit(bot.account.token, chat)
        if refusal is not None:
            raise refusal

    def _record(self, bot: Bot, method: str, params: Params, answered: _Answered, fault: Fault | None) -> None:
        self._world.log.append(
            CallRecord(
                sequence=len(self._world.log) + 1,
                at=self._world.clock(),
                bot=bot.account.person.username or "",
                method=method,
                params=params.logged(),
                result=answered.result,
                error=answered.error,
                notes=answered.notes,
                fault=fault.name if fault is not None else None,
            )
        )
        self._world.pulse.beat()

    async def _on_download(self, request: web.Request) -> web.StreamResponse:
        bot = self._world.bots.get(request.match_info["token"])
        if bot is None:
            return _json(ApiRefusal(401, "Unauthorized"))
        path = request.match_info["path"]
        params = Params({"path": path})
        fault = self._faults.take("file", bot.account.token)
        if fault is not None and fault.kind is FaultKind.HANG:
            await self._hang("file")
        if self._hung_up.is_set() or (fault is not None and fault.kind is FaultKind.REFUSE):
            return _close(request)
        if fault is not None and fault.kind is FaultKind.STATUS:
            return self._failed(bot, "file", params, fault)
        for attachment in self._world.files.values():
            if file_path(attachment) == path:
                self._record(bot, "file", params, _Answered(result=True), fault)
                return web.Response(body=attachment.data, content_type="application/octet-stream")
        refusal = ApiRefusal(404, "Not Found")
        self._record(bot, "file", params, _Answered(error=refusal), fault)
        return _json(refusal)


async def _get_updates(bot: Bot, params: Params) -> list[JsonObject]:
    return await bot.queue.poll(
        params.integer("offset") or 0,
        params.integer("limit") or 100,
        params.integer("timeout") or 0,
        params.strings("allowed_updates"),
    )


def _json(refusal: ApiRefusal) -> web.Response:
    return web.json_response(refusal.answer(), status=refusal.code)


def _close(request: web.Request) -> web.Response:
    """Close the connection; the response that aiohttp insists on goes nowhere."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def _cut_short(request: web.Request, answered: _Answered) -> web.StreamResponse:
    """Send the head and half of the body, then close."""
    body = web.json_response(answered.body(), status=answered.status()).body
    assert isinstance(body, bytes)
    response = web.StreamResponse(status=answered.status(), headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response
