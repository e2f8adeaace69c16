"""Redis, where a cache is asked for."""

import asyncio
from collections.abc import Iterator

from cli.checks.finding import Finding, note, ok, problem
from config import Settings
from core.errors import ConfigError, StoreError


def check_cache(settings: Settings) -> Iterator[Finding]:
    """Whether the cache answers; without it turns go on, reading from the store."""
    if settings.redis_url is None:
        return
    try:
        asyncio.run(_ask(settings.redis_url.get_secret_value()))
    except ConfigError as error:
        yield problem("cache", str(error), "mend ACC_ACE_REDIS_URL, or unset it")
    except StoreError as error:
        detail, _, fix = str(error).partition("; ")
        yield note("cache", f"{detail}; states are read from the store", fix)
    else:
        yield ok("cache", "Redis answers")


async def _ask(url: str) -> None:
    # Redis is an optional extra.
    from core.adapters.redis_cache import RedisCache  # noqa: PLC0415

    cache = RedisCache(url, ttl_s=1)
    try:
        await cache.check()
    finally:
        await cache.close()
