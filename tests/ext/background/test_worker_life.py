"""Starting, stopping, erasing, and what happens when something is missing or away."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from dbos import DBOS
from google.adk.models.llm_request import LlmRequest

from acc_ace import Conversation, build_container
from acc_ace.core.schemas.learning_job import JobState
from acc_ace.errors import ConfigError, ModelRefused, StoreError
from config import ROLES, Settings
from schemas.reflection import Judgement
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
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import Reply, ScriptedLlm


def thinking(began: threading.Event) -> ScriptedLlm:
    """Its Reflector never comes to an end."""

    async def forever(_: LlmRequest) -> Reply:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    return ScriptedLlm().on("reflector", forever)


def hasty(settings: Settings) -> Settings:
    """The same, with no time to finish at shutdown."""
    limits = settings.limits.model_copy(update={"shutdown_grace_s": 0.1})
    return settings.model_copy(update={"limits": limits})


async def test_a_job_that_a_shutdown_cuts_off_is_done_at_the_next_start(make: Make) -> None:
    began = threading.Event()
    async with conversation(hasty(make()), thinking(began)) as talk:
        await talk.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        assert await talk.stop_learning() == 1
        assert (await queue_of(talk.container).counts())[JobState.WAITING] == 1
    async with conversation(make()) as talk:
        talk.start_learning()
        (job,) = await settled(queue_of(talk.container), jobs=1)
        assert job.state is JobState.DONE
        assert len(await lessons(talk.container)) == 1


async def test_a_stopped_worker_leaves_no_thread_behind(make_sqlite: Make) -> None:
    before = set(threading.enumerate())
    async with conversation(make_sqlite()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        await talk.stop_learning()
        left = [t.name for t in set(threading.enumerate()) - before if t.is_alive()]
        assert not [name for name in left if "learning" in name or "dbos" in name], left


@pytest.mark.soak
async def test_learning_can_be_stopped_and_started_again(make_sqlite: Make) -> None:
    began = threading.Event()
    llm = thinking(began).on("reflector", {"key_insight": "x"}).on("curator", lesson)
    async with conversation(hasty(make_sqlite()), llm) as talk:
        await talk.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        assert await talk.stop_learning() == 1
        talk.start_learning()
        await settled(queue_of(talk.container), jobs=1)
        assert await talk.stop_learning() == 0
        await talk.turn(KEY, "The violin is broken.")
        await settled(queue_of(talk.container), jobs=2)
        assert len(await lessons(talk.container)) == 2


@asynccontextmanager
async def two_apps(settings: Settings, llm: ScriptedLlm) -> AsyncIterator[list[Conversation]]:
    """Two apps over the same stores; `llm` plays the roles of the first one."""
    async with conversation(settings, llm) as first:
        roles = dict.fromkeys(ROLES, one_lesson_a_turn())
        second = Conversation(first.container, models=roles)
        yield [first, second]
        await second.stop_learning()


@pytest.mark.soak
async def test_an_app_goes_on_with_the_jobs_when_the_one_that_did_them_ends(make: Make) -> None:
    began = threading.Event()
    async with two_apps(hasty(make()), thinking(began)) as (first, second):
        await first.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        stopping = asyncio.create_task(first.stop_learning())
        await asyncio.sleep(0)  # Its end has begun.
        second.start_learning()
        await stopping
        async with asyncio.timeout(20):
            (job,) = await settled(queue_of(first.container), jobs=1)
        assert job.state is JobState.DONE


@pytest.mark.soak
async def test_keeping_house_goes_on_with_the_jobs_that_another_app_has_left(
    make_sqlite: Make,
) -> None:
    began = threading.Event()
    async with two_apps(hasty(make_sqlite()), thinking(began)) as (first, second):
        await first.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        async with second.keeping_house(every_s=0.05):
            await first.stop_learning()
            async with asyncio.timeout(20):
                (job,) = await settled(queue_of(first.container), jobs=1)
        assert job.state is JobState.DONE


@pytest.mark.soak
async def test_a_worker_that_waits_for_another_one_to_end_can_be_stopped(
    make_sqlite: Make,
) -> None:
    began = threading.Event()
    async with two_apps(hasty(make_sqlite()), thinking(began)) as (first, second):
        await first.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        stopping = asyncio.create_task(first.stop_learning())
        await asyncio.sleep(0)
        second.start_learning()
        await second.stop_learning()
        assert await stopping == 1
        assert workers() == []


async def test_keeping_house_begins_nothing_that_was_stopped(make_sqlite: Make) -> None:
    async with conversation(make_sqlite()) as talk, talk.keeping_house(every_s=0.01):
        await talk.stop_learning()
        await asyncio.sleep(0.2)
        assert workers() == []


async def test_a_worker_that_cannot_work_tells_why_once(
    make_sqlite: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'theirs.db'}"
    DBOS(config={"name": "theirs", "system_database_url": url})
    try:
        async with conversation(make_sqlite()) as talk:
            for _ in range(3):
                talk.start_learning()
                async with asyncio.timeout(30):
                    while workers():  # noqa: ASYNC110 - a thread
                        await asyncio.sleep(0.01)
        assert caplog.text.count("learning_worker_died") == 1
    finally:
        await asyncio.to_thread(lambda: DBOS.destroy(destroy_registry=True))


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "learning"]


async def test_one_process_learns_over_one_place_only(make_sqlite: Make, tmp_path: Path) -> None:
    async with conversation(make_sqlite()) as talk:
        talk.start_learning()
        elsewhere = make_sqlite().model_copy(update={"data_dir": tmp_path / "elsewhere"})
        async with conversation(elsewhere) as other:
            with pytest.raises(ConfigError, match="already runs background learning"):
                other.start_learning()
            report = await other.turn(KEY, "db-01 is down.")
            assert report.answer == "ok"
            assert any("already runs background learning" in warning for warning in report.warnings)


async def test_a_process_that_uses_dbos_for_something_else_keeps_it(
    make_sqlite: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = DBOS(
        config={"name": "theirs", "system_database_url": f"sqlite:///{tmp_path / 'theirs.db'}"}
    )
    try:
        async with conversation(make_sqlite()) as talk:
            assert (await talk.turn(KEY, "db-01 is down.")).answer == "ok"
            async with asyncio.timeout(30):
                while "uses DBOS for something else" not in caplog.text:  # noqa: ASYNC110 - a log
                    await asyncio.sleep(0.05)
            assert await talk.stop_learning() == 1
        assert DBOS(config={"name": "theirs"}) is theirs
    finally:
        await asyncio.to_thread(lambda: DBOS.destroy(destroy_registry=True))


async def test_a_missing_extra_is_named(make_sqlite: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("acc_ace.ext.background.dbos_database", "acc_ace.ext.background.dbos_queue"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "dbos", None)
    with pytest.raises(ConfigError, match=r"pip install -e '.\[background\]'"):
        build_container(make_sqlite())


def test_memory_that_forgets_can_keep_no_jobs() -> None:
    with pytest.raises(ConfigError, match="ACC_ACE_STORE=memory"):
        build_container(Settings(store="memory", learning="background"))


async def test_answers_go_on_while_the_jobs_cannot_be_kept(make_sqlite: Make) -> None:
    settings = make_sqlite()
    settings.data_dir.mkdir()
    (settings.data_dir / "jobs.db").write_bytes(b"this is no database" * 100)
    async with conversation(settings) as talk:
        report = await talk.turn(KEY, "db-01 is down.")
        assert report.answer == "ok"
        assert any("jobs.db" in warning for warning in report.warnings)
        with pytest.raises(StoreError, match=r"jobs\.db"):
            await queue_of(talk.container).counts()


async def test_erasing_a_user_takes_the_jobs_along(make: Make) -> None:
    settings = make()
    async with conversation(settings) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await talk.turn(KEY._replace(user="aiko"), "The violin is broken.")
        queue = queue_of(talk.container)
        await settled(queue, jobs=2)
        assert await queue.apps(KEY.user) == {KEY.app}
        erased = await talk.erase(KEY.tenant)
        assert erased["jobs"] == 1
        assert await residue(talk.container, KEY.tenant) == {}
        assert [job.job and job.job.user for job in await queue.list()] == ["aiko"]
    if settings.store == "sqlite":
        left = (settings.data_dir / "jobs.db").read_bytes()
        assert b'"ops"' not in left
        assert b"acc_ace/ops" not in left
        assert b"aiko" in left


@pytest.mark.soak
async def test_erasing_finds_jobs_of_a_time_when_learning_was_in_the_background(
    make: Make,
) -> None:
    async with conversation(make()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
    async with conversation(make().model_copy(update={"learning": "inline"})) as talk:
        assert (await talk.erase(KEY.tenant))["jobs"] == 1
        assert await residue(talk.container, KEY.tenant) == {}


async def test_a_lesson_on_its_way_is_not_committed_for_an_erased_user(make: Make) -> None:
    began, erased = threading.Event(), threading.Event()

    def later(_: LlmRequest) -> Reply:
        began.set()
        assert erased.wait(30)
        return {"key_insight": "It works."}

    llm = ScriptedLlm().on("reflector", later).on("curator", lesson)
    async with conversation(make(), llm) as talk:
        await talk.turn(KEY, "db-01 is down.")
        assert await asyncio.to_thread(began.wait, 30)
        await talk.erase(KEY.tenant)
        erased.set()
        await talk.stop_learning()
        assert await log(talk.container) == []
        assert await residue(talk.container, KEY.tenant) == {}


async def test_feedback_is_learnt_from_in_the_background(make_sqlite: Make) -> None:
    tag = {"bullet_tags": [{"id": "b-00001", "tag": "harmful"}]}
    used = {"final_answer": "ok", "bullet_ids": ["b-00001"]}
    llm = ScriptedLlm().on("generator", {"final_answer": "ok"}, used)
    llm.on("reflector", {"key_insight": "x"}, {"key_insight": ""}, tag)
    llm.on("curator", lesson, {"operations": []})
    async with conversation(make_sqlite(workers=1), llm) as talk:
        queue = queue_of(talk.container)
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue, jobs=1)
        await talk.turn(KEY, "db-02 is down.")
        await settled(queue, jobs=2)
        report = await talk.feedback(KEY, 2, Judgement(thumbs="down"), given_id="click-1")
        assert (report.fresh, report.learned) == (True, False)
        await settled(queue, jobs=3)
        again = await talk.feedback(KEY, 2, Judgement(thumbs="down"), given_id="click-1")
        assert (again.fresh, again.learned) == (False, True)
        stored = await talk.playbook()
        assert [bullet.harmful for bullet in stored.playbook.bullets] == [1]


async def test_the_same_feedback_again_revives_a_job_that_had_died(make_sqlite: Make) -> None:
    llm = ScriptedLlm()
    async with conversation(make_sqlite(workers=1), llm) as talk:
        queue = queue_of(talk.container)
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue, jobs=1)
        llm.on("reflector", ModelRefused("reflector: no"), {"key_insight": "x"})
        await talk.feedback(KEY, 1, Judgement(thumbs="down"), given_id="click-1")
        jobs = await settled(queue, jobs=2)
        (dead,) = [job for job in jobs if job.state is JobState.DEAD]
        await talk.feedback(KEY, 1, Judgement(thumbs="down"), given_id="click-1")
        await reached(queue, dead.id, JobState.DONE)


async def test_the_projection_is_a_real_version_at_the_next_turn(make_sqlite: Make) -> None:
    async with conversation(make_sqlite()) as talk:
        await talk.turn(KEY, "db-01 is down.")
        await settled(queue_of(talk.container), jobs=1)
        report = await talk.turn(KEY, "What is down?")
        assert report.playbook_version == 1
        sessions = talk._sessions
        session = await sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        assert session is not None
        shown = session.state["app:playbook"]
        stored = await talk.playbook()
        assert (shown["version"], shown["digest"]) == (stored.version, stored.digest)
