"""Recorded conversations of ADK's samples go as they went, over our sessions and with our plugin.

Ours are in tests/data/adk_samples. Those of ADK's repository are replayed where a folder of them is
named: ADK_TEST_FOLDER=…/contributing/samples. What they do with plain ADK of this version is asked
first: one that fails there is skipped by name.
"""

import asyncio
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from google.adk.apps import App

from acc_ace import BoundedMemoryPlugin, build_container
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.adk.sessions.create_session_service import open_session_service
from config import Settings
from tests.fakes.adk_recordings import SAMPLES, Host, Hosted, recordings, replay
from tests.fakes.scripted_llm import ScriptedLlm

OURS = recordings(SAMPLES)
FOLDER = os.environ.get("ADK_TEST_FOLDER")
THEIRS = recordings(Path(FOLDER)) if FOLDER else []
NO_FOLDER = pytest.param(None, None, id="no folder of samples")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning"),
]


@pytest.fixture(params=["sessions", "plugin"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """Our session service over a file, and beside it our plugin, whose models change nothing."""
    container = build_container(Settings(data_dir=tmp_path, learning="off"))
    sessions = open_session_service(container)

    def hosted(app: App) -> Hosted:
        if request.param == "sessions":
            return app, sessions
        plugin = BoundedMemoryPlugin(
            container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()), root=app.root_agent
        )
        return app.model_copy(update={"plugins": [*app.plugins, plugin]}), sessions

    yield hosted

    async def close() -> None:
        await sessions.close()
        await container.close()

    asyncio.run(close())


@pytest.mark.parametrize(("agent_dir", "recording"), OURS)
def test_our_recordings_are_what_plain_adk_does(agent_dir: Path, recording: Path) -> None:
    replay(agent_dir, recording)


@pytest.mark.parametrize(("agent_dir", "recording"), OURS)
def test_a_recorded_conversation_goes_as_it_went(
    agent_dir: Path, recording: Path, host: Host
) -> None:
    goes_as_recorded(agent_dir, recording, host)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("agent_dir", "recording"), THEIRS or [NO_FOLDER])
def test_a_conversation_that_adk_recorded_goes_as_it_went(
    agent_dir: Path | None, recording: Path | None, host: Host
) -> None:
    if agent_dir is None or recording is None:
        pytest.skip("needs ADK's samples: ADK_TEST_FOLDER=…/adk-python/contributing/samples")
    if fault := fails_plain(agent_dir, recording):
        pytest.skip(f"fails with plain ADK too: {fault}")
    goes_as_recorded(agent_dir, recording, host)


def goes_as_recorded(agent_dir: Path, recording: Path, host: Host) -> None:
    try:
        replay(agent_dir, recording, host)
    except RuntimeError as refused:
        if "mode='task'" not in str(refused):
            raise
        pytest.xfail("the plugin refuses mode='task' by name: docs/how-to/plugin.md")


@cache
def fails_plain(agent_dir: Path, recording: Path) -> str:
    """What a recording of others does with plain ADK of this version; empty if as recorded."""
    try:
        replay(agent_dir, recording)
    except (Exception, pytest.skip.Exception) as fault:  # noqa: BLE001 - agents of others
        return f"{type(fault).__name__}: {str(fault)[:200]}"
    return ""
