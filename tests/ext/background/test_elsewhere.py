"""Background learning in agents that others wrote, in exports."""

import asyncio

import pytest
from google.adk.agents import LlmAgent

from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.learning_job import JobState
from tests.ext.background.conftest import Make
from tests.ext.background.learners import KEY, conversation, one_lesson_a_turn, queue_of, settled
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk
from tests.pipeline.test_plugin_failures import Gate


async def test_the_plugin_learns_in_the_background_too(make_sqlite: Make) -> None:
    agent = LlmAgent(name="desk", model=ScriptedLlm(model="scripted/desk"), instruction="Help.")
    desk = Desk(agent, make_sqlite(), one_lesson_a_turn())
    async for _ in desk.run("db-01 is down."):
        pass
    queue = queue_of(desk.container)
    (job,) = await settled(queue, jobs=1)
    assert job.state is JobState.DONE
    stored = await desk.container.playbooks.load(PlaybookScope("desk"))
    assert len(stored.playbook.bullets) == 1
    await desk.plugin.close()
    await desk.container.close()


@pytest.mark.soak
async def test_learning_steps_back_for_turns_under_the_plugin(make_sqlite: Make) -> None:
    gates = [Gate(), Gate()]
    llm = ScriptedLlm(model="scripted/desk").on("generator", "Noted.", *gates, "Noted.")
    desk = Desk(LlmAgent(name="desk", model=llm), make_sqlite(most_turns=1), one_lesson_a_turn())
    queue = queue_of(desk.container)
    await desk.ask("db-01 is down.")
    await settled(queue, jobs=1)
    turns = []
    for at, gate in enumerate(gates):
        key = SessionKey("desk", "ops", f"waits{at}")
        turns.append(asyncio.create_task(desk.ask("How is db-02?", key=key)))
        await gate.reached.wait()
    await desk.ask("The violin is broken.")
    await asyncio.sleep(1.0)
    assert (await queue.counts())[JobState.DONE] == 1
    for gate in gates:
        gate.open.set()
    await asyncio.gather(*turns)
    assert {job.state for job in await settled(queue, jobs=4)} == {JobState.DONE}
    await desk.plugin.close()
    await desk.container.close()


async def test_jobs_are_in_the_export_of_their_user(make: Make) -> None:
    async with conversation(make()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        records = [record async for record in talk.export(KEY.tenant)]
        (job,) = [record for record in records if record["kind"] == "learning_job"]
        assert job["value"]["job"]["session"] == KEY.session
        assert records[-1]["kind"] == "end"
