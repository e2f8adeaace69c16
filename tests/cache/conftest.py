"""A Redis over real sockets, and stores behind it."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from fakeredis import TcpFakeServer

from config import Settings
from core.bootstrap import build_container
from core.container import Container
from tests.fakes.clock import FixedClock


@dataclass
class RunningRedis:
    """Where it is, and clients of the test's own: one that decodes names, one that does not."""

    url: str
    client: "redis.Redis"
    raw: "redis.Redis"

    def names(self) -> list[str]:
        """Every key."""
        return sorted(str(name) for name in self.client.scan_iter())

    def value(self, kind: str) -> tuple[str, bytes]:
        """The one entry of a kind: its key and its value."""
        [name] = [name for name in self.names() if f":{kind}:" in name]
        value = self.raw.get(name)
        assert isinstance(value, bytes)
        return name, value


@pytest.fixture
def running() -> Iterator[RunningRedis]:
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    port = server.server_address[1]
    client = redis.Redis(host="127.0.0.1", port=port, decode_responses=True)
    raw = redis.Redis(host="127.0.0.1", port=port)
    client.flushall()
    yield RunningRedis(f"redis://127.0.0.1:{port}/0", client, raw)
    client.close()
    raw.close()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def away() -> str:
    """The URL of a Redis that is not there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{free.getsockname()[1]}/0"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Settings of the stores behind the cache."""
    if request.param == "sqlite":
        return {"store": "sqlite", "data_dir": tmp_path}
    return {
        "store": "postgres",
        "data_dir": tmp_path,
        "database_url": request.getfixturevalue("postgres").clean_database(),
    }


@pytest.fixture
async def stores(where: dict[str, Any], running: RunningRedis) -> AsyncIterator[Container]:
    container = build_container(Settings(redis_url=running.url, **where), FixedClock())
    yield container
    await container.close()
