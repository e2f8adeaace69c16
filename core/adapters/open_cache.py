"""Put a cache before the stores, if the settings name one."""

from dataclasses import replace

from config import Settings
from core.adapters.separate_erasure import SeparateErasure
from core.adapters.stores import Stores


def with_cache(stores: Stores, settings: Settings) -> Stores:
    """The stores as they are, or behind Redis. Does no I/O.

    Raises ConfigError for a URL that cannot be read, or when the extra is missing.
    """
    if settings.redis_url is None:
        return stores
    # Redis is an optional extra.
    from core.adapters.cached_directory import CachedDirectory  # noqa: PLC0415
    from core.adapters.cached_erasure import CachedErasure  # noqa: PLC0415
    from core.adapters.cached_journal import CachedJournal  # noqa: PLC0415
    from core.adapters.redis_cache import RedisCache  # noqa: PLC0415

    cache = RedisCache(settings.redis_url.get_secret_value(), ttl_s=settings.redis_ttl_s)

    async def close() -> None:
        await stores.close()
        await cache.close()

    return replace(
        stores,
        journal=CachedJournal(stores.journal, cache),
        directory=CachedDirectory(stores.directory, cache),
        erasure=CachedErasure(stores.erasure or SeparateErasure(stores), cache),
        close=close,
    )
