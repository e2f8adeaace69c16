"""Recordings of ADK's samples, replayed and rebuilt by the runner that ADK's package ships.

A folder of samples holds NAME/agent.py and NAME/tests/*.json, in ADK's own layout. To record ours
again: `python -m tests.fakes.adk_recordings` (each model reply is taken from what stands there).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.cli import agent_test_runner
from google.adk.memory import InMemoryMemoryService
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.genai import types

from acc_ace.core.schemas.state import CCS

SAMPLES: Final = Path(__file__).parents[1] / "data" / "adk_samples"

Hosted = tuple[App, BaseSessionService]
Host = Callable[[App], Hosted]
"""What an app becomes with us, and the sessions that it runs over."""


class HostedRunner:
    """In place of ADK's own `InMemoryRunner`: the same app, as `host` has it."""

    def __init__(self, host: Host, root_agent: Any = None, app: App | None = None) -> None:
        own, self._sessions = host(app or App(name="test_app", root_agent=root_agent))
        self.runner = Runner(
            app=own,
            session_service=self._sessions,
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )
        self._session: Session | None = None

    def run(self, new_message: types.Content | str) -> list[Any]:
        """The events of one run, on a loop of its own, as ADK's runner has it."""
        if isinstance(new_message, str):
            new_message = types.Content(role="user", parts=[types.Part(text=new_message)])
        if self._session is None:
            opened = self._sessions.create_session(
                app_name=self.runner.app_name, user_id="test_user"
            )
            self._session = asyncio.run(opened)
        return list(
            self.runner.run(
                user_id="test_user", session_id=self._session.id, new_message=new_message
            )
        )


def recordings(folder: Path | None) -> list[Any]:
    """The recordings of a folder as parameters `agent_dir, recording`, named as ADK names them."""
    return sorted(
        agent_test_runner.get_test_files(str(folder)) if folder else [], key=lambda each: each.id
    )


def replay(agent_dir: Path, recording: Path, host: Host | None = None) -> None:
    """Replay by ADK's runner, plain or as `host` has the app; raises what differs or fails."""
    with pytest.MonkeyPatch.context() as patch:
        if host is not None:
            patch.setattr(agent_test_runner, "InMemoryRunner", partial(HostedRunner, host))
            normalised = agent_test_runner.normalize_events
            patch.setattr(
                agent_test_runner,
                "normalize_events",
                lambda events, is_json=False: list(map(_theirs, normalised(events, is_json))),
            )
        agent_test_runner.test_agent_replay(agent_dir, recording, patch)


def _theirs(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what the plugin adds under its own names."""
    actions = dict(event.get("actions", {}))
    actions["stateDelta"] = {k: v for k, v in actions.get("stateDelta", {}).items() if k != CCS}
    notes = {k: v for k, v in event.get("customMetadata", {}).items() if k != "acc_ace"}
    cleaned = {"actions": {k: v for k, v in actions.items() if v}, "customMetadata": notes}
    rest = {name: value for name, value in event.items() if name not in cleaned}
    return rest | {name: value for name, value in cleaned.items() if value}


def record(agent_dir: Path, recording: Path) -> None:
    """Write a recording anew, with plain ADK: its messages and its model's replies are kept."""
    replies = _replies(recording)

    async def reply(
        model: Gemini, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=next(replies))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gemini, "generate_content_async", reply)
        agent_test_runner.rebuild_tests(str(recording))


def _replies(recording: Path) -> Iterator[types.Content]:
    """What a model said, in order; ADK itself asks for consent."""
    for event in json.loads(recording.read_text("utf-8"))["events"]:
        content = types.Content.model_validate(event["content"])
        calls = [part.function_call for part in content.parts or [] if part.function_call]
        asks = any(str(call.name).startswith("adk_request_") for call in calls)
        for call in calls:
            call.id = None  # ADK numbers them.
        if content.role == "model" and not asks:
            yield content


if __name__ == "__main__":
    for each in recordings(SAMPLES):
        record(*each.values)
