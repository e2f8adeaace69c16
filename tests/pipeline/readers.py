"""Agents of a host's own, which answer from the events of their session without a request here."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import PrivateAttr

from tests.fakes.scripted_llm import text_content
from tests.pipeline.desk import text_of

STATE = '<input name="state">'
"""How CCS_t begins, wherever it is shown."""

PLAYBOOK = '<input name="playbook">'
"""How the playbook excerpt begins."""


class Reader(BaseAgent):
    """Keeps what it finds in `session.events` in each of its runs, and answers."""

    says: str = "Read."
    _seen: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[str]]:
        """The texts that each run found, event by event."""
        return self._seen

    @property
    def states(self) -> list[int]:
        """How often each run found CCS_t."""
        return [count(STATE, found) for found in self._seen]

    def look(self, ctx: InvocationContext) -> None:
        """Keep what is to be seen now."""
        self._seen.append([text_of(event) for event in ctx.session.events])

    def answer(self, ctx: InvocationContext) -> Event:
        """An event that answers."""
        return Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            branch=ctx.branch,
            content=text_content(self.says),
        )

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.look(ctx)
        yield self.answer(ctx)


class Remote(Reader):
    """Collects as RemoteA2aAgent does: backwards, until its own last answer."""

    def look(self, ctx: InvocationContext) -> None:
        """Keep what would be sent."""
        found: list[str] = []
        for event in reversed(ctx.session.events):
            if event.author == self.name:
                break
            found.append(text_of(event))
        self._seen.append([*reversed(found)])


class Waiting(Reader):
    """Looks when it begins, and again once it may go on; then it answers, or raises."""

    _goes_on: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _began: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @property
    def goes_on(self) -> asyncio.Event:
        """Set by the test, or by what runs beside it."""
        return self._goes_on

    @property
    def began(self) -> asyncio.Event:
        """Set once it has looked for the first time."""
        return self._began

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.look(ctx)
        self._began.set()
        await self._goes_on.wait()
        self.look(ctx)
        yield self.answer(ctx)


class Marking(Reader):
    """Keeps who said what it finds, and in which branch; and its own branch."""

    _marks: list[tuple[str, str | None, str | None]] = PrivateAttr(default_factory=list)

    @property
    def marks(self) -> list[tuple[str, str | None, str | None]]:
        """Of the first event that each run found: author and branch; then the run's branch."""
        return self._marks

    def look(self, ctx: InvocationContext) -> None:
        """Keep the marks too."""
        super().look(ctx)
        first = ctx.session.events[0]
        self._marks.append((first.author, first.branch, ctx.branch))


class Failing(Reader):
    """Raises as long as it is told to."""

    fails: bool = True

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.look(ctx)
        if self.fails:
            raise ConnectionError("the remote agent is down")
        yield self.answer(ctx)


class Orchestrator(Reader):
    """Runs its sub-agents by code, as ADK's guide to custom agents does, and says nothing."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.look(ctx)
        for agent in self.sub_agents:
            try:
                async for event in agent.run_async(ctx):
                    yield event
            except ConnectionError:
                continue
        self.look(ctx)


def texts_of(request: LlmRequest) -> list[str]:
    """The texts that a model was sent: those of the instruction, and of each content."""
    said = request.config.system_instruction
    instruction = said.parts or [] if isinstance(said, types.Content) else [said or ""]
    parts = [*instruction, *(part for each in request.contents for part in each.parts or [])]
    return [part.text or "" if isinstance(part, types.Part) else str(part) for part in parts]


def count(text: str, found: Sequence[str]) -> int:
    """How often a text stands in some."""
    return sum(each.count(text) for each in found)
