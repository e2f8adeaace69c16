"""The cost of turns and sessions over HTTP, and a ceiling that refuses with a problem."""

from pathlib import Path

import pytest
from fastapi import FastAPI

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.core.schemas.cost import SessionCost
from acc_ace.server.app import create_app
from tests.fakes.clock import FixedClock
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.test_spending import PRICES
from tests.server.asgi import client


@pytest.fixture
def bounded(tmp_path: Path) -> FastAPI:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES, encoding="utf-8")
    chosen = Settings(store="memory", serve_web_interface=False, prices=file, max_cost=0.001)
    return create_app(
        build_container(chosen, FixedClock()), models=dict.fromkeys(ROLES, ScriptedLlm())
    )


async def test_a_turn_and_a_session_say_what_they_cost_and_the_ceiling_refuses_with_a_problem(
    bounded: FastAPI,
) -> None:
    async with client(bounded) as http:
        turn = (await http.post("/v1/sessions/s1/turns", json={"input": "db-01 is down."})).json()
        assert turn["cost"]["turn"]["usd"] > 0
        cost = SessionCost.model_validate((await http.get("/v1/sessions/s1/cost")).json())
        assert cost.cost.usd == turn["cost"]["session"]["usd"]
        assert cost.today.ceiling_usd == 0.001
        assert cost.crossing.money is None
        assert cost.turns[0].replayed == cost.replayed
        for path in ("/v1/sessions/s1/turns", "/v1/chat"):
            refused = await http.post(path, json={"input": "And now?"})
            assert refused.status_code == 429
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.headers["retry-after"] == str(15 * 3_600)
            assert refused.json()["code"] == "spending_ceiling"
            assert "2026-01-06 00:00 UTC" in refused.json()["detail"]
        streamed = await http.post("/v1/chat?stream=true", json={"input": "And now?"})
        assert streamed.status_code == 429 or "spending_ceiling" in streamed.text
    await bounded.state.acc_ace.close()


async def test_pages_of_turns_end_and_an_unknown_session_is_not_found(bounded: FastAPI) -> None:
    async with client(bounded) as http:
        await http.post("/v1/sessions/s1/turns", json={"input": "db-01 is down."})
        page = (await http.get("/v1/sessions/s1/cost?limit=1")).json()
        assert (page["turns"][0]["turn"], page["next_before"]) == (1, 1)
        last = (await http.get("/v1/sessions/s1/cost?limit=1&before=1")).json()
        assert (last["turns"], last["next_before"]) == ([], None)
        assert (await http.get("/v1/sessions/none/cost")).status_code == 404
    await bounded.state.acc_ace.close()
