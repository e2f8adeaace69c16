"""With learning=background the answer comes first, and what is learnt is the same."""

import threading

from google.adk.models.llm_request import LlmRequest

from acc_ace.core.schemas.learning_job import JobState
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.errors import ModelRefused, ModelUnavailable
from tests.ext.background.conftest import Make
from tests.ext.background.learners import (
    KEY,
    conversation,
    lesson,
    lessons,
    log,
    one_lesson_a_turn,
    queue_of,
    reached,
    settled,
)
from tests.fakes.scripted_llm import Reply, ScriptedLlm


async def test_the_answer_comes_before_the_reflection(make: Make) -> None:
    answered = threading.Event()

    def after_the_answer(request: LlmRequest) -> Reply:
        assert answered.wait(30)
        return {"key_insight": "It works."}

    llm = ScriptedLlm().on("reflector", after_the_answer).on("curator", lesson)
    async with conversation(make(), llm) as talk:
        report = await talk.turn(KEY, "db-01 is down.")
        assert report.answer == "ok"
        answered.set()
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert (job.state, job.outcome, job.error) == (JobState.DONE, "learned", "")
        assert job.tokens > 0
        assert await lessons(talk.container) == ["Remember what was said about db-01 is down."]
        (record,) = await log(talk.container)
        assert (record.job, record.user, record.session, record.turn) == (job.id, "ops", "s1", 1)


async def test_a_job_holds_no_words_of_the_conversation(make_sqlite: Make) -> None:
    async with conversation(make_sqlite()) as talk:
        await talk.turn(KEY, "The password hint is heliotrope.")
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert "heliotrope" not in job.model_dump_json()
        assert job.job is not None
        assert (job.job.key, job.job.turn, job.job.base_version) == (KEY, 1, 0)


async def test_submitting_a_job_again_changes_nothing(make_sqlite: Make) -> None:
    async with conversation(make_sqlite()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        (job,) = await settled(queue, jobs=1)
        assert job.job is not None
        assert await queue.submit(job.job) is False
        assert len(await log(talk.container)) == 1


async def test_a_model_that_is_away_is_asked_again_until_it_answers(make_sqlite: Make) -> None:
    away = ModelUnavailable("reflector: model scripted/test is away")
    llm = ScriptedLlm().on("reflector", away, away, {"key_insight": "It works."})
    async with conversation(make_sqlite(), llm.on("curator", lesson)) as talk:
        await talk.turn(KEY, "db-01 is down.")
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert job.state is JobState.DONE
        assert [attempt.error for attempt in job.attempts] == [str(away), str(away), ""]
        assert len(await lessons(talk.container)) == 1


async def test_a_curator_that_is_away_costs_no_tag_twice(make_sqlite: Make) -> None:
    away = ModelUnavailable("curator: model scripted/test is away")
    llm = one_lesson_a_turn()
    tag = {"bullet_tags": [{"id": "b-00001", "tag": "helpful"}]}
    used = {"final_answer": "ok", "bullet_ids": ["b-00001"]}
    async with conversation(make_sqlite(), llm) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        llm.on("generator", used).on("reflector", tag, tag).on("curator", away, lesson)
        llm._scripts["curator"].pop(0)
        await talk.turn(KEY, "db-02 is down.")
        await settled(queue_of(talk.container), jobs=2)
        stored = await talk.playbook()
        assert [bullet.helpful for bullet in stored.playbook.bullets] == [1, 0]


async def test_what_no_retry_can_mend_is_left_for_a_person(make: Make) -> None:
    refused = ModelRefused("reflector: model scripted/test refused")
    llm = ScriptedLlm().on("reflector", refused, {"key_insight": "x"}).on("curator", lesson)
    async with conversation(make(tries=4), llm) as talk:
        await talk.turn(KEY, "db-01 is down.")
        queue = queue_of(talk.container)
        (job,) = await settled(queue, jobs=1)
        assert (job.state, job.error, len(job.attempts)) == (JobState.DEAD, str(refused), 1)
        again = await queue.retry(job.id)
        # The worker may have taken it up already.
        assert again.state in {JobState.WAITING, JobState.RUNNING, JobState.DONE}
        await reached(queue, job.id, JobState.DONE)
        assert len(await lessons(talk.container)) == 1


async def test_a_turn_that_was_taken_back_is_not_learnt_from(make: Make) -> None:
    taken_back = threading.Event()

    def later(request: LlmRequest) -> Reply:
        assert taken_back.wait(30)
        return {"key_insight": "It works."}

    llm = ScriptedLlm().on("reflector", later).on("curator", lesson)
    async with conversation(make(), llm) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await talk.undo(KEY)
        taken_back.set()
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert job.state is JobState.DONE
        assert await log(talk.container) == []


async def test_the_turn_asked_anew_after_an_undo_is_learnt_from(make_sqlite: Make) -> None:
    async with conversation(make_sqlite()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        await talk.undo(KEY)
        await talk.turn(KEY, "db-02 is down.")
        await settled(queue_of(talk.container), jobs=2)
        assert len(await lessons(talk.container)) == 2


async def test_a_turn_without_evidence_leaves_no_job(make_sqlite: Make) -> None:
    settings = make_sqlite().model_copy(update={"learn_on": "evidence"})
    async with conversation(settings) as talk:
        plain = await talk.turn(KEY, "db-01 is down.")
        judged = await talk.turn(KEY, "And now?", judgement=Judgement(ground_truth="db-77"))
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert (plain.learning.skipped, judged.learning.skipped) == ("no_evidence", "")
        assert job.job is not None
        assert (job.job.turn, job.outcome) == (2, "learned")
        turn = await talk.container.evidence.last(KEY)
        assert turn is not None
        assert [(item.ground_truth, item.learned) for item in turn.feedback] == [("db-77", True)]
        assert "db-77" not in job.model_dump_json()
