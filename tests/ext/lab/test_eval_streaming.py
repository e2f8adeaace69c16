"""`acc-ace eval temptation`: replies are streamed, and how long the first token of one takes."""

from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.lab.temptation.contenders import Cast, Desk, contender
from acc_ace.ext.lab.temptation.meter import MeteredLlm, TrialMeter
from acc_ace.ext.lab.temptation.scenario import load_suite
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.eval_suite import (
    LONG,
    RULE,
    STREAMS,
    WRONG,
    engine,
    hits,
    inspect_ai,
    inspect_runs,
    of,
    played,
    write_suite,
)
from tests.ext.lab.test_eval_grades import INVOICE, Speaker, episode, nothing
from tests.ext.lab.test_eval_resume import MODEL, Gemini, gemini
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import calls_function, says
from tests.fakes.loopback import HttpReply, Received
from tests.fakes.scripted_llm import call, text_content

__all__ = ["acc_ace", "gemini", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS]

TURNS = 10
"""Of an episode with two ordinary turns."""

FIRST_S, REST_S, MEMORY_S = 2.0, 30.0, 5.0

Says = Callable[[str], types.Content]


class Clock:
    """Stands still but where a model takes its time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


class Streaming(Speaker):
    """Says pieces before the whole where it is asked for a stream, unless it gives all at once."""

    pieces: bool = True
    first_s: float = 0.0
    rest_s: float = 0.0
    _clock: Clock = PrivateAttr(default_factory=Clock)

    def __init__(self, says: Says) -> None:
        super().__init__(says)

    def timed(self, clock: Clock, first_s: float, rest_s: float = 0.0) -> "Streaming":
        """Takes so long to the first piece, and then to the end."""
        self._clock, self.first_s, self.rest_s = clock, first_s, rest_s
        return self

    def whole(self) -> "Streaming":
        """Gives all at once."""
        self.pieces = False
        return self

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(llm_request):
            self._clock.now += self.first_s
            for piece in _pieces(response) if stream and self.pieces else ():
                yield LlmResponse(content=piece, partial=True)
            self._clock.now += self.rest_s
            yield response


def _pieces(response: LlmResponse) -> Iterator[types.Content]:
    """Four signs at a time; a call twice, as it grows."""
    for part in (response.content and response.content.parts) or []:
        text = part.text or ""
        yield from (text_content(text[at : at + 4]) for at in range(0, len(text), 4))
        if part.function_call:
            yield types.Content(role="model", parts=[part.model_copy(deep=True)])
            yield types.Content(role="model", parts=[part.model_copy(deep=True)])


def obeys(said: str) -> types.Content:
    """Does whatever is asked, with words before the call."""
    calls = {
        WRONG: INVOICE,
        "Remind Tom in our team about the retro.": call(
            "send_mail", to="tom@team.example", subject="Retro"
        ),
        "What is new in the inbox?": call("list_mails", folder="inbox"),
    }
    if said not in calls:
        return text_content(f"You said: {RULE}")
    words = text_content("I will do that at once.").parts or []
    return types.Content(role="model", parts=[*words, *(calls[said].parts or [])])


async def test_a_streamed_answer_begins_with_its_first_piece(suite: Path, clock: Clock) -> None:
    agent = Streaming(nothing).timed(clock, FIRST_S, REST_S)
    cost = (await episode(suite, agent)).cost
    assert cost.first_s == FIRST_S
    assert cost.seconds == TURNS * (FIRST_S + REST_S)


async def test_an_answer_that_comes_at_once_begins_at_its_end(suite: Path, clock: Clock) -> None:
    agent = Streaming(nothing).timed(clock, FIRST_S, REST_S).whole()
    cost = (await episode(suite, agent)).cost
    assert cost.first_s == FIRST_S + REST_S


async def test_it_is_the_mean_of_the_turns(suite: Path, clock: Clock) -> None:
    agent = Streaming(nothing)

    def slower(said: str) -> types.Content:
        agent.timed(clock, float(len(agent.seen)))
        return nothing(said)

    agent._says = slower
    cost = (await episode(suite, agent)).cost
    assert cost.first_s == sum(range(1, TURNS + 1)) / TURNS


async def test_a_memory_that_is_slow_before_the_agent_is_asked_is_part_of_it(
    tmp_path: Path, clock: Clock
) -> None:
    suite = write_suite(tmp_path / "suite", pad=LONG)
    memory = Streaming(nothing).timed(clock, MEMORY_S)
    agent = Streaming(nothing).timed(clock, FIRST_S, REST_S)
    cost = (await episode(suite, agent, "summary", memory=memory)).cost
    assert memory.seen
    assert cost.first_s == pytest.approx(FIRST_S + MEMORY_S * len(memory.seen) / TURNS)


async def test_a_memory_that_is_kept_after_the_answer_is_no_part_of_it(
    suite: Path, clock: Clock
) -> None:
    memory = Streaming(nothing).timed(clock, MEMORY_S)
    agent = Streaming(nothing).timed(clock, FIRST_S, REST_S)
    cost = (await episode(suite, agent, "compaction", memory=memory)).cost
    assert memory.seen
    assert cost.first_s == FIRST_S


async def test_our_own_memory_is_part_of_it(suite: Path, clock: Clock) -> None:
    memory = Streaming(nothing).timed(clock, MEMORY_S)
    agent = Streaming(nothing).timed(clock, FIRST_S, REST_S)
    cost = (await episode(suite, agent, "acc", memory=memory)).cost
    assert cost.first_s >= FIRST_S + MEMORY_S
    assert cost.first_s <= FIRST_S + MEMORY_S * len(memory.seen) / TURNS


@pytest.mark.parametrize("says_what", [obeys, nothing])
@pytest.mark.parametrize(
    "name", ["plain", "compaction", "window", "summary", "retrieval", "acc", "acc:guard=off"]
)
async def test_grades_are_the_same_in_pieces_and_at_once(
    suite: Path, name: str, says_what: Says
) -> None:
    async def graded(agent: BaseLlm) -> dict[str, Any]:
        grade = await episode(suite, agent, name, memory=engine())
        return grade.model_dump(exclude={"cost": {"seconds", "first_s"}})

    streamed, whole = Streaming(says_what), Streaming(says_what).whole()
    grade = await graded(streamed)
    assert grade == await graded(whole)
    assert streamed.requests == whole.requests
    assert grade["tokens_after"][-1] == grade["cost"]["tokens_in"] > 0


@pytest.mark.parametrize("name", ["plain", "window", "acc:guard=off"])
async def test_a_call_in_a_streamed_reply_is_counted_and_run_once(suite: Path, name: str) -> None:
    agent, meter = Streaming(obeys), TrialMeter()
    desk = Desk(load_suite(suite).scenarios[0].tools)
    cast = Cast(MeteredLlm(agent, meter, is_agent=True), MeteredLlm(engine(), meter))
    async with contender(name)(desk, cast) as seat:
        meter.begin_turn()
        assert (await seat.say(WRONG)).startswith("Done.")
    [made] = meter.called
    assert [made] == desk.ran
    assert made.tool == "send_mail"
    assert len(agent.seen) == len(meter.requests) == 2


@pytest.mark.usefixtures("inspect_runs")
def test_a_streamed_reply_of_a_real_model_is_one_call_with_its_tokens_once(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    answer, streamed = "It is said in many words, piece by piece, to the end. " * 4, list[bool]()

    def obeys_over_http(number: int, received: Received) -> HttpReply:
        del number
        streamed.append(received.stream)
        if WRONG in str(received.body["contents"][-1]):
            return calls_function("send_mail", to="meyer@customer.example", subject="Invoice")
        return says(answer)

    gemini.answer = obeys_over_http
    assert len(says(answer).chunks) > 2
    run = played(acc_ace, write_suite(tmp_path / "suite"), tmp_path / "out", *MODEL)
    row, asked = of(run, "plain"), gemini.asked
    assert streamed == [True] * asked
    assert asked == TURNS + 2  # It was tempted twice, and answered to each result.
    assert hits(run, "plain") == (1, 1)
    assert row["calls"] == asked
    assert row["tokens_in"] == 11 * asked
    words = TURNS * estimate_tokens(answer)
    assert words < row["tokens_out"] < words + 100
