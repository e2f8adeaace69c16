"""Takes a turn and is killed when the turn is evidence, before its words can be recalled."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from acc_ace.controller import AccController
from acc_ace.conversation import Conversation
from config import ROLES, load_settings
from core.bootstrap import build_container
from core.container import Container
from core.ports.artifact_store import ArtifactStore
from schemas.artifact import Artifact
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY


class KillingArtifacts:
    """Artifacts whose writer is killed before it has written."""

    def __init__(self, inner: ArtifactStore) -> None:
        self._inner = inner

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def main(how: str, text: str) -> None:
    """One turn, by the pipeline or by the controller; it does not come to its end."""
    container = build_container(load_settings())
    artifacts: Any = KillingArtifacts(container.artifacts)
    await _turn(replace(container, artifacts=artifacts), how, text)


async def _turn(container: Container, how: str, text: str) -> None:
    models = dict.fromkeys(ROLES, ScriptedLlm())
    if how == "pipeline":
        await Conversation(container, models=models).turn(KEY, text)
        return
    controller = AccController(container, session=KEY.session, user=KEY.user, models=models)
    await controller.update_state(text, None)
    await controller.record("Noted.")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
