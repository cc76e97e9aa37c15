"""A long-lived child that is talked to: its standard input and output as streams, its end as a future."""

import asyncio
import os
from dataclasses import dataclass
from io import FileIO

from mtbot.processes.ending import ProcessEnd


@dataclass(frozen=True, slots=True)
class Conversation:
    """A running child. ``reader`` is its standard output, ``writer`` its standard input.

    ``end`` is resolved like the result of a run; its output is what the child wrote to standard error.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    end: asyncio.Future[ProcessEnd]


class Pipes:
    """Two pipes between the gateway and a child: the child's ends are handed over, ours become streams."""

    def __init__(self) -> None:
        self._their_input, self._our_output = os.pipe()
        self._our_input, self._their_output = os.pipe()

    @property
    def theirs(self) -> tuple[int, int]:
        """The descriptors of the child's standard input and output."""
        return self._their_input, self._their_output

    def close_theirs(self) -> None:
        """Let go of the child's ends; only the child holds them from now on."""
        os.close(self._their_input)
        os.close(self._their_output)

    def close_ours(self) -> None:
        """Let go of the gateway's ends, if they did not become streams."""
        os.close(self._our_input)
        os.close(self._our_output)

    async def streams(self, line_bytes: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return our ends as streams; a line longer than ``line_bytes`` is an error of the reader."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=line_bytes)
        source, sink = FileIO(self._our_input), FileIO(self._our_output, "w")
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
        return reader, asyncio.StreamWriter(transport, protocol, None, loop)
