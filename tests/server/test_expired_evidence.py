"""What expired is told to the user, and never to a model as evidence."""

from datetime import timedelta
from types import SimpleNamespace

from acc_ace import build_container
from acc_ace.adk.tools import SearchEvidence
from acc_ace.server.app import create_app
from acc_ace.turn.turn_record import TurnRecords
from config import ROLES, Settings
from schemas.artifact import Artifact
from schemas.base import SessionKey, Tenant
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

QUESTION = "What is the wifi password?"


async def test_no_model_and_no_tool_gets_what_expired() -> None:
    container = build_container(Settings(learning="off"))
    now = container.clock.now()
    user = Tenant("acc_ace", "user")
    await container.artifacts.add(
        [
            Artifact(
                artifact_id=name,
                content=f"The wifi password is {word}",
                source="doc",
                created_at=now - timedelta(days=3),
                tenant=user,
                expires_at=expires,
            )
            for name, word, expires in (
                ("old", "OUTDATED-1", now - timedelta(days=1)),
                ("new", "CURRENT-2", None),
            )
        ]
    )
    llm = ScriptedLlm()
    app = create_app(container, models=dict.fromkeys(ROLES, llm))
    async with client(app) as http:
        answer = await http.post("/v1/sessions/s/turns", json={"input": QUESTION})
        here = SimpleNamespace(session=SimpleNamespace(app_name="acc_ace", user_id="user", id="s"))
        records = TurnRecords()
        record = records.begin(SessionKey("acc_ace", "user", "s"), "search")
        search = SearchEvidence(container, lambda _: record).search_evidence
        searched = await search("wifi password", here)  # type: ignore[arg-type]
    await app.state.acc_ace.close()
    assert answer.status_code == 200
    assert llm.requests
    assert "CURRENT-2" in str(llm.requests)
    assert "OUTDATED-1" not in str(llm.requests)
    assert "CURRENT-2" in str(searched)
    assert "OUTDATED-1" not in str(searched)
    assert searched["rejected"] == {"stale": 1}
