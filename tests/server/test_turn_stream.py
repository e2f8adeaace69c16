import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Message

from acc_ace.core.schemas.report import Answer, AnswerChunk, TurnEvent
from acc_ace.errors import SessionBusyError, StoreError
from acc_ace.server.routes.turn_stream import EventStream, EventStreamResponse, TurnEvents


def _stream(events: AsyncIterator[TurnEvent]) -> EventStream:
    return EventStream(TurnEvents(events), path="/v1/chat", data_dir=Path("data"))


async def test_events_come_in_order_as_named_blocks() -> None:
    async def events() -> AsyncIterator[TurnEvent]:
        yield AnswerChunk(text="line\none")
        yield AnswerChunk(text="二")

    stream = _stream(events())
    await stream.start()
    blocks = [block async for block in stream.text()]
    await stream.aclose()
    assert blocks == [
        'event: answer_chunk\ndata: {"type":"answer_chunk","text":"line\\none"}\n\n',
        'event: answer_chunk\ndata: {"type":"answer_chunk","text":"二"}\n\n',
    ]


async def test_failure_before_the_first_event_is_raised() -> None:
    async def events() -> AsyncIterator[TurnEvent]:
        raise SessionBusyError("another turn is running")
        yield AnswerChunk(text="")  # pragma: no cover - makes this a generator

    stream = _stream(events())
    with pytest.raises(SessionBusyError):
        await stream.start()
    await stream.aclose()


async def test_failure_after_it_is_the_last_event() -> None:
    async def events() -> AsyncIterator[TurnEvent]:
        yield AnswerChunk(text="so far")
        raise StoreError("the disk is full")

    stream = _stream(events())
    await stream.start()
    blocks = [block async for block in stream.text()]
    await stream.aclose()
    assert len(blocks) == 2
    assert blocks[1].startswith("event: error\ndata: {")
    assert '"code":"store_error"' in blocks[1]


async def test_closing_ends_a_running_turn_and_waits_until_it_is_undone() -> None:
    undone = asyncio.Event()

    async def events() -> AsyncIterator[TurnEvent]:
        yield AnswerChunk(text="so far")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            undone.set()

    stream = _stream(events())
    await stream.start()
    await stream.aclose()
    assert undone.is_set()


async def _learning(learn: asyncio.Event, ended: list[str]) -> AsyncIterator[TurnEvent]:
    try:
        yield Answer(text="so it is", model="m")
        await learn.wait()
        ended.append("learned")
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise


async def test_closing_after_the_answer_waits_until_the_turn_has_learned() -> None:
    learn, ended = asyncio.Event(), list[str]()
    stream = _stream(_learning(learn, ended))
    await stream.start()
    closing = asyncio.create_task(stream.aclose())
    await asyncio.sleep(0)
    assert not closing.done()
    learn.set()
    await closing
    assert ended == ["learned"]


async def test_a_shutdown_cancels_the_learning_of_a_turn_that_nobody_listens_to() -> None:
    ended: list[str] = []
    stream = _stream(_learning(asyncio.Event(), ended))
    await stream.start()
    closing = asyncio.create_task(stream.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ended == ["cancelled"]


class _Connection:
    """The client's side of a response to a streamed turn."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.leave = asyncio.Event()

    async def receive(self) -> Message:
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if b"event: answer" in message.get("body", b""):
            self.answered.set()


async def test_a_shutdown_cancels_the_learning_of_a_turn_that_a_client_still_listens_to() -> None:
    learn, ended, connection = asyncio.Event(), list[str](), _Connection()
    stream = _stream(_learning(learn, ended))
    await stream.start()
    response = EventStreamResponse(stream)
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    serving = asyncio.create_task(response(scope, connection.receive, connection.send))
    await connection.answered.wait()
    serving.cancel()
    done, _ = await asyncio.wait({serving}, timeout=5)
    learn.set()
    assert done == {serving}
    assert serving.cancelled()
    assert ended == ["cancelled"]


async def test_a_client_that_leaves_after_its_answer_is_still_learned_from() -> None:
    learn, ended, connection = asyncio.Event(), list[str](), _Connection()
    stream = _stream(_learning(learn, ended))
    await stream.start()
    response = EventStreamResponse(stream)
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    serving = asyncio.create_task(response(scope, connection.receive, connection.send))
    await connection.answered.wait()
    connection.leave.set()
    await asyncio.wait({serving}, timeout=0.01)
    assert not serving.done()
    learn.set()
    await serving
    assert ended == ["learned"]
