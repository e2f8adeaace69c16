"""Redis as a cache: what it says is checked, what it forgets is read elsewhere.

One that is away, slow or full costs a warning and a short pause in which it is not asked; no
call of `get`, `put` or `drop` ever raises. Values are bounded and expire. Keys hold digests of
names, not the names; values hold the words of users, so Redis needs the protection of the database.
"""

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from core.errors import ConfigError, StoreError
from schemas.tenancy import SessionKey, Tenant

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError
    from redis.retry import Retry
except ImportError as error:
    raise ConfigError(
        f"ACC_ACE_REDIS_URL needs the extra 'redis': pip install 'acc-ace[redis]' ({error})"
    ) from error

_log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_VALUE_BYTES = 256 * 1024
"""Longer values are not kept."""

_PREFIX = "acc-ace"
_FORMAT = 1
"""Part of every key, so that programs of different formats never read one another."""

_TIMEOUT_S = 0.25
_PAUSE_S = 10.0
_CONNECTIONS = 16
_SCAN = 1_000


class RedisCache:
    """Texts of sessions, by kind. Does no I/O at construction."""

    def __init__(self, url: str, *, ttl_s: int) -> None:
        """Keep entries for `ttl_s` seconds. Raises ConfigError for a URL that cannot be read."""
        try:
            pool = redis.ConnectionPool.from_url(
                url,
                socket_timeout=_TIMEOUT_S,
                socket_connect_timeout=_TIMEOUT_S,
                max_connections=_CONNECTIONS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise ConfigError(
                "ACC_ACE_REDIS_URL is not a Redis URL; write it as redis://host:6379/0"
            ) from error
        # Blocking calls on threads, so that any event loop may ask.
        self._redis = redis.Redis(connection_pool=pool)
        self._ttl_s = ttl_s
        self._mutex = threading.Lock()
        self._paused_until = 0.0
        self._warned = False

    async def get(self, kind: str, key: SessionKey) -> str | None:
        """What is kept, or None. It may be stale, or anything at all."""
        value = await self._try(lambda: self._redis.get(_name(kind, key)))
        if not isinstance(value, bytes) or len(value) > MAX_VALUE_BYTES:
            return None
        return value.decode(errors="replace")

    async def put(self, kind: str, key: SessionKey, text: str) -> None:
        """Keep a text; one that is too long takes the old one away."""
        value = text.encode(errors="replace")
        if len(value) > MAX_VALUE_BYTES:
            await self.drop(kind, key)
            return
        await self._try(lambda: self._redis.set(_name(kind, key), value, ex=self._ttl_s))

    async def drop(self, kind: str, key: SessionKey) -> None:
        """Forget a text."""
        await self._try(lambda: self._redis.unlink(_name(kind, key)))

    async def erase(self, tenant: Tenant) -> int:
        """Forget everything of a user, whatever program wrote it; how many entries.

        Raises StoreError when Redis is away: then it still holds words of the user.
        """

        def work() -> int:
            names = list(self._redis.scan_iter(match=_all_of(tenant), count=_SCAN))
            for at in range(0, len(names), _SCAN):
                self._redis.unlink(*names[at : at + _SCAN])
            return len(names)

        return await self._must(work)

    async def count(self, tenant: Tenant) -> int:
        """Entries of a user. Raises StoreError when Redis is away."""
        return await self._must(
            lambda: sum(1 for _ in self._redis.scan_iter(match=_all_of(tenant), count=_SCAN))
        )

    async def check(self) -> None:
        """Reach Redis; raises StoreError."""
        await self._must(self._redis.ping)

    async def close(self) -> None:
        """Disconnect."""
        await asyncio.to_thread(self._redis.close)

    async def _try(self, work: Callable[[], T]) -> T | None:
        if time.monotonic() < self._paused_until:
            return None
        try:
            result = await asyncio.to_thread(work)
        except (RedisError, OSError) as error:
            self._pause(error)
            return None
        if self._warned:
            self._warned = False
            _log.warning("cache_back")
        return result

    async def _must(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except (RedisError, OSError) as error:
            raise StoreError(
                f"Redis (ACC_ACE_REDIS_URL) cannot be reached ({type(error).__name__}); "
                "start it and try again"
            ) from error

    def _pause(self, error: Exception) -> None:
        with self._mutex:
            self._paused_until = time.monotonic() + _PAUSE_S
            first, self._warned = not self._warned, True
        if first:
            _log.warning("cache_away error=%s; the store is read instead", type(error).__name__)


def _name(kind: str, key: SessionKey) -> str:
    return f"{_PREFIX}:{_FORMAT}:{_digest(key.tenant)}:{kind}:{_digest(key)}"


def _all_of(tenant: Tenant) -> str:
    return f"{_PREFIX}:*:{_digest(tenant)}:*"


def _digest(names: Tenant | SessionKey) -> str:
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()[:32]
