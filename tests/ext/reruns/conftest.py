"""Servers whose models are asked over HTTP, on the Gemini of the fakes."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.server.app import create_app
from config import Settings
from tests.ext.reruns.turns import OTHER, Serve
from tests.fakes.fake_gemini import FakeGemini, fake_gemini
from tests.server.asgi import client
from tests.server.conftest import validators_made_once

__all__ = ["validators_made_once"]


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    """The Gemini API of every model that is named so."""
    with fake_gemini() as fake:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts a server over SQLite with these settings; the compressor has a model of its own."""
    async with AsyncExitStack() as stack:

        async def started(**changes: Any) -> httpx.AsyncClient:
            values: dict[str, Any] = {
                "data_dir": tmp_path / "data",
                "serve_web_interface": False,
                "learning": "off",
                "generator": {"retries": 0, "backoff_s": 0},
                "compressor": {"model": OTHER, "retries": 0, "backoff_s": 0},
                "tools": ("tests.fakes.confirmed_tool:refund",),
            }
            app = create_app(build_container(Settings(**{**values, **changes})))
            stack.push_async_callback(app.state.acc_ace.close)
            return await stack.enter_async_context(client(app, timeout=30))

        yield started


@pytest.fixture
async def http(gemini: FakeGemini, serve: Serve) -> httpx.AsyncClient:
    """A client of such a server without tokens."""
    del gemini
    return await serve()
