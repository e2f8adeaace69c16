"""`/v1/jobs`: a user sees and governs the jobs of that user's turns, and no others."""

from collections.abc import AsyncIterator

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.errors import ModelRefused
from acc_ace.ext.background.learning_job import JobState
from acc_ace.server.app import create_app
from tests.ext.background.conftest import Make
from tests.ext.background.learners import lesson, queue_of, reached, settled
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

TURNS = "/v1/sessions/incident/turns"
REFUSED = "reflector: model scripted/test refused"


@pytest.fixture
def container(make_sqlite: Make) -> Container:
    return build_container(make_sqlite().model_copy(update={"serve_web_interface": False}))


@pytest.fixture
async def http(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    llm = ScriptedLlm().on("reflector", ModelRefused(REFUSED), {"key_insight": "x"})
    app = create_app(container, models=dict.fromkeys(ROLES, llm.on("curator", lesson)))
    async with app.router.lifespan_context(app), client(app) as opened:
        yield opened


async def test_a_dead_job_is_seen_looked_at_and_done_again(
    http: httpx.AsyncClient, container: Container
) -> None:
    assert (await http.post(TURNS, json={"input": "db-01 is down."})).status_code == 200
    await settled(queue_of(container), jobs=1)
    page = (await http.get("/v1/jobs", params={"state": "dead"})).json()
    (job,) = page["items"]
    assert (job["state"], job["session"], job["turn"]) == ("dead", "incident", 1)
    assert job["error"] == REFUSED
    assert page["next_offset"] is None
    again = await http.post(f"/v1/jobs/{job['id']}/retry")
    assert (again.status_code, again.json()["state"]) == (200, "waiting")
    await reached(queue_of(container), job["id"], JobState.DONE)
    done = (await http.get(f"/v1/jobs/{job['id']}")).json()
    assert (done["state"], done["outcome"], done["error"]) == ("done", "learned", "")
    assert (await http.post(f"/v1/jobs/{job['id']}/retry")).status_code == 422
    assert (await http.delete(f"/v1/jobs/{job['id']}")).status_code == 204
    assert (await http.get(f"/v1/jobs/{job['id']}")).status_code == 404


async def test_the_jobs_of_others_are_as_good_as_none(
    http: httpx.AsyncClient, container: Container
) -> None:
    await http.post(TURNS, json={"input": "db-01 is down."}, headers={"X-User": "aiko"})
    (job,) = await settled(queue_of(container), jobs=1)
    ben = {"X-User": "ben"}
    assert (await http.get("/v1/jobs", headers=ben)).json()["items"] == []
    for call in (
        http.get(f"/v1/jobs/{job.id}", headers=ben),
        http.post(f"/v1/jobs/{job.id}/retry", headers=ben),
        http.delete(f"/v1/jobs/{job.id}", headers=ben),
    ):
        assert (await call).status_code == 404
    assert (await queue_of(container).get(job.id)).state is JobState.DEAD


async def test_jobs_come_in_pages(http: httpx.AsyncClient, container: Container) -> None:
    for number in range(3):
        await http.post(TURNS, json={"input": f"Look at number {number}."})
    await settled(queue_of(container), jobs=3)
    first = (await http.get("/v1/jobs", params={"limit": 2})).json()
    rest = (await http.get("/v1/jobs", params={"limit": 2, "offset": first["next_offset"]})).json()
    assert sorted(job["turn"] for job in first["items"] + rest["items"]) == [1, 2, 3]
    assert rest["next_offset"] is None


@pytest.mark.parametrize("path", ["/v1/jobs?state=lost", "/v1/jobs?limit=0", "/v1/jobs/x"])
async def test_what_cannot_be_asked_is_422(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 422


async def test_without_background_learning_there_are_no_jobs() -> None:
    container = build_container(Settings(store="memory", serve_web_interface=False))
    app = create_app(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as http:
        assert (await http.get("/v1/jobs")).json() == {"items": [], "next_offset": None}
        assert (await http.get(f"/v1/jobs/{'0' * 32}")).status_code == 404
    await app.state.acc_ace.close()
