"""Whenever the CCM is asked, the rules are those that it finds when it is asked in each turn.

Random conversations are held twice, with `every` and with `adaptive`, over kills, undo, pauses and
confirmations, failing and mute models, erasure, and long messages in between.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.errors import AccAceError, ModelUnavailable
from config import Settings
from schemas.commit import CommittedState
from schemas.interaction import Outcome
from schemas.report import TurnPaused
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.extensions import needs
from tests.fakes.reading_llm import fails, reads
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.talk import Talk, seen

QUIET = (
    "Carla signs the letters to the bank.",
    "Restarts belong to the night shift.",
    "Quiet hours start at ten for the pump.",
    "Customers hear from us by letter.",
    "Leave the valve to Carla.",
)
"""Rules that the trained reader does not suspect."""
LOUD = ("Never restart db-01.", "Refunds are for Carla to decide.", "Always name the ticket.")
LOOSE = ("Tidy old tickets as you go.", "Small refunds are fine from now on.")
TALK = (
    "The pump is loud again.",
    "Which valve is it?",
    "ok thanks",
    "What did Carla say about the kiln?",
    "The kiln reads 900 degrees. " * 90,
    "Die Pumpe ist heute wieder sehr laut und niemand weiß warum.",
)
KINDS = dict.fromkeys((*QUIET, *LOUD), "restriction") | dict.fromkeys(LOOSE, "permission")
STEPS = ("say",) * 9 + ("kill", "undo", "act", "answer", "lift", "erase", "down")


def mute(request: LlmRequest) -> dict[str, Any]:
    """A model that says nothing of rules."""
    return default_reply("compressor", prompt_text(request))


@dataclass
class Side:
    """One of the two conversations."""

    compress: Literal["every", "adaptive"]
    reading: Callable[[LlmRequest], dict[str, Any]]
    talk: Talk = field(init=False)
    act: str = ""
    down: bool = False
    waiting: dict[str, bool] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """The words of questions that were open."""

    def __post_init__(self) -> None:
        settings = Settings(
            store="memory",
            learning="off",
            compress=self.compress,
            tools=("tests.fakes.confirmed_tool:restart_server",),
        )
        llm = ScriptedLlm().on("generator", self._answer).on("compressor", self._read)
        self.talk = Talk(settings, llm)

    def _answer(self, _: LlmRequest) -> Any:
        act, self.act = self.act, ""
        if act == "kill":
            raise ModelUnavailable("generator: no network")
        return call("restart_server", server="web-03") if act else {"final_answer": "ok"}

    def _read(self, request: LlmRequest) -> dict[str, Any]:
        return fails(request) if self.down else self.reading(request)

    async def say(self, text: str, act: str = "") -> None:
        """A turn, that may fail or wait for a person."""
        self.act, events = act, []
        with suppress(AccAceError):
            events = await self.talk.events(text)
        waits = [event for event in events if isinstance(event, TurnPaused)]
        self.waiting = {each.id: True for event in waits for each in event.calls}
        self.asked |= {each.quote for each in (await self.state()).questions}

    async def confirm(self, *, yes: bool) -> None:
        """The person's answer to the call that waits."""
        with suppress(AccAceError):
            answers = dict.fromkeys(self.waiting, yes)
            [_ async for _ in self.talk.conversation.confirm(self.talk.key, answers)]
        self.waiting = {}

    async def undo(self) -> None:
        """The last turn is taken back, with what it asked."""
        before = {each.quote for each in (await self.state()).questions}
        with suppress(AccAceError):
            await self.talk.conversation.undo(self.talk.key)
            self.asked -= before - {each.quote for each in (await self.state()).questions}

    async def state(self) -> CommittedState:
        """What is committed."""
        return await self.talk.conversation.state(self.talk.key) or CommittedState()


@dataclass
class Pair:
    """Both of them, held alike."""

    every: Side
    adaptive: Side
    random: Random
    said: list[str] = field(default_factory=list)

    async def step(self, step: str) -> None:
        """One thing happens in both."""
        chance = self.random
        text = chance.choice([*QUIET, *LOUD, *LOOSE, *TALK, *TALK])
        if chance.random() < 0.3:
            text = f"{text} {chance.choice(TALK[:2])}"
        yes = chance.random() < 0.5
        match step:
            case "lift":
                return await self._lift()
            case "answer" if not self.adaptive.waiting or not self.every.waiting:
                return None
        for side in (self.every, self.adaptive):
            talk = side.talk
            match step:
                case "say" | "down":
                    side.down = step == "down"
                    await side.say(text)
                    side.down = False
                case "kill" | "act":
                    await side.say(text, step)
                case "answer":
                    await side.confirm(yes=yes)
                case "undo":
                    await side.undo()
                case "erase":
                    await talk.conversation.forget_session(talk.key)
                    side.asked.clear()
        await self._words_stand()
        return None

    async def _lift(self) -> None:
        mine, other = await self.every.state(), await self.adaptive.state()
        names = {pin.text: pin.id for pin in other.pins}
        for pin in mine.pins[:1]:
            if pin.text in names:
                await self.every.say(f"lift {pin.id}")
                await self.adaptive.say(f"lift {names[pin.text]}")

    async def _words_stand(self) -> None:
        """What was said and is not read stands in the newest request, word for word."""
        talk = self.adaptive.talk
        kept = await talk.container.evidence.list(talk.key, limit=50)
        state = await self.adaptive.state()
        if not kept or kept[0].outcome is not Outcome.ANSWERED or not state.turn:
            return
        request = seen(talk.llm.requests_of("generator")[-1])
        for each in kept:
            if each.invocation_id == state.read_to:
                break
            if each.outcome in {Outcome.ANSWERED, Outcome.PAUSED, Outcome.FAILED}:
                assert each.input.text in request or not each.input.authority.may_rule


@needs("guard")
@pytest.mark.parametrize(
    "seed", [*range(30), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(30, 150))]
)
async def test_the_rules_are_those_of_a_ccm_that_is_asked_in_each_turn(seed: int) -> None:
    random = Random(seed)
    reading = mute if seed % 5 == 4 else reads(KINDS)
    pair = Pair(Side("every", reading), Side("adaptive", reading), random)
    steps = [random.choice(STEPS) for _ in range(random.randrange(4, 14))]
    has_fault = "down" in steps and reading is not mute
    for step in steps:
        await pair.step("say" if step == "down" and reading is mute else step)
    for side in (pair.every, pair.adaptive):
        for _ in range(6):  # By the sixth turn all is read.
            await side.say("Which valve is it?")
    every, adaptive = await pair.every.state(), await pair.adaptive.state()
    rules = [[pin.text for pin in state.pins] for state in (every, adaptive)]
    if has_fault:
        # What a reader alone heard came first.
        assert set(rules[0]) == set(rules[1])
    else:
        assert rules[0] == rules[1]
        assert pair.adaptive.asked == pair.every.asked
    if not {"undo", "down"} & {*steps}:
        assert [pin.id for pin in every.pins] == [pin.id for pin in adaptive.pins]
    assert every.ccs.goal_orientation == adaptive.ccs.goal_orientation
