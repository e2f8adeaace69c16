"""What `bench.house` takes from the product: each import where it is needed.

A tree whose modules have other names needs another version of this file and nothing else.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin

Turn = Callable[[str], Awaitable[None]]

ROOT = Path(__file__).resolve().parents[1]

IMPORT_PLUGIN = "import acc_ace.plugin"


class OpenedPlugin(NamedTuple):
    """A plugin, and what closes its stores."""

    plugin: BasePlugin
    closing: AsyncExitStack


class OpenedTurns(NamedTuple):
    """A conversation's turns, and what closes it."""

    turn: Turn
    closing: AsyncExitStack


def open_turns(folder: Path, llm: BaseLlm) -> OpenedTurns:
    """The whole app over SQLite with its default settings; one model plays all roles."""
    from acc_ace.bootstrap import build_container  # noqa: PLC0415 - as the module says
    from acc_ace.config import ROLES, Settings  # noqa: PLC0415 - as the module says
    from acc_ace.conversation import APP_NAME, Conversation  # noqa: PLC0415 - as the module says
    from acc_ace.core.schemas.base import SessionKey  # noqa: PLC0415 - as the module says

    container = build_container(Settings(data_dir=folder, store="sqlite", learn_on="every"))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    key = SessionKey(APP_NAME, "bench", "s1")

    async def turn(text: str) -> None:
        await conversation.turn(key, text)

    closing = AsyncExitStack()
    closing.push_async_callback(conversation.close)
    return OpenedTurns(turn, closing)


def open_server(folder: Path, llm: BaseLlm | None) -> FastAPI:
    """The server with its default settings over SQLite; without a model, with the embedded one."""
    from acc_ace.bootstrap import build_container  # noqa: PLC0415 - as the module says
    from acc_ace.config import ROLES, Settings  # noqa: PLC0415 - as the module says
    from acc_ace.server.app import create_app  # noqa: PLC0415 - as the module says

    container = build_container(Settings(data_dir=folder, store="sqlite", learn_on="every"))
    return create_app(container, models=dict.fromkeys(ROLES, llm) if llm else None)


def open_plugin(folder: Path, llm: BaseLlm) -> OpenedPlugin:
    """The plugin with its default settings over SQLite."""
    from acc_ace.bootstrap import build_container  # noqa: PLC0415 - as the module says
    from acc_ace.config import ROLES, Settings  # noqa: PLC0415 - as the module says
    from acc_ace.plugin import BoundedMemoryPlugin  # noqa: PLC0415 - as the module says

    container = build_container(Settings(data_dir=folder, store="sqlite", learn_on="every"))
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(ROLES, llm))
    closing = AsyncExitStack()
    closing.push_async_callback(container.close)
    closing.push_async_callback(plugin.close)
    return OpenedPlugin(plugin, closing)


def role_of(request: LlmRequest) -> str:
    """The role that a request asks to answer."""
    from acc_ace.models.response_shape import role_of as found  # noqa: PLC0415 - as the module says

    return found(request) or "generator"
