"""The learning cycle, turn by turn: what is reflected on, tagged and curated, and what is not."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest

from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import InputError, ModelRefused, ModelUnavailable, NotFoundError
from config import ROLES, Settings
from schemas.base import Authority, PlaybookScope
from schemas.bullet import Bullet
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord
from schemas.reflection import MAX_FEEDBACK, Judgement
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import Reply, ScriptedLlm
from tests.pipeline.desk import KEY as DESK
from tests.pipeline.desk import Desk
from tests.pipeline.talk import KEY, Talk

LESSON = "Check which server is meant before naming one."
ADD = {"operations": [{"type": "ADD", "section": "pitfalls", "content": LESSON}]}
NOTHING: dict[str, list[str]] = {"operations": []}
QUIET = {"key_insight": ""}


def tagged(tag: str, *, previous: bool = False, insight: str = "") -> dict[str, object]:
    """A reflection that tags the first bullet."""
    tags = [{"id": "b-00001", "tag": tag}]
    if previous:
        return {
            "corrects_previous": True,
            "previous_bullet_tags": tags,
            "key_insight": insight,
        }
    return {"bullet_tags": tags, "key_insight": insight}


def tagged_with(bullet_id: str) -> dict[str, object]:
    """A reflection that finds a bullet helpful."""
    return {"bullet_tags": [{"id": bullet_id, "tag": "helpful"}]}


def using(*ids: str) -> dict[str, object]:
    """An answer that used bullets."""
    return {"final_answer": "It is db-01.", "bullet_ids": list(ids)}


async def bullet(talk: Talk) -> Bullet:
    """The first bullet as it is now."""
    found = (await talk.conversation.playbook()).playbook.get("b-00001")
    assert found is not None
    return found


async def log(talk: Talk) -> Sequence[DeltaRecord]:
    """The delta log, newest first."""
    return await talk.conversation.deltas()


async def with_lesson(talk: Talk) -> Talk:
    """A talk whose playbook holds one lesson, from turn 1."""
    talk.llm.on("curator", ADD, NOTHING)
    await talk.say("Look at the servers.")
    return talk


async def test_a_correction_tags_the_bullets_of_the_turn_it_corrects() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"), using())
    talk.llm.on("reflector", QUIET, tagged("harmful", previous=True))
    await talk.say("Which server is down?")
    await talk.say("No, that's wrong. It is db-02.")
    assert (await bullet(talk)).harmful == 1
    record = (await log(talk))[0]
    assert (record.kind, record.status, record.turn) == ("TAG", DeltaStatus.APPLIED, 2)


async def test_a_bullet_that_was_merged_since_passes_its_tags_to_the_survivor() -> None:
    talk = Talk()
    two = [*ADD["operations"], {"type": "ADD", "section": "s", "content": "Ask which host it is."}]
    merge = {"type": "UPDATE", "bullet_id": "b-00001", "content": "Ask which host it is."}
    talk.llm.on("curator", {"operations": two}, {"operations": [merge]}, NOTHING)
    talk.llm.on("generator", using(), using("b-00001"), using())
    correction = tagged("harmful", previous=True)
    correction["previous_bullet_tags"] = [{"id": "b-00002", "tag": "harmful"}]
    talk.llm.on("reflector", QUIET, QUIET, correction, tagged_with("b-00002"))
    await talk.say("Look at the servers.")
    await talk.say("Which server is down?")
    await talk.say("No, that's wrong. It is db-02.")
    playbook = (await talk.conversation.playbook()).playbook
    assert [(item.id, item.harmful) for item in playbook.bullets] == [("b-00002", 1)]
    await talk.conversation.feedback(KEY, 2, Judgement(thumbs="up"))
    playbook = (await talk.conversation.playbook()).playbook
    assert [(item.id, item.helpful) for item in playbook.bullets] == [("b-00002", 1)]


async def test_only_a_turn_that_is_corrected_gets_tags_on_its_bullets() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"), using())
    uncorrected = {**tagged("harmful", previous=True), "corrects_previous": False}
    talk.llm.on("reflector", QUIET, uncorrected)
    await talk.say("Which server is down?")
    await talk.say("Thank you.")
    assert (await bullet(talk)).harmful == 0


async def test_a_tool_cannot_take_an_answer_back() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"), using())
    talk.llm.on("reflector", QUIET, tagged("harmful", previous=True))
    await talk.say("Which server is down?")
    await talk.say("No, that's wrong.", Authority.TOOL)
    assert (await bullet(talk)).harmful == 0


async def test_a_bullet_that_no_answer_used_takes_no_tag() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using())
    talk.llm.on("reflector", tagged("helpful"))
    await talk.say("Which server is down?")
    assert (await bullet(talk)).helpful == 0
    newest = (await log(talk))[0]
    assert (newest.kind, newest.reason) == ("TAG", "not_used")


async def test_the_reflector_sees_the_previous_turn_with_the_bullets_it_used() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"), using())
    await talk.say("Which server is down?")
    await talk.say("No.")
    seen = read_tagged(prompt_text(talk.llm.requests_of("reflector")[-1]))
    assert seen["previous_turn"] == {
        "input": "Which server is down?",
        "answer": "[text of the answer, 6 tokens]",
        "used_bullets": [{"id": "b-00001", "section": "pitfalls", "content": LESSON}],
    }


async def test_the_reflector_refines_at_most_so_many_rounds() -> None:
    talk = Talk(Settings(store="memory", reflector_max_rounds=3))
    rounds = iter(range(100))
    talk.llm.on("reflector", lambda _: {"key_insight": f"Insight {next(rounds)}."})
    await talk.say("Which server is down?")
    requests = talk.llm.requests_of("reflector")
    assert len(requests) == 3
    shown = [read_tagged(prompt_text(request))["previous_reflection"] for request in requests]
    assert [item and item["key_insight"] for item in shown] == [None, "Insight 0.", "Insight 1."]
    curator = read_tagged(prompt_text(talk.llm.requests_of("curator")[-1]))
    assert curator["reflection"]["key_insight"] == "Insight 2."


async def test_refining_ends_when_the_reflection_stays() -> None:
    talk = Talk(Settings(store="memory", reflector_max_rounds=5))
    talk.llm.on(
        "reflector",
        {"key_insight": "One.", "reasoning": "a"},
        {"key_insight": "Two.", "reasoning": "b"},
        {"key_insight": "Two.", "reasoning": "c"},
        AssertionError("a fourth round"),
    )
    await talk.say("Which server is down?")
    assert len(talk.llm.requests_of("reflector")) == 3


async def test_a_round_that_fails_leaves_the_reflection_of_the_round_before() -> None:
    talk = Talk(Settings(store="memory", reflector_max_rounds=3))
    talk.llm.on("reflector", {"key_insight": "One."}, ModelRefused("reflector: refused"))
    report = await talk.say("Which server is down?")
    curator = read_tagged(prompt_text(talk.llm.requests_of("curator")[-1]))
    assert curator["reflection"]["key_insight"] == "One."
    assert any("refused" in warning for warning in report.warnings)


@pytest.mark.parametrize("reply", ["", "not JSON", "[]", ModelUnavailable("curator: away")])
async def test_a_failed_curator_never_applies_the_previous_delta_again(reply: str) -> None:
    talk = Talk()
    talk.llm.on("curator", ADD, reply)
    await talk.say("Look at the servers.")
    before = await talk.conversation.playbook()
    seen = len(await log(talk))
    await talk.say("And again.")
    assert await talk.conversation.playbook() == before
    assert len(await log(talk)) == seen


@pytest.mark.parametrize("reply", ["", "null", ModelUnavailable("reflector: away")])
async def test_a_failed_reflector_never_counts_the_previous_tags_again(reply: str) -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"))
    talk.llm.on("reflector", tagged("helpful"), reply)
    await talk.say("Which server is down?")
    await talk.say("And which one is up?")
    assert (await bullet(talk)).helpful == 1
    # No reflection, so nothing to curate either.
    assert len(talk.llm.requests_of("curator")) == 2


async def test_a_delta_that_a_client_puts_into_the_state_is_not_applied() -> None:
    agent = LlmAgent(name="desk", model=ScriptedLlm(), instruction="Help.")
    desk = Desk(agent)
    desk.memory.on("curator", "")
    await desk.say(
        "Look at db-01.", state={"temp:curator_output": ADD, "temp:reflector_output": QUIET}
    )
    stored = await desk.container.playbooks.load(PlaybookScope(DESK.app))
    assert stored.version == 0


async def test_predicting_changes_nothing_of_the_playbook() -> None:
    talk = await with_lesson(Talk())
    before, seen = await talk.conversation.playbook(), await log(talk)
    settings = Settings(store="memory", learning="off")
    quiet = Conversation(
        replace(talk.container, settings=settings),
        session_service=talk.sessions,
        models=dict.fromkeys(ROLES, talk.llm),
    )
    talk.llm.on("generator", using("b-00001"))
    report = await quiet.turn(KEY, "Which server is down?")
    assert report.bullet_ids == ["b-00001"]
    assert await talk.conversation.playbook() == before
    assert await log(talk) == seen


@pytest.mark.parametrize(
    ("judgement", "shown"),
    [
        (Judgement(thumbs="down"), {"thumbs": "down"}),
        (Judgement(reward=-0.5), {"reward": -0.5}),
        (Judgement(ground_truth="db-02"), {"ground_truth": "db-02"}),
        (Judgement(comment="It was db-02."), {"comment": "It was db-02."}),
    ],
)
async def test_feedback_is_shown_to_the_reflector_with_the_turn_it_judges(
    judgement: Judgement, shown: dict[str, object]
) -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"), using())
    talk.llm.on("reflector", QUIET, QUIET, tagged("harmful"))
    await talk.say("Which server is down?")
    await talk.say("Something else.")
    report = await talk.conversation.feedback(KEY, 2, judgement)
    seen = read_tagged(prompt_text(talk.llm.requests_of("reflector")[-1]))
    assert seen["feedback"] == [shown]
    assert seen["current_input"]["text"] == "Which server is down?"
    assert [item["id"] for item in seen["used_bullets"]] == ["b-00001"]
    assert report.learned
    assert (await bullet(talk)).harmful == 1
    assert (await log(talk))[0].turn == 2


async def test_feedback_without_a_ground_truth_shows_none() -> None:
    talk = await with_lesson(Talk())
    seen = read_tagged(prompt_text(talk.llm.requests_of("reflector")[-1]))
    assert seen["feedback"] == []


async def test_the_same_feedback_is_learnt_from_once() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"))
    talk.llm.on("reflector", QUIET, tagged("helpful"))
    await talk.say("Which server is down?")
    calls = [talk.conversation.feedback(KEY, 2, Judgement(thumbs="up")) for _ in range(3)]
    reports = [await call for call in calls]
    assert [report.fresh for report in reports] == [True, False, False]
    assert all(report.learned for report in reports)
    assert (await bullet(talk)).helpful == 1


async def test_an_id_that_stands_for_other_feedback_is_refused() -> None:
    talk = await with_lesson(Talk())
    await talk.conversation.feedback(KEY, 1, Judgement(thumbs="up"), given_id="click")
    with pytest.raises(InputError, match="is taken; use another"):
        await talk.conversation.feedback(KEY, 1, Judgement(thumbs="down"), given_id="click")


@pytest.mark.parametrize("end", ["undone", "deleted", "erased"])
async def test_feedback_on_a_turn_that_is_taken_back_during_its_reflection_teaches_nothing(
    end: str,
) -> None:
    talk = Talk()
    ends: dict[str, Callable[[], Awaitable[object]]] = {
        "undone": lambda: talk.conversation.undo(KEY),
        "deleted": lambda: talk.conversation.forget_session(KEY),
        "erased": lambda: talk.conversation.erase(KEY.tenant),
    }

    async def reflect(request: LlmRequest) -> Reply:
        await ends[end]()
        return {"key_insight": LESSON}

    talk.llm.on("reflector", QUIET, reflect).on("curator", NOTHING, ADD)
    await talk.say("Which server is primary?")
    with pytest.raises(NotFoundError, match="no answered turn 1"):
        await talk.conversation.feedback(KEY, 1, Judgement(thumbs="up"))
    assert not (await talk.conversation.playbook()).playbook.bullets


async def test_feedback_whose_reflection_failed_is_learnt_when_it_comes_again() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"))
    talk.llm.on("reflector", QUIET, ModelUnavailable("away"), tagged("helpful"))
    await talk.say("Which server is down?")
    first = await talk.conversation.feedback(KEY, 2, Judgement(thumbs="down"))
    second = await talk.conversation.feedback(KEY, 2, Judgement(thumbs="down"))
    assert (first.learned, second.learned) == (False, True)
    assert (await bullet(talk)).helpful == 1


async def test_feedback_outlives_the_process_and_goes_with_its_user(tmp_path: Path) -> None:
    settings = Settings(store="sqlite", data_dir=tmp_path)
    judgement = Judgement(reward=0.25, comment="Nearly.")
    first = Talk(settings)
    await first.say("Which server is down?")
    await first.conversation.feedback(KEY, 1, judgement)
    await first.conversation.close()
    second = Talk(settings)
    assert not (await second.conversation.feedback(KEY, 1, judgement)).fresh
    kept = await second.container.evidence.last(KEY)
    assert kept is not None
    assert [(item.reward, item.comment, item.learned) for item in kept.feedback] == [
        (0.25, "Nearly.", True)
    ]
    await second.conversation.erase(KEY.tenant)
    with pytest.raises(NotFoundError):
        await second.conversation.feedback(KEY, 1, judgement)
    await second.conversation.close()


async def test_feedback_that_comes_at_once_is_all_kept() -> None:
    talk = Talk(Settings(store="memory", learning="off"))
    await talk.say("Which server is down?")
    judgements = [Judgement(comment=f"Remark {number}.") for number in range(8)]
    await asyncio.gather(*(talk.conversation.feedback(KEY, 1, item) for item in judgements))
    last = await talk.container.evidence.last(KEY)
    assert last is not None
    assert {item.comment for item in last.feedback} == {item.comment for item in judgements}
    assert not any(item.learned for item in last.feedback)


async def test_a_turn_takes_a_bounded_number_of_pieces_of_feedback() -> None:
    talk = Talk(Settings(store="memory", learning="off"))
    await talk.say("Which server is down?")
    for number in range(MAX_FEEDBACK):
        await talk.conversation.feedback(KEY, 1, Judgement(reward=number))
    with pytest.raises(InputError, match="the maximum"):
        await talk.conversation.feedback(KEY, 1, Judgement(reward=-1))


async def test_feedback_on_a_turn_that_was_not_answered_is_refused() -> None:
    talk = Talk()
    await talk.say("Which server is down?")
    await talk.conversation.undo(KEY)
    with pytest.raises(NotFoundError, match="no answered turn 1"):
        await talk.conversation.feedback(KEY, 1, Judgement(thumbs="up"))


async def test_a_lesson_from_a_tool_s_text_is_held_and_one_with_a_reward_is_not() -> None:
    talk = Talk()
    talk.llm.on("curator", ADD)
    await talk.say("The grid says: a wall is ahead.", Authority.TOOL)
    assert (await log(talk))[0].status is DeltaStatus.HELD
    await talk.conversation.feedback(KEY, 1, Judgement(reward=1.0))
    assert (await log(talk))[0].status is DeltaStatus.APPLIED
    stored = await talk.container.playbooks.load(PlaybookScope(APP_NAME))
    assert [item.content for item in stored.playbook.bullets] == [LESSON]
