"""`acc-ace jobs`, over what another process has left."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from acc_ace.cli.app import app
from acc_ace.core.schemas.learning_job import JobState
from acc_ace.errors import AccAceError, InputError, NotFoundError
from acc_ace.turn.learning_queue import LearningQueue
from config import Settings
from tests.ext.background.test_killed_workers import opened, seed, worker


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Two shed jobs and one that waits, in the data directory that the commands use."""
    monkeypatch.setenv("ACC_ACE_LEARNING", "background")
    settings = Settings(learning="background", data_dir=tmp_path / "data", background={"queue": 1})

    async def prepare() -> None:
        async with opened(settings) as (stores, queue):
            await seed(stores, queue, first=1, count=3)

    asyncio.run(prepare())
    return settings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["jobs", *arguments], catch_exceptions=True)


def listed(*arguments: str) -> list[dict[str, object]]:
    result = run("list", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def error_of(result: Result) -> AccAceError:
    assert isinstance(result.exception, AccAceError), result.output
    return result.exception


def states(settings: Settings) -> Sequence[JobState]:
    async def ask() -> Sequence[JobState]:
        async with opened(settings) as (_, queue):
            return await _states(queue)

    return asyncio.run(ask())


async def _states(queue: LearningQueue) -> Sequence[JobState]:
    return [job.state for job in await queue.list()]


def test_jobs_are_listed_all_and_by_state(settings: Settings) -> None:
    assert sorted(str(job["state"]) for job in listed()) == ["shed", "shed", "waiting"]
    assert [job["error"] for job in listed("--state", "shed")] == ["shed: queue_full"] * 2
    assert listed("--state", "dead", "--state", "done") == []
    assert listed("--user", "nobody") == []
    text = run("list").stdout
    assert "waiting" in text
    assert "queue_full" in text


def test_a_job_is_shown_done_again_and_forgotten(settings: Settings) -> None:
    shed = str(listed("--state", "shed")[0]["id"])
    shown = run("show", shed)
    assert shown.exit_code == 0
    assert "of session killed" in shown.stdout
    assert "shed: queue_full" in shown.stdout
    assert "will be retried" in run("retry", shed).stdout
    assert sorted(states(settings)) == [JobState.SHED, JobState.WAITING, JobState.WAITING]
    assert "its turn will not be learned from" in run("drop", shed).stdout
    assert isinstance(error_of(run("show", shed)), NotFoundError)


def test_a_done_job_is_forgotten_and_what_it_taught_stays(settings: Settings) -> None:
    with worker(settings) as child:
        assert child.communicate(timeout=120)[0].splitlines()[-1:] == ["idle"]
    done = str(listed("--state", "done")[0]["id"])
    reported = run("drop", done).stdout
    assert "its lessons stay in the playbook" in reported
    assert "not learned from" not in reported


def test_that_there_are_none_is_said_of_those_that_were_asked_for(settings: Settings) -> None:
    assert states(settings)
    none = run("list", "--state", "dead", "--state", "done", "--user", "aiko").stdout.strip()
    assert none == "no learning jobs of user aiko that are dead or done"


def test_wrong_uses_are_told(settings: Settings) -> None:
    waiting = str(listed("--state", "waiting")[0]["id"])
    assert isinstance(error_of(run("retry", waiting)), InputError)
    assert isinstance(error_of(run("retry")), InputError)
    assert isinstance(error_of(run("retry", waiting, "--all-dead")), InputError)
    assert isinstance(error_of(run("list", "--state", "lost")), InputError)
    assert isinstance(error_of(run("show", "x")), NotFoundError)


def test_where_no_job_was_ever_kept_there_are_none(tmp_path: Path) -> None:
    assert "no learning jobs" in run("list").stdout
    assert isinstance(error_of(run("show", "x")), NotFoundError)
    assert not (tmp_path / "data" / "jobs.db").exists()
