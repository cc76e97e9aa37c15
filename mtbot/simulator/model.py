"""An OpenAI-compatible model server on loopback that says what a script tells it to, in any server's dialect.

Used in the process of a test, by the demo, and as `mtclaw simulator model`. It keeps every request and refuses a
conversation that a strict provider would refuse. A script that has run out is an error, never a polite answer.
"""

import asyncio
import json
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Self, TypeVar

from aiohttp import web

from mtbot.simulator.conversation import mistake_in
from mtbot.simulator.dialects import OPENAI, Dialect, completion, error_event, events
from mtbot.simulator.script import (
    Answer,
    Break,
    Failure,
    ModelRequest,
    Rule,
    Rulebook,
    Script,
    Silence,
    Step,
    call,
    invalid,
    rules_from_json,
    say,
    unauthorized,
)
from mtbot.simulator.values import Clock, Pulse

MODEL_NAME = "sim-1"
MAX_BODY_BYTES = 32 * 1024 * 1024
DEFAULT_RULES = (
    Rule(r"^\s*run\s+(.+)$", (call("exec", {"command": "{1}"}), say("{output}"))),
    Rule(r"disk|space", (call("exec", {"command": "df -h /"}), say("This is what df says:\n{output}"))),
)
DEFAULT_ANSWER = say("I am a script, not a model. Write: run COMMAND")

Found = TypeVar("Found")


class ModelSimulator:
    """The server and its script: steps in order, or a callable that sees each request.

    `key` None accepts any Authorization header; otherwise another key is answered with 401. `strict` off skips the
    checks of the conversation, for a test that looks at what a broken history does to a lenient server.
    """

    def __init__(
        self,
        script: Iterable[Step] | Script = (),
        *,
        dialect: Dialect = OPENAI,
        key: str | None = None,
        strict: bool = True,
        clock: Clock = time.monotonic,
    ) -> None:
        self._script: Script | None = script if callable(script) else None
        self._steps: list[Step] = [] if callable(script) else list(script)
        self.dialect = dialect
        self._key = key
        self._strict = strict
        self._clock = clock
        self._pulse = Pulse()
        self._gate = asyncio.Event()
        self._requests: list[ModelRequest] = []
        self._problems: list[str] = []
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.hanging = 0
        self.hung = 0
        """How often anything stood still so far."""

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", self._on_completion)
        app.router.add_get("/v1/models", self._on_models)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Close every connection, hung requests too, and stop listening."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self.release()
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        """Start on a free port."""
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop."""
        await self.stop()

    @property
    def base_url(self) -> str:
        """The value for a client's base URL, /v1 included."""
        return f"http://127.0.0.1:{self._port}/v1"

    def then(self, *steps: Step) -> None:
        """Append steps to a list script."""
        self._steps.extend(steps)

    def release(self) -> None:
        """Close the connections that hang."""
        self._gate.set()
        self._gate = asyncio.Event()

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every completion request so far."""
        return tuple(self._requests)

    @property
    def left(self) -> int:
        """Steps of a list script that nobody has asked for yet."""
        return len(self._steps)

    @property
    def problems(self) -> tuple[str, ...]:
        """What a strict provider would have refused, and requests that came after the end of the script."""
        return tuple(self._problems)

    async def wait_for(self, predicate: Callable[[Self], Found], timeout: float = 5.0) -> Found:
        """Wait until the predicate answers something true; it is asked after every change and never in between."""
        deadline = asyncio.get_running_loop().time() + timeout
        while not (found := predicate(self)):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await self._pulse.wait(left):
                raise TimeoutError(f"not seen within {timeout} s; {len(self._requests)} requests so far")
        return found

    async def stood_still(self, times: int) -> None:
        """Wait until answers have stood still so often in all."""
        await self.wait_for(lambda model: model.hung >= times)

    async def _on_models(self, request: web.Request) -> web.StreamResponse:
        if not self._admits(request):
            return _failed(unauthorized())
        model = {"id": MODEL_NAME, "object": "model", "created": 1_760_000_000, "owned_by": "simulator"}
        return web.json_response({"object": "list", "data": [model]})

    def _admits(self, request: web.Request) -> bool:
        return self._key is None or request.headers.get("Authorization") == f"Bearer {self._key}"

    async def _on_completion(self, http: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await http.read())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return _failed(invalid("We could not parse the JSON body of your request."))
        headers = {name.lower(): value for name, value in http.headers.items()}
        request = ModelRequest(len(self._requests) + 1, self._clock(), http.path, body, headers)
        self._requests.append(request)
        self._pulse.beat()
        step = self._step(request) if self._admits(http) else unauthorized()
        match step:
            case Answer():
                return await self._answer(http, request, step)
            case Failure():
                return _failed(step)
            case Silence.HANG:
                await self._hang()
                return _close(http)
            case Silence.REFUSE:
                return _close(http)

    def _step(self, request: ModelRequest) -> Step:
        if self._strict:
            mistake = mistake_in(request, refuses_null_content=self.dialect.refuses_null_content)
            if mistake is not None:
                self._problems.append(mistake.body)
                return mistake
        if self._script is not None:
            return self._script(request)
        if not self._steps:
            self._problems.append(f"request {request.sequence} came after the end of the script")
            return Failure(500, json.dumps({"error": {"message": "the script has no step left", "type": "script"}}))
        return self._steps.pop(0)

    async def _hang(self) -> None:
        self.hanging += 1
        self.hung += 1
        self._pulse.beat()
        try:
            await self._gate.wait()
        finally:
            self.hanging -= 1
            self._pulse.beat()

    async def _answer(self, http: web.Request, request: ModelRequest, answer: Answer) -> web.StreamResponse:
        model = str(request.body.get("model"))
        if request.body.get("stream") is not True:
            if answer.pauses:
                await self._hang()
            found = completion(self.dialect, answer, model, request.sequence)
            if answer.cut_after is None:
                return web.json_response(found)
            text = json.dumps(found).encode()
            return await _send(http, [text[: len(text) // 2]], "application/json", length=len(text), whole=False)
        options = request.body.get("stream_options")
        usage = isinstance(options, dict) and options.get("include_usage") is True
        stream = list(events(self.dialect, answer, model, request.sequence, usage=usage))
        return await self._stream(http, answer, stream)

    async def _stream(self, http: web.Request, answer: Answer, stream: list[str]) -> web.StreamResponse:
        """Send events up to the break, then break as the answer says."""
        sent = stream[: answer.cut_after]
        if answer.cut_after is not None and answer.cut_by is Break.ERROR:
            sent.append(error_event(self.dialect))
        parts, halves = [event.encode() for event in sent], 1
        if self.dialect.unescaped:
            parts, halves = [half for part in parts for half in (part[: len(part) // 2], part[len(part) // 2 :])], 2
        waits = {after * halves: self._hang for after in answer.pauses}
        if answer.cut_after is not None and answer.cut_by is Break.HANG:
            waits[len(parts)] = self._hang
        broken = answer.cut_after is not None and answer.cut_by in {Break.CLOSE, Break.HANG}
        return await _send(http, parts, "text/event-stream", length=None, whole=not broken, waits=waits)


async def _send(
    http: web.Request,
    parts: Sequence[bytes],
    content_type: str,
    *,
    length: int | None,
    whole: bool,
    waits: Mapping[int, Callable[[], Awaitable[None]]] = MappingProxyType({}),
) -> web.StreamResponse:
    """Send the parts one by one; when they are not the whole, close the connection behind them.

    `waits` are waited for behind so many parts.
    """
    response = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
    if length is None:
        response.enable_chunked_encoding()
    else:
        response.content_length = length
    await response.prepare(http)
    for number, part in enumerate(parts):
        if number in waits:
            await waits[number]()
        await response.write(part)
    if len(parts) in waits:
        await waits[len(parts)]()
    if not whole:
        _close(http)
    return response


def _failed(failure: Failure) -> web.Response:
    headers = {**failure.headers, "Content-Type": failure.content_type}
    return web.Response(status=failure.status, body=failure.body.encode(), headers=headers)


def _close(http: web.Request) -> web.Response:
    """Close the connection; the response that aiohttp insists on goes nowhere."""
    if http.transport is not None:
        http.transport.close()
    return web.Response()


async def serve_model(port: int, rules: Sequence[Rule], announce: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM; the address is announced once the server listens."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    simulator = ModelSimulator(Rulebook(rules or DEFAULT_RULES, DEFAULT_ANSWER))
    await simulator.start(port)
    announce(f"Model simulator on {simulator.base_url}, model {MODEL_NAME}")
    await stop.wait()
    await simulator.stop()


def run_model(port: int, rules_json: str | None = None) -> None:
    """The program behind `mtclaw simulator model`: answer by rules (JSON text, see rules_from_json) until interrupted."""
    rules = rules_from_json(rules_json) if rules_json is not None else DEFAULT_RULES
    asyncio.run(serve_model(port, rules, lambda line: print(line, flush=True)))
