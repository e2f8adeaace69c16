"""The server serves the survivor to talk to, its runs, and what they learned."""

import asyncio
from pathlib import Path

import httpx
import pytest

from acc_ace import build_container
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.server.app import create_app
from config import Settings
from tests.ext.survivor.survivor_run import save_run, tick


async def test_an_installation_answers_for_the_survivor(tmp_path: Path) -> None:
    folder = runs_folder(tmp_path)
    folder.mkdir(parents=True)
    plan = tick().plan.model_copy(update={"objective": "reach the water"})
    save_run(folder / "run-1.jsonl", tick(plan=plan))
    container = build_container(Settings(data_dir=tmp_path, agent_dir=None))
    app = create_app(container)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        assert (await http.get("/list-apps")).json() == ["acc_ace", "survivor"]
        made = await http.post("/apps/survivor/users/u/sessions", json={"sessionId": "s"})
        assert made.status_code == 200, made.text
        message = {"role": "user", "parts": [{"text": "Why did you go north?"}]}
        run = {"appName": "survivor", "userId": "u", "sessionId": "s", "newMessage": message}
        answered = await http.post("/run", json=run)
    assert answered.status_code == 200, answered.text
    assert "because I wanted this: reach the water" in answered.text
    await container.close()


@pytest.mark.parametrize("scope", ["app", "user"])
async def test_what_a_run_learned_is_its_own_and_every_server_shows_it(
    tmp_path: Path, scope: str
) -> None:
    settings = Settings(data_dir=tmp_path, agent_dir=None, playbook_scope=scope)
    container = build_container(settings)
    async for each in Survivor(container, LoopOptions(seed=3, ticks=60)).run():
        if each.playbook_version:
            break
    lessons = [change.content for change in each.playbook if change.outcome == "applied"]
    assert lessons
    transport = httpx.ASGITransport(app=create_app(container))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        shown = {
            user: (await http.get("/v1/playbook", params={"app": "survivor", "user": user})).json()
            for user in ("run-3", "run-4")
        }
        metrics = (await http.get("/metrics", params={"app": "survivor", "user": "run-3"})).json()
    assert [bullet["content"] for bullet in shown["run-3"]["bullets"]] == lessons
    assert metrics["playbook"]["version"] == each.playbook_version
    assert shown["run-4"]["bullets"] == []
    await container.close()


async def test_a_server_measures_the_newest_run_unless_another_is_named(tmp_path: Path) -> None:
    folder = runs_folder(tmp_path)
    folder.mkdir(parents=True)
    container = build_container(Settings(data_dir=tmp_path, agent_dir=None))
    transport = httpx.ASGITransport(app=create_app(container))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        assert (await http.get("/metrics")).json()["survival"] is None
        assert (await http.get("/snapshots")).status_code == 404
        save_run(folder / "old.jsonl", tick(1, died_of="wolf"), tick(1, episode=2))
        await asyncio.sleep(0.01)
        save_run(folder / "new.jsonl", *map(tick, range(1, 6)))
        for query, ticks, run in (({}, 5, "new"), ({"run": "old"}, 2, "old")):
            page = (await http.get("/snapshots", params=query)).json()
            measured = (await http.get("/snapshots/measures", params=query)).json()
            survival = (await http.get("/metrics", params=query)).json()["survival"]
            assert (page["run"], page["newest"]) == (run, ticks)
            assert (measured["ticks"], survival["ticks"]) == (ticks, ticks)
        assert [(life["episode"], life["line"]) for life in measured["newest"]] == [(1, 1), (2, 2)]
        for path in ("/snapshots", "/snapshots/measures", "/metrics"):
            assert (await http.get(path, params={"run": "none"})).status_code == 404
    await container.close()
