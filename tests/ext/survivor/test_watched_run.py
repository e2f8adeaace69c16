"""The cockpit over a running loop: what a person sets in it, the next tick does, over real HTTP."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr
from rich.console import Console

from acc_ace import build_container
from acc_ace.ext.survivor.cli.watched_run import watched
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.ext.survivor.snapshots import SnapshotWriter
from acc_ace.ext.survivor.survival import LoopSnapshot
from acc_ace.server.app import create_app
from config import Settings
from tests.ext.survivor.test_survivor_loop import gentle
from tests.fakes.loopback import served

QUIET_S = 0.5
"""Longer than a tick takes, so that a loop which goes on would show."""


@dataclass
class Watched:
    """A loop, lived tick by tick, and a browser's requests to its server."""

    http: httpx.AsyncClient
    ticks: AsyncGenerator[LoopSnapshot]

    async def set(self, **settings: Any) -> None:
        """Change settings, as the page does."""
        changed = await self.http.post("/survivor/settings", json=settings)
        assert changed.status_code == 200, changed.text
        assert settings.items() <= changed.json().items()

    async def next_tick(self) -> dict[str, Any]:
        """Let one more tick be lived; the snapshot as the server shows it."""
        return await self.shown(await anext(self.ticks))

    async def shown(self, lived: LoopSnapshot) -> dict[str, Any]:
        """The newest snapshot of the server, which is that of the tick just lived."""
        page = (await self.http.get("/snapshots", params={"run": lived.run})).json()
        assert (page["newest"], page["items"][-1]["tick"]) == (lived.tick, lived.tick)
        item: dict[str, Any] = page["items"][-1]
        return item


@asynccontextmanager
async def live(folder: Path, *, seed: int = 4, **settings: Any) -> AsyncIterator[Watched]:
    chosen = Settings(data_dir=folder, serve_web_interface=False, **settings)
    options, people = LoopOptions(seed=seed, ticks=40), Console(file=StringIO())
    runs_folder(folder).mkdir(parents=True)
    writer = SnapshotWriter(runs_folder(folder) / f"{options.run}.jsonl")
    container = build_container(chosen)
    with watched(options.run, chosen, port=0, linger=0, people=people) as run:
        loop = Survivor(container, options, port=run, listeners=[writer.write], world_of=gentle)
        async with (
            aclosing(loop.run()) as ticks,
            httpx.AsyncClient(base_url=run.url, timeout=60) as http,
        ):
            yield Watched(http, ticks)
    writer.close()
    await container.close()


async def test_threshold_and_exploration_hold_in_the_next_tick(tmp_path: Path) -> None:
    async with live(tmp_path) as loop:
        first = await loop.next_tick()
        assert first["threshold"] == 0.6
        assert first["exploration"] > 0
        await loop.set(danger_threshold=0.35, exploration=0.0)
        second = await loop.next_tick()
        assert (second["threshold"], second["exploration"]) == (0.35, 0.0)


async def test_logs_are_shown_briefly_or_in_full(tmp_path: Path) -> None:
    async with live(tmp_path) as loop:
        full: list[Any] = []
        while len(full) <= 5:
            full = (await loop.next_tick())["logs"]
        await loop.set(log_detail="brief")
        assert len((await loop.next_tick())["logs"]) == 5
        await loop.set(log_detail="full")
        assert len((await loop.next_tick())["logs"]) >= len(full)


async def test_without_notifications_the_same_life_raises_no_alerts(tmp_path: Path) -> None:
    raised = list[dict[str, Any]]()
    async with live(tmp_path / "loud", seed=9) as loop:
        await loop.set(danger_threshold=0.2)
        while not raised or not raised[-1]["alerts"]:
            raised.append(await loop.next_tick())
    async with live(tmp_path / "quiet", seed=9) as loop:
        await loop.set(danger_threshold=0.2, notifications=False)
        lived = [await loop.next_tick() for _ in raised]
    assert [tick["alerts"] for tick in lived] == [[] for _ in raised]
    assert [tick["place"] for tick in lived] == [tick["place"] for tick in raised]


async def test_a_paused_loop_lives_exactly_the_ticks_it_is_given(tmp_path: Path) -> None:
    async with live(tmp_path) as loop:
        await loop.next_tick()
        await loop.set(paused=True)
        pending = asyncio.ensure_future(anext(loop.ticks))
        for tick in (2, 3):
            assert (await asyncio.wait({pending}, timeout=QUIET_S))[0] == set()
            assert (await loop.http.post("/survivor/step")).json()["paused"] is True
            assert (await loop.shown(await pending))["tick"] == tick
            pending = asyncio.ensure_future(anext(loop.ticks))
        assert (await asyncio.wait({pending}, timeout=QUIET_S))[0] == set()
        await loop.set(paused=False)
        assert (await pending).tick == 4


async def test_what_cannot_be_set_changes_nothing(tmp_path: Path) -> None:
    async with live(tmp_path) as loop:
        before = (await loop.http.get("/survivor/settings")).json()
        for wrong in ({"danger_threshold": 7}, {"log_detail": "all"}, {"speed": 1}):
            refused = await loop.http.post("/survivor/settings", json=wrong)
            assert refused.status_code == 422, refused.text
        assert (await loop.http.get("/survivor/settings")).json() == before


async def test_only_who_may_steers_a_loop_behind_tokens(tmp_path: Path) -> None:
    tokens = {"aiko": SecretStr("aiko-secret"), "bob": SecretStr("bob-secret")}
    async with live(tmp_path, auth_tokens=tokens, playbook_editors=("aiko",)) as loop:
        answers = {}
        for user in ("", "bob", "aiko"):
            loop.http.headers["Authorization"] = f"Bearer {user}-secret"
            asked = await loop.http.post("/survivor/settings", json={"paused": False})
            answers[user] = asked.status_code
        assert answers == {"": 401, "bob": 403, "aiko": 200}
        [run] = (await loop.http.get("/snapshots/runs")).json()
        assert (run["run"], run["is_live"]) == ("run-4", True)


async def test_a_server_without_the_loop_shows_its_run_and_steers_nothing(tmp_path: Path) -> None:
    async with live(tmp_path) as loop:
        await loop.next_tick()
    app = create_app(build_container(Settings(data_dir=tmp_path, serve_web_interface=False)))
    with served(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            [run] = (await http.get("/snapshots/runs")).json()
            assert (run["run"], run["is_live"]) == ("run-4", False)
            assert (await http.get("/snapshots", params={"run": "run-4"})).json()["newest"] == 1
            for refused in (
                await http.get("/survivor/settings"),
                await http.post("/survivor/settings", json={"paused": True}),
                await http.post("/survivor/step"),
            ):
                assert refused.status_code == 409
                assert "no loop runs in this server: acc-ace survive --ui PORT" in refused.text
