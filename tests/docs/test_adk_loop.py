"""The condition that the documents give for a loop over ADK's Runner finds the answer."""

import re
from pathlib import Path

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace import build_container
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.scripted_llm import ScriptedLlm

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "adk.md"
KEY = SessionKey(APP_NAME, "aiko", "s-1")


def is_answer(document: str, event: Event) -> bool:
    """What the document says of this event."""
    [condition] = re.findall(r"`if (event\.is_final_response\(\)[^`]*):`", document)
    return bool(eval(condition, {"event": event}))  # noqa: S307 - our own document


async def test_a_loop_that_stops_where_the_how_to_says_has_the_answer_and_the_turn() -> None:
    document = HOW_TO.read_text("utf-8")
    container = build_container(Settings(store="memory", learning="off"))
    llm = ScriptedLlm().on("generator", {"final_answer": "db-01 stays up."})
    app = build_app(container, dict.fromkeys(ROLES, llm))
    runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
    said = types.UserContent("Never restart db-01.")
    answer = ""
    events = runner.run_async(user_id=KEY.user, session_id=KEY.session, new_message=said)
    async for event in events:
        if is_answer(document, event):
            assert event.content is not None
            answer = "".join(part.text or "" for part in event.content.parts or [])
            break
    await events.aclose()
    assert answer.startswith("db-01 stays up.\n\nIn force: c-0001 ")
    assert [turn.outcome for turn in await container.evidence.list(KEY)] == [Outcome.ANSWERED]
    await runner.close()
    await container.close()
