"""Background learning in agents that others wrote, in exports."""

from google.adk.agents import LlmAgent

from schemas.learning_job import JobState
from schemas.tenancy import PlaybookScope
from tests.background.conftest import Make
from tests.background.learners import KEY, conversation, one_lesson_a_turn, queue_of, settled
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk


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


async def test_jobs_are_in_the_export_of_their_user(make: Make) -> None:
    async with conversation(make()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        records = [record async for record in talk.export(KEY.tenant)]
        (job,) = [record for record in records if record["kind"] == "learning_job"]
        assert job["value"]["job"]["session"] == KEY.session
        assert records[-1]["kind"] == "end"
