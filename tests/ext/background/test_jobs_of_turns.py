"""A learning job of a turn: done once, and part of what the day cost."""

from pathlib import Path

from acc_ace.adk.answer_feedback import learning_roles
from acc_ace.core.schemas.learning_job import LearningJob
from acc_ace.ext.background.job_execution import Learner
from acc_ace.ext.background.learning_budget import Meter
from acc_ace.turn.feedback_record import feedback_job
from schemas.reflection import Judgement
from tests.pipeline.talk import KEY, Talk
from tests.pipeline.test_learning import QUIET, bullet, tagged, using, with_lesson
from tests.pipeline.test_spending import Chat, dollars, priced, settings

__all__ = ["priced"]


async def test_a_job_that_was_committed_but_not_noted_is_noted_and_not_done_again() -> None:
    talk = await with_lesson(Talk())
    talk.llm.on("generator", using("b-00001"))
    talk.llm.on("reflector", QUIET, tagged("helpful"))
    await talk.say("Which server is down?")
    report = await talk.conversation.feedback(KEY, 2, Judgement(thumbs="up"))
    turn = await talk.container.evidence.last(KEY)
    assert turn is not None
    # As a worker leaves it that is killed between its commit and its note.
    open_again = (turn.feedback[0].model_copy(update={"learned": False}),)
    await talk.container.evidence.record(KEY, turn.model_copy(update={"feedback": open_again}))
    learner = Learner(talk.container, learning_roles(talk.container, talk.llm, talk.llm))
    job = feedback_job(KEY, turn, turn.feedback[0])
    assert job.detail == report.id
    assert (await learner.learn(job, Meter())).outcome == "known"
    noted = await talk.container.evidence.last(KEY)
    assert noted is not None
    assert noted.feedback[0].learned
    assert (await bullet(talk)).helpful == 1


async def test_feedback_and_a_learning_job_are_part_of_the_day(
    tmp_path: Path, priced: Path
) -> None:
    chat = Chat(settings(tmp_path, priced))
    report = await chat.say("Which server is down?")
    await chat.conversation.feedback(KEY, 1, Judgement(comment="It was db-02."))
    job = LearningJob(
        app=KEY.app,
        user=KEY.user,
        session=KEY.session,
        turn=1,
        invocation_id=(await chat.container.evidence.list(KEY))[0].invocation_id,
        base_version=0,
    )
    roles = learning_roles(chat.container, chat.llm, chat.llm)
    await Learner(chat.container, roles).learn(job, Meter())
    reflector = next(s for s in (await chat.cost()).stages if s.stage == "reflector")
    assert reflector.tokens.calls == len(chat.llm.requests_of("reflector")) == 2
    today = await chat.container.spending.today(KEY.tenant)
    assert (today.spent.usd or 0) > dollars(report) + (reflector.cost.usd or 0)
