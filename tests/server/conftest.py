"""The whole server in this process, over stores in memory and a scripted model."""

from collections.abc import AsyncIterator, Hashable, Iterator
from typing import Any, get_args

import fastapi._compat.v2
import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.server.app import create_app
from tests.fakes.place import Place, place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

__all__ = ["place"]


@pytest.fixture(scope="session", autouse=True)
def validators_made_once() -> Iterator[None]:
    """The validators of ADK's routes are made once, not for each of the hundreds of servers."""
    made: dict[Hashable, TypeAdapter[Any]] = {}

    def adapter(annotated: Any, **options: Any) -> TypeAdapter[Any]:
        kind, *metadata = get_args(annotated)
        key = (kind, repr(metadata), repr(options))
        if key not in made:
            made[key] = TypeAdapter(annotated, **options)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastapi._compat.v2, "TypeAdapter", adapter)
        yield


@pytest.fixture
def scripted() -> ScriptedLlm:
    """The model of every agent."""
    return ScriptedLlm()


@pytest.fixture
def container() -> Container:
    """Stores in memory."""
    return build_container(Settings(store="memory", serve_web_interface=False))


@pytest.fixture
def app(container: Container, scripted: ScriptedLlm) -> FastAPI:
    """The server without tokens."""
    return create_app(container, models=dict.fromkeys(ROLES, scripted))


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the server; unexpected errors come back as responses."""
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


@pytest.fixture
async def key_free(place: Place) -> AsyncIterator[httpx.AsyncClient]:
    """A server with the key-free engine, over each kind of database."""
    app = create_app(place.open())
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()
