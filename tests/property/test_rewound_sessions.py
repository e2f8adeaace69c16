"""Whatever is said, asked, answered, taken back and deleted, a turn loads what ADK leaves.

The measure is the same session in ADK's eyes with every event that it ever had: a turn never loads
a word that was taken back, it has the newest events and the calls that wait, and a rewind brings
the state that was. To look longer than the suite does:

    REWOUND_LIVES=2000 pytest tests/property/test_rewound_sessions.py
"""

import asyncio
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events._rewind_events import _apply_rewinds
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from acc_ace.adk.sessions.event_retention import Retention
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from schemas.base import SessionKey
from tests.fakes.examples import examples
from tests.fakes.extensions import server_database
from tests.fakes.session_services import in_file, over

KEYS = ("cart", "name")
BEGUN = {"cart": "begun"}

EXAMPLES = int(os.environ.get("REWOUND_LIVES", examples(fast=8, soak=30)))

KINDS = ["talk", "talk", "ask", "ask two", "answer", "answer apart", "rewind", "rewind", "refused"]
# What happens next; the numbers choose what is changed, answered or gone back to.
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5)), max_size=16)

Service = SqlSessionService
Open = Callable[[int, Retention], Service]


def answered_in(events: list[Event]) -> set[str | None]:
    return {answer.id for event in events for answer in event.get_function_responses()}


def waiting(events: list[Event]) -> list[tuple[str, str]]:
    """The calls of events that none of them answers, and their turns."""
    done = answered_in(events)
    return [
        (event.invocation_id, str(found.id))
        for event in events
        for found in event.get_function_calls()
        if found.id not in done
    ]


class Life:
    """A session in our service, and all that it ever was."""

    def __init__(self, service: Service, session: str, recent: int) -> None:
        self.service, self.recent = service, recent
        self.here: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": session}
        self.all: list[Event] = []
        self.number = 0

    async def live(self, steps: list[tuple[str, int]]) -> None:
        await self.service.create_session(**self.here, state=dict(BEGUN))
        for self.number, (kind, choice) in enumerate(steps, 1):
            await self.step(kind, choice)
            await self.check()

    async def step(self, kind: str, choice: int) -> None:
        turn = f"i-{self.number}"
        match kind:
            case "talk":
                await self.say(turn)
                await self.answer(turn, choice)
            case "ask" | "ask two":
                await self.say(turn)
                await self.ask(turn, choice, calls=1 if kind == "ask" else 2)
            case "answer" | "answer apart":
                await self.give(choice, turn if kind == "answer apart" else None)
            case "rewind":
                await self.rewind(turn, choice)
            case "refused":
                await self.refuse(turn, choice)

    async def say(self, turn: str) -> None:
        words = types.UserContent(f"Words {self.number}.")
        await self.append(Event(invocation_id=turn, author="user", content=words))

    async def answer(self, turn: str, choice: int) -> None:
        words = types.ModelContent(f"Answer {self.number}.")
        await self.append(
            Event(invocation_id=turn, author="desk", content=words, actions=self.change(choice))
        )

    async def ask(self, turn: str, choice: int, *, calls: int) -> None:
        names = [f"c-{self.number}-{each}" for each in range(calls)]
        parts = [
            types.Part(function_call=types.FunctionCall(id=name, name="approve", args={}))
            for name in names
        ]
        asked = Event(
            invocation_id=turn,
            author="desk",
            content=types.Content(role="model", parts=parts),
            long_running_tool_ids=set(names),
            actions=self.change(choice),
        )
        await self.append(asked)

    async def give(self, choice: int, apart: str | None) -> None:
        """Answer a call that a turn has loaded, in its own turn or in one apart."""
        calls = waiting(_apply_rewinds(await self.loaded()))
        if not calls:
            return
        turn, name = calls[choice % len(calls)]
        given_ = types.FunctionResponse(id=name, name="approve", response={"ok": True})
        content = types.Content(role="user", parts=[types.Part(function_response=given_)])
        await self.append(Event(invocation_id=apart or turn, author="user", content=content))
        await self.answer(apart or turn, choice)

    async def rewind(self, turn: str, choice: int) -> None:
        """Go back before a turn that is loaded."""
        words = [event for event in await self.loaded() if event.content]
        turns = list(dict.fromkeys(event.invocation_id for event in words))
        if not turns:
            return
        before = turns[choice % len(turns)]
        started = [event.invocation_id for event in self.all].index(before)
        held: dict[str, Any] = dict(BEGUN)
        for event in self.all[:started]:
            held |= event.actions.state_delta
        actions = EventActions(rewind_before_invocation_id=before)
        await self.append(Event(invocation_id=turn, author="user", actions=actions))
        session = await self.service.get_session(**self.here, config=None)
        assert session is not None
        assert [session.state.get(key) for key in KEYS] == [held.get(key) for key in KEYS]

    async def refuse(self, turn: str, choice: int) -> None:
        """Words that are deleted at once: their turn did not get the session."""
        event = Event(invocation_id=turn, author="user", actions=self.change(choice))
        event.content = types.UserContent(f"Refused {self.number}.")
        await self.append(event)
        await self.service.delete_events(SessionKey(*self.here.values()), [event.id])

    def change(self, choice: int) -> EventActions:
        """A change of state, or none."""
        return EventActions(
            state_delta={KEYS[choice]: f"v{self.number}"} if choice < len(KEYS) else {}
        )

    async def append(self, event: Event) -> None:
        session = await self.service.get_session(**self.here, config=None)
        assert session is not None
        await self.service.append_event(session, event)
        self.all.append(event)

    async def loaded(self, config: GetSessionConfig | None = None) -> list[Event]:
        session = await self.service.get_session(**self.here, config=config)
        assert session is not None
        return session.events

    async def check(self) -> None:
        live = _apply_rewinds(self.all)
        names = {event.id for event in live}
        loaded = _apply_rewinds(await self.loaded())
        found = {event.id for event in loaded}
        assert found <= names
        whole = await self.service.get_session(**self.here)
        assert whole is not None
        newest = {event.id for event in whole.events[len(whole.events) - self.recent :]}
        assert newest & names <= found
        # A call waits again when its answer was taken back, unless its turn was deleted before.
        kept = {event.id for event in whole.events}
        stored = [event for event in live if event.id in kept]
        assert set(waiting(live)) & set(waiting(stored)) <= set(waiting(loaded))
        for number in (1, 3, 6):
            part = await self.loaded(GetSessionConfig(num_recent_events=number))
            assert {event.id for event in _apply_rewinds(part)} <= names


def run_lives(open_service: Open, *, examples: int) -> None:
    numbers = count()

    @settings(max_examples=examples)
    @given(STEPS, st.sampled_from([0, 3, 6, 50]), st.sampled_from([None, 2, 3, 5]))
    def any_life(steps: list[tuple[str, int]], recent: int, turns: int | None) -> None:
        life = Life(open_service(recent, Retention(turns)), f"s-{next(numbers)}", recent)
        loop.run(life.live(steps))

    with asyncio.Runner() as loop:
        any_life()


@pytest.mark.hypothesis
def test_a_turn_loads_what_adk_leaves_of_a_session_in_a_file(tmp_path: Path) -> None:
    opened: list[SqlSessionService] = []

    def another(recent: int, retention: Retention) -> Service:
        opened.append(in_file(tmp_path, recent_events=recent, retention=retention))
        return opened[-1]

    run_lives(another, examples=EXAMPLES)
    for service in opened:
        asyncio.run(service.close())


@pytest.mark.soak
def test_a_turn_loads_what_adk_leaves_of_a_session_in_postgresql(
    request: pytest.FixtureRequest,
) -> None:
    database = server_database(request)
    run_lives(
        lambda recent, retention: over(database, recent_events=recent, retention=retention),
        examples=EXAMPLES // 2,
    )
    asyncio.run(database.close())
