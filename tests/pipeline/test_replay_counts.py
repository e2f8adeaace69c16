"""A replay leaves nothing out, however few tokens its model counts."""

from collections.abc import AsyncIterator
from math import ceil

import pytest

from acc_ace.config import ROLES
from acc_ace.conversation import Conversation
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputTooLargeError
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.test_session_life import Life

BUDGET = 6_000
FILLER = "word " * 600


class CountingLlm(ScriptedLlm):
    """Counts a share of what the estimate says."""

    share: float = 0.7

    async def count_tokens(self, text: str) -> int:
        return ceil(self.share * estimate_tokens(text))


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place, offload=False, limits={"replay_tokens": BUDGET})
    living.llm = CountingLlm()
    living.conversation = Conversation(living.container, models=dict.fromkeys(ROLES, living.llm))
    yield living
    await living.conversation.close()


async def replay_until_refused(life: Life) -> int:
    """How many turns were answered, each of which was shown all earlier ones."""
    for number in range(1, 60):
        try:
            await life.say(f"number-{number}. {FILLER}", memory="replay")
        except InputTooLargeError:
            return number - 1
        request = str(life.llm.requests_of("generator")[-1].contents)
        shown = [earlier for earlier in range(1, number) if f"number-{earlier}. " in request]
        assert shown == list(range(1, number))
    raise AssertionError("no turn was refused")


async def test_a_model_that_counts_fewer_tokens_is_shown_every_turn_or_refused(life: Life) -> None:
    turns = await replay_until_refused(life)
    assert turns * estimate_tokens(FILLER) > BUDGET


async def test_a_model_that_counts_next_to_nothing_is_refused_rather_than_cut(life: Life) -> None:
    assert isinstance(life.llm, CountingLlm)
    life.llm.share = 0.001
    turns = await replay_until_refused(life)
    assert turns * estimate_tokens(FILLER) > 3 * BUDGET
