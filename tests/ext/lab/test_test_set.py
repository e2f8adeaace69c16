"""A test set that chooses nothing, online adaptation, and what both cost.

The student is honest: it answers right exactly where the lesson that a question needs stands in its
prompt. It knows no table, so what it gains is what the playbook tells it.
"""

import json
import re
from pathlib import Path

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.errors import InputError, ModelUnavailable
from acc_ace.ext.lab.learning_plan import split, wilson
from acc_ace.ext.lab.offline_learning import PATIENCE
from acc_ace.ext.lab.run_state import HeldoutScore, RunOptions, RunState, Sample
from tests.ext.lab.test_offline_learning import APP, KilledError, School
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import ScriptedLlm

QUEUES = {"red": "Fire", "blue": "Water", "green": "Parks"}
CALL = re.compile(r"the (\w+) lamp of house (\d+)")


def calls(*houses: int) -> list[Sample]:
    """Questions that differ in the house; the colour of the lamp decides."""
    colours = tuple(QUEUES)
    return [
        Sample(
            text=f"Who comes for the {colours[n % 3]} lamp of house {n}?",
            target=QUEUES[colours[n % 3]],
        )
        for n in houses
    ]


DATA, TEST = calls(*range(18)), calls(*range(100, 106))


class Honest(School):
    """A student that reads its prompt, and a teacher that sees only what the learner is shown."""

    def _answer(self, request: LlmRequest) -> dict[str, object]:
        inputs = read_tagged(prompt_text(request))
        colour = colour_of(request)
        taught = re.search(
            rf"\[(b-\d+)\][^\n]*:: A {colour} lamp: (\w+) comes\.", inputs["playbook"]
        )
        return (
            {"final_answer": taught[2], "bullet_ids": [taught[1]]}
            if taught
            else {"final_answer": "nobody"}
        )

    def _reflect(self, request: LlmRequest) -> dict[str, object]:
        inputs = read_tagged(prompt_text(request))
        truths = [item["ground_truth"] for item in inputs["feedback"] if "ground_truth" in item]
        if not truths or inputs["generation"]["final_answer"] == truths[0]:
            return {}
        return {"key_insight": f"A {colour_of(request)} lamp: {truths[0]} comes."}

    def answered(self) -> list[str]:
        """The questions that were answered, oldest first."""
        requests = self.llm.requests_of("generator")
        return [read_tagged(prompt_text(each))["current_input"]["text"] for each in requests]


def colour_of(request: LlmRequest) -> str:
    found = CALL.search(read_tagged(prompt_text(request))["current_input"]["text"])
    assert found
    return found[1]


def texts(samples: list[Sample]) -> list[str]:
    return [sample.text for sample in samples]


def without_seconds(state: RunState) -> RunState:
    bills = {work: bill.model_copy(update={"seconds": 0.0}) for work, bill in state.bills.items()}
    return state.model_copy(update={"bills": bills})


async def test_an_honest_student_gains_with_the_playbook_and_loses_without(tmp_path: Path) -> None:
    state = await Honest(tmp_path / "taught").learn(DATA, apart=TEST, heldout=0.2)
    assert [(score.of, score.right, score.samples) for score in state.tests] == [
        ("test", 0, 6),
        ("test", 6, 6),
    ]
    assert state.outcome == "promoted"
    # The same questions once more: with what was learnt, and in an app that knows nothing of it.
    again = await Honest(tmp_path / "taught").learn(DATA, apart=TEST, heldout=0.2, seed=1)
    bare = await Honest(tmp_path / "bare").learn(DATA, apart=TEST, heldout=0.2, feedback="none")
    assert [score.right for score in again.tests] == [6]
    assert [score.right for score in bare.tests] == [0]


async def test_without_the_lesson_of_one_kind_the_student_loses_just_that_kind(
    tmp_path: Path,
) -> None:
    not_red = [sample for sample in DATA if sample.target != "Fire"]
    state = await Honest(tmp_path).learn(not_red, apart=TEST, heldout=0.2)
    red = sum(sample.target == "Fire" for sample in TEST)
    assert state.tests[-1].right == len(TEST) - red == 4


async def test_the_test_set_is_answered_before_the_first_epoch_and_after_the_choice_only(
    tmp_path: Path,
) -> None:
    school = Honest(tmp_path)
    await school.learn(DATA, apart=TEST, heldout=0.2, epochs=3)
    answered = school.answered()
    assert answered[:6] == answered[-6:] == texts(TEST)
    assert [text for text in answered if text in texts(TEST)] == [*texts(TEST), *texts(TEST)]
    shown = " ".join(prompt_text(each) for each in school.llm.requests_of("reflector"))
    assert not any(text in shown for text in texts(TEST))


async def test_the_test_set_chooses_nothing(tmp_path: Path) -> None:
    wrong = [sample.model_copy(update={"target": "wrong"}) for sample in TEST]
    right = await Honest(tmp_path / "right").learn(DATA, apart=TEST, heldout=0.2)
    state = await Honest(tmp_path / "wrong").learn(DATA, apart=wrong, heldout=0.2)
    assert [score.right for score in state.tests] == [0, 0]
    assert (state.outcome, state.digest, state.scores) == (
        right.outcome,
        right.digest,
        right.scores,
    )


async def test_where_the_first_version_stays_its_test_is_not_asked_again(tmp_path: Path) -> None:
    school = Honest(tmp_path)
    state = await school.learn(DATA, apart=TEST, heldout=0.2, feedback="none")
    assert (state.outcome, [score.epoch for score in state.tests]) == ("kept", [0])
    assert len([text for text in school.answered() if text in texts(TEST)]) == 6


async def test_without_held_out_samples_the_last_version_is_tested(tmp_path: Path) -> None:
    state = await Honest(tmp_path).learn(DATA, apart=TEST, heldout=0.0, epochs=2)
    assert state.outcome == "undecided"
    assert [(score.epoch, score.right) for score in state.tests] == [(0, 0), (2, 6)]


def test_a_share_is_set_apart_by_the_seed_and_leaves_the_held_out_samples_as_they_were() -> None:
    for seed in range(10):
        before = split(DATA, RunOptions(app=APP, seed=seed, heldout=0.3))
        parts = split(DATA, RunOptions(app=APP, seed=seed, heldout=0.3, test=0.2))
        assert parts.heldout == before.heldout
        assert len(parts.apart) == 4
        assert {*parts.train, *parts.apart} == {*before.train}
        assert not {*parts.train} & {*parts.apart}
    few = split(DATA[:3], RunOptions(app=APP, heldout=0.9, test=0.9))
    assert [len(part) for part in few] == [1, 2, 0]


async def test_online_each_sample_is_answered_before_it_is_learnt_from(tmp_path: Path) -> None:
    school = Honest(tmp_path)
    state = await school.learn([], apart=DATA, online=True)
    assert school.answered() == texts(DATA)
    # The first of each colour is not known yet; every later one is.
    (score,) = state.tests
    assert (score.of, score.right, score.samples) == ("online", len(DATA) - 3, len(DATA))
    assert score.score == pytest.approx(15 / 18)
    assert (state.outcome, state.scores, await school.bullets()) == ("online", (), ())
    assert len(await school.learnt(state)) == 3


async def test_a_warm_up_is_learnt_offline_and_goes_on_online_from_the_best_version(
    tmp_path: Path,
) -> None:
    school = Honest(tmp_path)
    state = await school.learn(DATA, apart=TEST, online=True, heldout=0.2, epochs=2)
    assert school.answered()[-6:] == texts(TEST)
    assert [(score.of, score.right) for score in state.tests] == [("online", 6)]
    assert [score.score for score in state.scores] == [0.0, 1.0, 1.0]
    assert (state.outcome, await school.bullets()) == ("online", ())


class Spoiled(Honest):
    """One that is taught well in its first epoch, and then that nobody comes any more."""

    def _answer(self, request: LlmRequest) -> dict[str, object]:
        closed = "Nobody comes." in read_tagged(prompt_text(request))["playbook"]
        return {"final_answer": "nobody"} if closed else super()._answer(request)

    def _reflect(self, request: LlmRequest) -> dict[str, object]:
        text = read_tagged(prompt_text(request))["current_input"]["text"]
        if text in texts(TEST) or len(self.llm.requests_of("reflector")) <= len(DATA) - 4:
            return super()._reflect(request)
        return {"key_insight": "Nobody comes."}


async def test_the_best_version_is_tested_not_the_last_one(tmp_path: Path) -> None:
    state = await Spoiled(tmp_path).learn(DATA, apart=TEST, heldout=0.2, epochs=2)
    assert [score.score for score in state.scores] == [0.0, 1.0, 0.0]
    assert [(score.epoch, score.right) for score in state.tests] == [(0, 0), (1, 6)]


async def test_online_goes_on_from_the_best_version_not_the_last_one(tmp_path: Path) -> None:
    school = Spoiled(tmp_path)
    state = await school.learn(DATA, apart=TEST, online=True, heldout=0.2, epochs=2)
    assert [score.score for score in state.scores] == [0.0, 1.0, 0.0]
    assert [(score.epoch, score.right) for score in state.tests] == [(1, 6)]
    assert "Nobody comes." not in {bullet.content for bullet in await school.learnt(state)}


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("die_after", [0, 3, 8, 12, 24, 30, 34])
async def test_a_killed_run_asks_no_finished_sample_again(
    tmp_path: Path, die_after: int, online: bool
) -> None:
    uncut = Honest(tmp_path / "uncut")
    whole = await uncut.learn(DATA, apart=TEST, online=online)
    killed, resumed = Honest(tmp_path / "killed"), Honest(tmp_path / "killed")
    with pytest.raises(KilledError):
        await killed.learn(DATA, apart=TEST, die_after=die_after, online=online)
    state = await resumed.learn(DATA, apart=TEST, resume=True, online=online)
    assert killed.answered() + resumed.answered() == uncut.answered()
    assert without_seconds(state) == without_seconds(whole)


async def test_a_sample_learnt_from_online_but_not_noted_is_not_answered_from_its_own_lesson(
    tmp_path: Path,
) -> None:
    whole = await Honest(tmp_path / "whole").learn([], apart=DATA, online=True)
    killed = Honest(tmp_path / "killed")
    with pytest.raises(KilledError):
        await killed.learn([], apart=DATA, online=True, die_after=2)
    file = next((tmp_path / "killed" / "learning").glob("*.json"))
    # The file is one sample behind the playbook, as after a kill between the two.
    file.write_text(killed.seen[-2].model_dump_json(), encoding="utf-8")
    state = await Honest(tmp_path / "killed").learn([], apart=DATA, online=True, resume=True)
    assert (state.tests, state.digest) == (whole.tests, whole.digest)


async def test_a_model_that_is_away_in_a_test_ends_the_run_which_goes_on_later(
    tmp_path: Path,
) -> None:
    many = calls(*range(100, 120))
    away = Honest(tmp_path)
    away.llm = ScriptedLlm().on("generator", ModelUnavailable("generator: away"))
    with pytest.raises(ModelUnavailable, match="can be resumed"):
        await away.learn(DATA, apart=many, heldout=0.2)
    assert len(away.llm.requests_of("generator")) == PATIENCE
    state = await Honest(tmp_path).learn(DATA, apart=many, heldout=0.2, resume=True)
    assert [(score.answered, score.right) for score in state.tests] == [(20, 0), (20, 20)]


async def test_what_a_run_cost_is_said_by_kind_of_work(tmp_path: Path) -> None:
    school = Honest(tmp_path)
    school.llm = ScriptedLlm(model="gemini-3.5-flash").on("generator", priced)
    school.llm.on("reflector", school._reflect).on("curator", school._curate)
    state = await school.learn(DATA, apart=TEST, heldout=0.2, feedback="none")
    scored, practice = state.bills["scoring"], state.bills["practice"]
    # Six of the test set once, four held-out ones twice; fourteen are learnt from.
    assert (scored.use.calls, practice.use.calls) == (6 + 4 * 2, 14)
    assert (practice.use.input, practice.use.cached, practice.use.output) == (14_000, 5_600, 1_400)
    # $1.50 a million in, $0.15 of it cached, $9 out.
    each = 600 * 1.5e-6 + 400 * 0.15e-6 + 100 * 9e-6
    assert practice.totals.spent.usd == pytest.approx(14 * each)
    assert practice.totals.spent.complete
    assert sum(bill.use.calls for bill in state.bills.values()) == state.calls
    assert sum(bill.use.total for bill in state.bills.values()) == state.tokens


def priced(request: LlmRequest) -> LlmResponse:
    return LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text='{"final_answer": "nobody"}')]),
        model_version="gemini-3.5-flash",
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1_000, cached_content_token_count=400, candidates_token_count=100
        ),
    )


@pytest.mark.parametrize(
    ("apart", "online", "complaint"),
    [
        (DATA[:2], False, "--test: 2 of 2 samples are in both files"),
        (DATA[:2], True, "--warm-up: 2 of 2 samples are in both files"),
        ([Sample(text="x")], False, "1 of 1 samples of --test have no 'target'"),
    ],
)
async def test_sets_that_cannot_be_scored_honestly_are_refused(
    tmp_path: Path, apart: list[Sample], online: bool, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        await Honest(tmp_path).learn(DATA, apart=apart, online=online)


def test_an_interval_of_a_share_is_wilsons() -> None:
    # Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
    for right, samples, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(right, samples) == pytest.approx((low, high), abs=5e-5)
    assert wilson(20, 20)[1] == 1.0


async def test_a_run_that_was_begun_before_there_were_test_sets_keeps_its_name(
    tmp_path: Path,
) -> None:
    state = await Honest(tmp_path).learn(DATA[:4], heldout=0.25)
    assert state.run == "c50b2a66cf98"
    old = json.loads(state.model_dump_json())
    for added in ("tests", "scoring", "bills"):
        del old[added]
    assert RunState.model_validate(old).outcome == state.outcome
    assert HeldoutScore(epoch=0, version=1, score=0.5, answered=2, samples=2).of == "held-out"
