"""Days and times are those of the user's zone, wherever a model or a person reads them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from acc_ace import AccController, build_container
from acc_ace.config import ROLES, Settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.memory.memory_search import search_memory
from tests.e2e.test_cli import CommandLine
from tests.fakes.clock import FixedClock
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import ScriptedLlm

EVENING = datetime(2026, 5, 7, 20, 0, tzinfo=UTC)
"""The 8th in Tokyo."""


async def test_a_quotation_and_a_hit_have_the_day_on_which_the_user_said_it() -> None:
    llm = ScriptedLlm()
    settings = Settings(store="memory", time_zone="Asia/Tokyo")
    container = build_container(settings, clock=FixedClock(EVENING))
    models = dict.fromkeys(ROLES, llm)
    for session in ("s1", "s2"):
        acc = AccController(container, session=session, user="aiko", models=models)
        state = await acc.update_state("The walnut shelf is for the quokka books.", None)
        await acc.record("ok")
    [hit, *_] = (await search_memory(container, Tenant("acc_ace", "aiko"), "walnut shelf")).hits
    assert str(hit.day) == "2026-05-08"
    assert "2026-05-08" in " ".join(state.retrieved_artifacts)
    assert "2026-05-07" not in str(llm.requests)
    await container.close()


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "UTC"])
async def test_the_last_exchange_has_its_day_once_that_is_not_today(zone: str) -> None:
    clock = FixedClock(EVENING)
    container = build_container(Settings(store="memory", time_zone=zone), clock=clock)
    acc = AccController(container, session="s", models=dict.fromkeys(ROLES, ScriptedLlm()))
    traces = []
    for hours in (0, 1, 22):
        clock.advance(hours=hours)
        state = await acc.update_state("The backup of the shop failed.", None)
        await acc.record("Noted.")
        traces.append(state.episodic_trace)
    day = {"Asia/Tokyo": "said on 2026-05-08, today is 2026-05-09:", "UTC": "said on 2026-05-07"}
    assert "said on" not in "".join(traces[:2])
    assert day[zone] in traces[2]
    await container.close()


@needs("embedded")
def test_the_terminal_tells_times_of_the_users_zone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    acc_ace = CommandLine(monkeypatch, capsys, tmp_path / "data")
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    acc_ace("chat", "--session", "s1", stdin="Hello.")
    times = {}
    for zone in ("Pacific/Kiritimati", "Pacific/Midway"):
        monkeypatch.setenv("ACC_ACE_TIME_ZONE", zone)
        times[zone] = acc_ace("sessions").out
    assert len({*times.values()}) == len(times)
