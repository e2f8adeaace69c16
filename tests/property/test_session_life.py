"""Whatever users do with sessions, and wherever a store fails or a process dies: the promises hold.

Turns, failing and abandoned ones, undo, rollback, reset, deletion, erasure,
background work and restarts come in any order, some of them in two processes at once. After each,
every session stands on the turns that it must stand on, its rules are those that were given, and no
word of what was undone, deleted or somebody else's is recalled, shown to a model or exported.

`SESSION_LIVES=1000 pytest tests/property/test_session_life.py` tries that many lives.
"""

import asyncio
import os
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from acc_ace.config import Settings
from acc_ace.errors import SessionBusyError
from tests.fakes.examples import examples
from tests.fakes.postgres_server import PostgresServer
from tests.property.failing_stores import Fault
from tests.property.life_at_once import SharedWorld, What
from tests.property.life_promises import USERS, Told
from tests.property.life_world import Kind

T = TypeVar("T")

LIVES = int(os.environ.get("SESSION_LIVES", examples(fast=6, soak=25)))

KINDS: st.SearchStrategy[Kind] = st.sampled_from(["note", "rule", "preference"])
LOST: st.SearchStrategy[Kind] = st.sampled_from(["note", "preference"])
"""What a turn that ends without an answer may say: a rule of one is in force in the next turn."""
QUESTIONS = st.sampled_from(
    ["", "", " Who listens on that port?", " What do I prefer, and what may be restarted?"]
)
USER, SESSION = st.sampled_from([0, 0, 0, 0, 1]), st.sampled_from([0, 0, 0, 1])
PICK = st.integers(0, 20)
WHAT: st.SearchStrategy[What] = st.sampled_from(
    ["note", "note", "rule", "undo", "reset", "deletion"]
)
HOW = st.sampled_from(["fails", "dies", "is cut"])


def faults(calls: int) -> st.SearchStrategy[Fault]:
    """Failures within so many calls."""
    return st.builds(Fault, at=st.integers(0, calls), done=st.booleans(), how=HOW)


class SessionLife(RuleBasedStateMachine):
    """Two users with two sessions each, over stores that fail."""

    def database(self) -> str | None:
        """URL of an empty PostgreSQL; None for SQLite."""
        return None

    @initialize(
        events=st.sampled_from(["keep", "trim", "offload"]),
        session_turns=st.integers(1, 3),
    )
    def begin(self, events: str, session_turns: int) -> None:
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(prefix="acc-ace-life-"))
        url = self.database()
        options: dict[str, Any] = {
            "store": "postgres" if url else "sqlite",
            "database_url": url,
            "session_events": events,
            "session_turns": session_turns,
            "limits": {"turn_wait_s": 0.2},
        }
        self.world = SharedWorld(
            Settings(data_dir=self.directory, learning="off", idle_s=600, **options)
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop of this life."""
        return self.runner.run(work)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.run(self.world.close())
            self.runner.close()
            rmtree(self.directory)

    @rule(
        user=USER,
        session=SESSION,
        kinds=st.lists(KINDS, min_size=1, max_size=3),
        more=QUESTIONS,
    )
    def some_turns(self, user: int, session: int, kinds: list[Kind], more: str) -> None:
        for kind in kinds:
            reported = self.world.reported(user, session)
            self.run(self.world.say(reported, kind, more=more))

    @rule(user=USER, session=SESSION, kind=LOST, fault=st.none() | faults(30))
    def a_turn_whose_model_fails(
        self, user: int, session: int, kind: Kind, fault: Fault | None
    ) -> None:
        self.run(self.world.say(self.world.reported(user, session), kind, fails=True, fault=fault))

    @rule(
        user=USER,
        session=SESSION,
        kind=LOST,
        after=st.integers(0, 14),
        fault=st.none() | faults(30),
    )
    def a_turn_whose_client_leaves(
        self, user: int, session: int, kind: Kind, after: int, fault: Fault | None
    ) -> None:
        reported = self.world.reported(user, session)
        self.run(self.world.say(reported, kind, leaves_after=after, fault=fault))

    @rule(user=USER, session=SESSION, kind=LOST, fault=faults(30))
    def a_turn_whose_store_fails(self, user: int, session: int, kind: Kind, fault: Fault) -> None:
        self.run(self.world.say(self.world.reported(user, session), kind, fault=fault))

    @rule(pick=PICK, fault=st.none() | faults(14), again=st.booleans())
    def an_undo(self, pick: int, fault: Fault | None, again: bool) -> None:
        for reported in self._picked(pick):
            self.run(self.world.undo(reported, fault, again=again))

    @rule(pick=PICK, version=PICK, fault=st.none() | faults(14), again=st.booleans())
    def a_rollback(self, pick: int, version: int, fault: Fault | None, again: bool) -> None:
        for reported in self._picked(pick):
            self.run(self.world.roll_back(reported, version, fault, again=again))

    @rule(pick=PICK, fault=st.none() | faults(12))
    def a_reset(self, pick: int, fault: Fault | None) -> None:
        for reported in self._picked(pick):
            self.run(self.world.reset(reported, fault))

    @rule(pick=PICK, keep=st.booleans(), fault=st.none() | faults(35))
    def a_deletion(self, pick: int, keep: bool, fault: Fault | None) -> None:
        for reported in self._picked(pick):
            self.run(self.world.delete(reported, keep=keep, fault=fault))
        self.run(self.world.check_gone())

    @rule(pick=PICK, first=WHAT, second=WHAT)
    def two_processes_at_once(self, pick: int, first: What, second: What) -> None:
        for reported in self._picked(pick):
            self.run(self.world.two_at_once(reported, first, second))
        self.run(self.world.check_gone())

    @rule(user=USER, fault=st.none() | faults(35))
    def an_erasure(self, user: int, fault: Fault | None) -> None:
        if len(self.world.whose) < 5:
            return
        self.run(self.world.erase(USERS[user], fault))
        self.run(self.world.check_gone())

    @rule(
        pick=PICK,
        what=st.sampled_from(["nothing", "turn", "undo", "rollback", "reset", "deletion"]),
        keep=st.booleans(),
        fault=st.none() | faults(35),
    )
    def background_work(self, pick: int, what: str, keep: bool, fault: Fault | None) -> None:
        async def use(reported: Told) -> None:
            match what:
                case "turn":
                    await self.world.say(reported, "preference")
                case "undo":
                    await self.world.undo(reported)
                case "rollback":
                    await self.world.roll_back(reported, pick)
                case "reset":
                    await self.world.reset(reported)
                case _:
                    await self.world.delete(reported, keep=keep, fault=None)

        async def meanwhile(text: str) -> None:
            if (reported := self.world.whose_words(text)) is not None:
                with suppress(SessionBusyError):
                    await use(reported)

        if what == "nothing":
            self.run(self.world.keep_house(fault))
        else:
            self.run(self.world.keep_house(meanwhile=meanwhile))

    @rule()
    def a_restart(self) -> None:
        self.run(self.world.restart())

    @invariant()
    def all_is_as_it_must_be(self) -> None:
        if hasattr(self, "world"):
            self.run(self.world.check())

    def _picked(self, pick: int) -> list[Told]:
        """One of the sessions that have a state, if any has.

        No precondition: it would rest on which of two processes came first.
        """
        started = self.world.started()
        return [started[pick % len(started)]] if started else []


def live(life: type[SessionLife], lives: int) -> None:
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=lives, stateful_step_count=20, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.hypothesis
def test_promises_hold_on_sqlite_whatever_happens() -> None:
    live(SessionLife, LIVES)


@pytest.mark.soak
def test_promises_hold_on_postgresql_whatever_happens(postgres: PostgresServer) -> None:
    class OnPostgres(SessionLife):
        def database(self) -> str:
            return postgres.clean_database()

    live(OnPostgres, max(LIVES // 3, 1))
