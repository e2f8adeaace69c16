"""One session under the plugin: its processes, its runs, and how their clients read them."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.errors._invocation_not_found_error import InvocationNotFoundError
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai import types

from tests.pipeline.desk import text_of
from tests.property.plugin_app import KEY, PLAN, Plan, PlannedApp


@dataclass(eq=False)
class Run:
    """One run: what it brings, how its client reads it, and what came of it."""

    plan: Plan
    message: types.Content | None
    rule: str = ""
    resumes: str = ""
    """The invocation that a result, or the id alone, goes on with."""
    client: str = "reads"
    at: int = 0
    """Events, or steps of the event loop, after which the client does what it does."""
    stream: bool = False
    may_pause: bool = False
    """Whether it is planned to call what waits for a person."""
    events: list[Event] = field(default_factory=list)
    error: Exception | None = None
    whole: bool = False
    """Whether the client read to the end."""

    @property
    def invocation(self) -> str:
        """Which one it was; none if it ended before it was one."""
        return self.plan.invocation

    @property
    def text(self) -> str:
        """The words of the user."""
        parts = (self.message.parts if self.message else None) or []
        return "".join(part.text or "" for part in parts)

    @property
    def answered(self) -> bool:
        """Whether the client saw an answer."""
        return any(_speaks(event) for event in self.events)

    @property
    def pauses(self) -> bool:
        """Whether the run ended in a call that waits, as far as the client saw."""
        pending: set[str] = set()
        for event in self.events:
            if event.partial:
                continue
            pending |= set(event.long_running_tool_ids or ())
            pending -= {response.id for response in event.get_function_responses()}
            if _speaks(event) and not event.get_function_calls():
                # An agent that speaks after such a call has answered.
                pending.clear()
        return bool(pending)

    def __str__(self) -> str:
        reported = [
            f"{e.author}:{text_of(e)[:20]}{[c.name for c in e.get_function_calls()]}"
            f"{[r.name for r in e.get_function_responses()]}"
            for e in self.events
        ]
        return (
            f"[{self.plan.word} '{self.text}' {self.client} whole={self.whole} "
            f"error={self.error!r} invocation={self.invocation} events={reported}]"
        )


@dataclass(frozen=True)
class Waiting:
    """A call that a person may answer, now or later, once or more."""

    call: types.FunctionCall
    event: Event


class World:
    """Two processes over the same files, and the runs of one session in them."""

    def __init__(self, directory: Path, **app: Any) -> None:
        self._directory, self._app = directory, app
        self._memory = InMemorySessionService()
        self.app, self.other = self._open(), self._open()
        self._number = 0

    def word(self) -> str:
        """A marker that no other run has."""
        self._number += 1
        return f"w{self._number}x"

    def _open(self) -> PlannedApp:
        return PlannedApp(self._directory, memory=self._memory, **self._app)

    async def restart(self) -> None:
        """End a process and begin another one."""
        await self.app.close()
        self.app = self._open()

    def swap(self) -> None:
        """Go on in the other process."""
        self.app, self.other = self.other, self.app

    async def close(self) -> None:
        """End both processes."""
        await self.app.close()
        await self.other.close()

    async def settle(self) -> None:
        """Wait until no turn is being closed."""
        await asyncio.sleep(0)
        await self.app.plugin.close()
        await self.other.plugin.close()

    def refuse(self, table: str) -> None:
        """Let the database refuse rows of a table; of none with ''."""
        with closing(sqlite3.connect(self._directory / "data" / "memory.db")) as connection:
            connection.execute("DROP TRIGGER IF EXISTS refuse")
            if table:
                connection.execute(
                    f"CREATE TRIGGER refuse BEFORE INSERT ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'refused'); END"
                )
            connection.commit()

    async def rewind(self, invocation: str) -> None:
        """Let ADK take back an invocation and all after it, if it can find it."""
        try:
            await self.app.runner.rewind_async(
                user_id=KEY.user, session_id=KEY.session, rewind_before_invocation_id=invocation
            )
        except InvocationNotFoundError:
            return

    async def do(self, run: Run, app: PlannedApp | None = None) -> None:
        """Drive a run as its client does, in the current task."""
        PLAN.set(run.plan)
        try:
            async with asyncio.timeout(None) as limit:
                waiting = asyncio.create_task(_expire(run, limit))
                try:
                    await _read(run, app or self.app)
                finally:
                    waiting.cancel()
        except TimeoutError:
            return
        except (RuntimeError, ValueError) as error:
            run.error = error

    async def do_apart(self, run: Run, app: PlannedApp | None = None) -> None:
        """Drive a run in a task of its own, which is cancelled when it waits for nothing."""
        task = asyncio.create_task(self.do(run, app))
        if run.client == "is cut":
            for _ in range(run.at**3):
                await asyncio.sleep(0)
        else:
            hung = asyncio.create_task(run.plan.hung.wait())
            await asyncio.wait({task, hung}, return_when=asyncio.FIRST_COMPLETED)
            hung.cancel()
        task.cancel()
        await asyncio.wait({task})


async def _expire(run: Run, limit: asyncio.Timeout) -> None:
    await run.plan.hung.wait()
    if run.client == "times out":
        limit.reschedule(asyncio.get_running_loop().time())


async def _read(run: Run, app: PlannedApp) -> None:
    events = app.runner.run_async(
        user_id=KEY.user,
        session_id=KEY.session,
        new_message=run.message,
        invocation_id=run.resumes if run.message is None else None,
        run_config=RunConfig(
            streaming_mode=StreamingMode.SSE if run.stream else StreamingMode.NONE
        ),
        abort_signal=run.plan.hung if run.client == "aborts" else None,
    )
    if run.client == "drops":
        # As ADK's tutorial does: the loop closes the generator when nobody holds it any more.
        await _read_events(run, events)
        return
    async with aclosing(events):
        await _read_events(run, events)


async def _read_events(run: Run, events: AsyncGenerator[Event, None]) -> None:
    async for event in events:
        run.events.append(event)
        far = len(run.events) > run.at
        if far and run.client in {"leaves", "drops"}:
            return
        if run.client == "breaks at the answer" and event.is_final_response():
            return
        if far and run.client == "is cancelled":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
    run.whole = not (run.client == "aborts" and run.plan.hung.is_set())


def _speaks(event: Event) -> bool:
    notes = ((event.custom_metadata or {}).get("acc_ace") or {}).get("notes") or ()
    # An event of notes alone follows the last answer so far; it is none.
    text = text_of(event).replace("\n".join(notes), "").strip()
    said = event.author != "user" and not event.partial and bool(text)
    return said and event.is_final_response()
