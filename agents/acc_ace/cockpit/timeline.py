"""Follow a source and send what comes as server-sent events.

A client is a position in its source: it has no queue that could overflow, nothing is sent twice,
and a reconnect, to any server, goes on where it was. One poll per source serves all clients.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Hashable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from acc_ace.cockpit.sources import Source, TimelineEvent
from acc_ace.errors import AccAceError, ForbiddenError

logger = logging.getLogger(__name__)

POLL_S: Final = 0.5
HEARTBEAT_S: Final = 15.0
STALL_S: Final = 20.0
"""What one write to a client may take before the client is cut off."""

MOST_CLIENTS: Final = 500
_PAGE: Final = 100
_CACHED: Final = 8


class Pulse:
    """Polls one source while anyone follows it, and wakes its followers."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.followers = 0
        self.newest = 0
        """The newest position seen."""
        self.error: AccAceError | None = None
        """Why the source cannot be read any more."""
        self._changed = asyncio.Condition()
        self._pages: OrderedDict[int, tuple[Sequence[TimelineEvent], int]] = OrderedDict()
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the newest position, then poll. Raises what the source raises."""
        async with self._reading:
            if self._task is None:
                self.newest = await self.source.newest()
                self._task = asyncio.create_task(self._poll())

    @property
    def is_over(self) -> bool:
        """Whether it polls no more: its source is gone, or reading it failed."""
        return self.error is not None or (self._task is not None and self._task.done())

    def stop(self) -> None:
        """Stop polling."""
        if self._task is not None:
            self._task.cancel()

    async def beyond(self, n: int) -> bool:
        """Wait for an event after a position; False when it stays quiet.

        Raises NotFoundError when the source is gone, StoreError when it cannot be read.
        """
        try:
            async with asyncio.timeout(HEARTBEAT_S), self._changed:
                await self._changed.wait_for(lambda: self.newest > n or self.error is not None)
        except TimeoutError:
            if self._task is not None and self._task.done():
                self._task.result()
            return False
        if self.error is not None:
            raise self.error
        return True

    async def after(self, n: int) -> tuple[Sequence[TimelineEvent], int]:
        """The next events, and where they end; followers at one position share a read."""
        page = self._pages.get(n)
        if page is None:
            newest = self.newest  # Beyond it, the next read would send the same again.
            rows = await self.source.after(n, _PAGE)
            events = [event for event in rows if event.n <= newest]
            # Positions may be skipped: a page without events still ends where the source does.
            page = self._pages[n] = events, events[-1].n if events else newest
            while len(self._pages) > _CACHED:
                self._pages.popitem(last=False)
        return page

    async def look(self) -> None:
        """Look for something new now, and wake the followers if there is."""
        async with self._reading:
            newest = self.newest
            try:
                newest = await self.source.newest()
            except AccAceError as error:
                self.error = error
            if newest != self.newest or self.error is not None:
                async with self._changed:
                    self._pages.clear()
                    self.newest = newest
                    self._changed.notify_all()

    async def _poll(self) -> None:
        while self.error is None:
            await asyncio.sleep(POLL_S)
            await self.look()


class Timeline:
    """The pulses of this process, one for each source that is followed."""

    def __init__(self) -> None:
        self._pulses: dict[Hashable, Pulse] = {}
        self.clients = 0

    @asynccontextmanager
    async def follow(self, key: Hashable, source: Source) -> AsyncIterator[Pulse]:
        """The pulse of a source, shared with all who follow one of that name now.

        Raises ForbiddenError with too many clients, and what the source raises.
        """
        if self.clients >= MOST_CLIENTS:
            raise ForbiddenError(f"{MOST_CLIENTS} streams are open; close a page and try again")
        pulse = self._pulses.get(key)
        if pulse is None or pulse.is_over:
            pulse = self._pulses[key] = Pulse(source)
        pulse.followers += 1
        self.clients += 1
        try:
            await pulse.start()
            yield pulse
        finally:
            self.clients -= 1
            pulse.followers -= 1
            if not pulse.followers:
                pulse.stop()
                if self._pulses.get(key) is pulse:
                    del self._pulses[key]


async def blocks(pulse: Pulse, *, after: int | None, kinds: Collection[str]) -> AsyncIterator[str]:
    """Events after a position (from now on without one) as text of an event stream.

    The last one is `gone` when the source is.
    """
    if after is not None and after > pulse.newest:
        await pulse.look()  # Another server has sent what this one has not seen yet.
    at = pulse.newest if after is None else after
    yield f"retry: 1000\nid: /0/{at}\n\n"  # Whoever is cut off before the first event resumes here.
    while True:
        if not 0 <= pulse.newest - at <= pulse.source.most_behind:
            at = pulse.newest
            yield f"event: gap\ndata: {at}\n\n"
        try:
            if not await pulse.beyond(at):
                yield ": quiet\n\n"
                continue
            page, at = await pulse.after(at)
        except AccAceError as error:
            yield f"event: gone\ndata: {json.dumps({'code': error.code, 'detail': str(error)})}\n\n"
            return
        for event in page:
            if not kinds or event.kind in kinds:
                data = event.model_dump_json()
                yield f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n"


class TimelineResponse(StreamingResponse):
    """An event stream that ends when its client leaves, or does not read."""

    def __init__(self, content: AsyncIterator[str], following: AsyncExitStack) -> None:
        super().__init__(
            content, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        async with self._following:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the stream, each part within STALL_S."""

        async def timed(message: Message) -> None:
            async with asyncio.timeout(STALL_S):
                await send(message)

        try:
            await super().stream_response(timed)
        except TimeoutError:
            logger.warning("stream_stalled: its client did not read for %s s", STALL_S)
