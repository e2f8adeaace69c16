"""Summaries and clocks: what a session's directory does not take is not asked for without end."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from acc_ace.config import ROLES
from acc_ace.conversation import Conversation
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import StoreError
from acc_ace.ext.strategies.memory import Summary
from tests.fakes.place import Place
from tests.fakes.stores import InMemorySessionDirectory
from tests.pipeline.test_session_life import KEY, Life


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    limits = {"history_tokens": 1_200}
    living = Life(place, summarises=True, memory="summary", offload=False, limits=limits)
    yield living
    await living.conversation.close()


class SummaryRefusedAgain(StoreError):
    """Ends work that would go on without end."""


class Refusing(InMemorySessionDirectory):
    """Takes no summary, and fails when it is given a second one."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Summary] = []

    async def summarise(self, key: SessionKey, summary: Summary) -> None:
        if self.given:
            raise SummaryRefusedAgain("a summary was made again")
        self.given.append(summary)


async def talk(life: Life) -> None:
    """So much that the oldest turns are to be summarised."""
    for number in range(32):
        await life.say(f"Sensor {number} reads {number * 7} degrees today.")


async def test_a_session_begun_while_the_clock_was_ahead_gets_one_summary(life: Life) -> None:
    life.clock.advance(hours=1)
    await life.say("Never restart db-01 by day.")
    life.clock.advance(minutes=-30)
    life.background.text = '{"summary": "All sensors are warm."}'
    await talk(life)
    await life.conversation.housekeep()
    record = await life.container.directory.find(KEY)
    assert record is not None
    assert record.summary is not None
    assert record.summary.content == "All sensors are warm."
    assert life.background.asked == 1
    assert life.container.unsummarised == set()


async def test_a_summary_that_is_not_taken_is_not_made_again_at_once(life: Life) -> None:
    await talk(life)
    await life.conversation.housekeep()
    directory = Refusing()
    await directory.open(KEY, at=life.clock.now(), memory="summary")
    others = Conversation(
        replace(life.container, directory=directory), models=dict.fromkeys(ROLES, life.background)
    )
    life.container.unsummarised.add(KEY)
    assert await others.housekeep() == 1
    assert len(directory.given) == 1
    await others.close()
