"""A server of two users: aiko has something everywhere, bob has one session."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from pydantic import SecretStr

from acc_ace import build_container
from acc_ace.server.app import create_app
from config import Settings
from schemas.base import SessionKey
from tests.fakes.loopback import served
from tests.fakes.run_files import plan, save_run, tick
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk

SESSION: Final = "aikos-chat"
WORDS: Final = (
    *("WALNUT", "HAZEL", "BEECH", "CEDAR", "MAPLE", "ROWAN"),
    *("ALDER", "ELMWOOD", "SPRUCE", "LARCH", "ASPEN"),
)
"""Each stands in one place of aiko's memory, and in nothing that bob asks for."""

_LESSON: Final = {"type": "ADD", "section": "work", "rationale": "Seen in BEECH."}


def headers(user: str) -> dict[str, str]:
    """The token of a user."""
    return {"Authorization": f"Bearer {user}-secret"}


@contextmanager
def two_users(folder: Path) -> Iterator[tuple[FastAPI, str]]:
    """The server and where it answers; aiko runs it and edits its playbook."""
    options: dict[str, Any] = {
        "auth_tokens": {user: SecretStr(f"{user}-secret") for user in ("aiko", "bob")},
        "playbook_editors": ("aiko",),
        "learning": "background",
        "learn_on": "every",
    }
    settings = Settings(data_dir=folder, **options)
    asyncio.run(_use_an_app_of_aikos(settings))
    runs = folder / "survivor" / "runs"
    runs.mkdir(parents=True)
    save_run(runs / "run-7.jsonl", tick(plan=plan(objective="LARCH")))
    (folder / "survivor" / "secret.jsonl").write_text('{"tick": 1, "text": "ASPEN"}\n', "utf-8")
    app = create_app(build_container(settings))
    with served(app, lives=True) as url:
        with httpx.Client(base_url=url, headers=headers("aiko"), timeout=60) as aiko:
            _fill(aiko)
        with httpx.Client(base_url=url, headers=headers("bob"), timeout=60) as bob:
            _ask(bob, "POST", "/v1/sessions/bobs/turns", {"input": "Checkout is slow."})
        yield app, url


async def _use_an_app_of_aikos(settings: Settings) -> None:
    container = build_container(settings.model_copy(update={"learning": "off"}))
    desk = Desk(LlmAgent(name="helper", model=ScriptedLlm()), over=container)
    await desk.ask("Never restart ALDER.", key=SessionKey("desk", "aiko", SESSION))
    await container.close()


def _fill(aiko: httpx.Client) -> None:
    chat, adk = f"/v1/sessions/{SESSION}", f"/apps/acc_ace/users/aiko/sessions/{SESSION}"
    mail = {"text": "The door code is HAZEL.", "source": "mail"}
    _ask(aiko, "POST", f"{chat}/turns", {"input": "My locker is WALNUT 12.", "attachments": [mail]})
    _ask(aiko, "POST", f"{chat}/rules", {"text": "Never mention CEDAR."})
    _ask(aiko, "POST", f"{chat}/rules", {"text": "Never open MAPLE.", "scope": "user"})
    _ask(aiko, "POST", f"{chat}/turns", {"input": "Where is my locker?"})
    _ask(aiko, "POST", f"{chat}/turns/2/feedback", {"comment": "Say ROWAN first.", "thumbs": "up"})
    _ask(aiko, "PUT", "/v1/memory/documents?name=aikos.md", "# Keys\n\nThe spare is at ELMWOOD.\n")
    _ask(aiko, "POST", f"{adk}/artifacts", {"filename": "me.txt", "artifact": {"text": "SPRUCE"}})
    own = {"operations": [{**_LESSON, "content": "Check BEECH before a restart."}]}
    _ask(aiko, "POST", "/v1/playbook/apply?scope=user", own)
    shared = {"operations": [{**_LESSON, "content": "Check the log.", "rationale": "Two failed."}]}
    _ask(aiko, "POST", "/v1/playbook/apply", shared)


def _ask(client: httpx.Client, method: str, path: str, body: dict[str, Any] | str) -> None:
    sent = {"content": body} if isinstance(body, str) else {"json": body}
    answer = client.request(method, path, **sent)
    assert answer.status_code < 300, answer.text
