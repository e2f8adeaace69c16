"""Redis before the sessions' states: a cache that is checked, and never the truth."""

import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from acc_ace.conversation import APP_NAME, Conversation
from config import ROLES, Settings
from core.adapters.cached_journal import CachedJournal
from core.adapters.cached_text import stamp_of
from core.adapters.in_memory_journal import InMemoryJournal
from core.adapters.json_codec import encode
from core.adapters.redis_cache import MAX_VALUE_BYTES, RedisCache
from core.bootstrap import build_container
from core.container import Container
from core.errors import ConfigError, StoreError
from schemas.commit import CommitKind, JournalEntry
from schemas.tenancy import SessionKey
from tests.cache.conftest import RunningRedis
from tests.contract.values import KEY, OTHER_USER, entry
from tests.fakes.clock import START, FixedClock
from tests.fakes.scripted_llm import ScriptedLlm

TALK = SessionKey(APP_NAME, "aiko", "s1")


async def committed(stores: Container, versions: int = 1) -> None:
    for version in range(1, versions + 1):
        await stores.journal.append(
            KEY, entry(version, f"gist {version}"), expected_version=version - 1
        )


async def gist(stores: Container) -> str:
    head = await stores.journal.head(KEY)
    assert head is not None
    return head.state.ccs.semantic_gist


class CountingJournal(InMemoryJournal):
    """A journal that counts how often its entries are read."""

    reads = 0

    async def head(self, key: SessionKey) -> JournalEntry | None:
        self.reads += 1
        return await super().head(key)

    async def stamp(self, key: SessionKey) -> str | None:
        entry = await super().head(key)
        return stamp_of(encode(entry)) if entry else None


async def test_what_was_written_is_read_from_the_cache(running: RunningRedis) -> None:
    inner, cache = CountingJournal(), RedisCache(running.url, ttl_s=60)
    journal = CachedJournal(inner, cache)
    for version in range(1, 4):
        await journal.append(KEY, entry(version), expected_version=version - 1)
        for _ in range(3):
            assert await journal.head(KEY) == entry(version)
    assert inner.reads == 0
    running.client.flushall()
    for _ in range(3):
        assert await journal.head(KEY) == entry(3)
    assert inner.reads == 1
    await cache.close()


async def test_what_was_not_in_the_cache_is_put_there(
    stores: Container, running: RunningRedis
) -> None:
    await committed(stores)
    running.client.flushall()
    assert await gist(stores) == "gist 1"
    assert b"gist 1" in running.value("head")[1]


async def test_entries_expire_and_name_nobody(stores: Container, running: RunningRedis) -> None:
    await committed(stores)
    await stores.directory.open(KEY, at=START, memory="acc")
    assert len(running.names()) == 2
    for name in running.names():
        assert 0 < running.client.ttl(name) <= Settings().redis_ttl_s
        assert not any(part in name for part in (KEY.user, KEY.session))


async def test_a_stale_entry_is_never_taken(stores: Container, running: RunningRedis) -> None:
    await committed(stores)
    name, stale = running.value("head")
    await stores.journal.append(KEY, entry(2, "gist 2"), expected_version=1)
    running.client.set(name, stale)
    assert await gist(stores) == "gist 2"
    assert b"gist 2" in running.value("head")[1]


@pytest.mark.parametrize(
    "lie",
    [
        b"",
        b"\xff\xfe\x00",
        b"not json",
        b"{}",
        b'{"schema_version": 99}',
        b"x" * (MAX_VALUE_BYTES + 1),
    ],
)
async def test_garbage_is_never_taken(stores: Container, running: RunningRedis, lie: bytes) -> None:
    await committed(stores)
    running.client.set(running.value("head")[0], lie)
    assert await gist(stores) == "gist 1"


async def test_one_changed_letter_is_never_taken(stores: Container, running: RunningRedis) -> None:
    await committed(stores)
    name, value = running.value("head")
    running.client.set(name, value.replace(b"commit", b"abort!"))
    head = await stores.journal.head(KEY)
    assert head is not None
    assert head.kind is CommitKind.COMMIT


async def test_a_key_of_another_type_costs_a_warning(
    stores: Container, running: RunningRedis, caplog: pytest.LogCaptureFixture
) -> None:
    await committed(stores)
    name, _ = running.value("head")
    running.client.delete(name)
    running.client.lpush(name, "list")
    with caplog.at_level(logging.WARNING):
        assert await gist(stores) == "gist 1"
    assert caplog.text.count("cache_away") == 1


async def test_entries_of_another_format_are_not_read(
    stores: Container, running: RunningRedis
) -> None:
    await committed(stores)
    name, value = running.value("head")
    running.client.delete(name)
    running.client.set(name.replace("acc-ace:1:", "acc-ace:2:"), b"of a newer program")
    assert await gist(stores) == "gist 1"
    assert running.raw.get(name) == value


async def test_a_long_text_is_not_kept_and_takes_the_old_one_away(running: RunningRedis) -> None:
    cache = RedisCache(running.url, ttl_s=60)
    await cache.put("head", KEY, "short")
    await cache.put("head", KEY, "x" * (MAX_VALUE_BYTES + 1))
    assert await cache.get("head", KEY) is None
    await cache.close()


async def test_records_of_sessions_follow_their_changes(
    stores: Container, running: RunningRedis
) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2"])
    for _ in range(2):
        record = await stores.directory.find(KEY)
        assert record is not None
        assert record.notes == ["n1", "n2"]
    await stores.directory.forget_notes(KEY, ["n1"])
    await stores.directory.reset(KEY, turn=3)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert (record.notes, record.history_from) == (["n2"], 3)
    await stores.directory.ended(KEY, keep_notes=True)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert record.ended
    await stores.directory.delete(KEY, at=START, keep_notes=True)
    assert await stores.directory.find(KEY) is None
    await stores.directory.open(KEY, at=START, memory="acc")
    await stores.directory.delete(KEY, at=START, keep_notes=False)
    assert await stores.directory.find(KEY) is None
    assert running.names() == []


async def test_erasing_takes_the_users_entries_of_every_format(
    stores: Container, running: RunningRedis
) -> None:
    await committed(stores)
    mine, _ = running.value("head")
    await stores.journal.append(OTHER_USER, entry(1), expected_version=0)
    [other] = set(running.names()) - {mine}
    running.client.set(mine.replace(":1:", ":7:"), b"of another program")
    assert (await stores.erasure.residue(KEY.tenant))["redis"] == 2
    conversation = Conversation(stores, models=dict.fromkeys(ROLES, ScriptedLlm()))
    erased = await conversation.erase(KEY.tenant)
    assert erased["cache"] == 2
    assert running.names() == [other]
    await conversation.close()


async def test_an_erasure_waits_for_a_redis_that_is_away(
    where: dict[str, Any], away: str, running: RunningRedis
) -> None:
    models = dict.fromkeys(ROLES, ScriptedLlm())
    first = Conversation(
        build_container(Settings(redis_url=away, **where), FixedClock()), models=models
    )
    await first.turn(TALK, "I prefer short answers.")
    with pytest.raises(StoreError, match=r"Redis \(ACC_ACE_REDIS_URL\) cannot be reached"):
        await first.erase(TALK.tenant)
    assert await first.state(TALK) is None
    await first.close()
    clock = FixedClock()
    clock.advance(hours=1)
    second = Conversation(
        build_container(Settings(redis_url=running.url, **where), clock), models=models
    )
    assert await second.residue(TALK.tenant)
    await second.housekeep()
    assert await second.residue(TALK.tenant) == {}
    await second.close()


async def test_turns_go_on_without_redis_after_one_warning(
    where: dict[str, Any], away: str, caplog: pytest.LogCaptureFixture
) -> None:
    container = build_container(Settings(redis_url=away, **where), FixedClock())
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            assert (await conversation.turn(TALK, f"Hello {number}.")).turn == number + 1
    assert caplog.text.count("cache_away") == 1
    await conversation.close()


async def test_a_redis_that_dies_and_comes_back_serves_nothing_stale(
    stores: Container, running: RunningRedis
) -> None:
    await committed(stores)
    name, stale = running.value("head")
    # As when the write went past a Redis that was away, which then comes back as it was.
    running.client.delete(name)
    await stores.journal.append(KEY, entry(2, "gist 2"), expected_version=1)
    running.client.set(name, stale)
    await stores.journal.append(KEY, entry(3, "gist 3"), expected_version=2)
    running.client.set(name, stale)
    assert await gist(stores) == "gist 3"


async def test_a_turn_after_another_process_wrote_commits_on_the_newest_state(
    where: dict[str, Any], running: RunningRedis
) -> None:
    models = dict.fromkeys(ROLES, ScriptedLlm())
    cached = Conversation(
        build_container(Settings(redis_url=running.url, **where), FixedClock()), models=models
    )
    # A process whose operator forgot the cache: it writes and invalidates nothing.
    plain = Conversation(build_container(Settings(**where), FixedClock()), models=models)
    for number in range(1, 5):
        conversation = cached if number % 2 else plain
        assert (await conversation.turn(TALK, f"Hello {number}.")).turn == number
    await cached.close()
    await plain.close()


@pytest.fixture
def mute() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"


async def test_a_redis_that_hangs_is_given_up_and_then_left_alone(
    mute: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = RedisCache(mute, ttl_s=60)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            assert await cache.get("head", KEY) is None
    assert caplog.text.count("cache_away error=TimeoutError") == 1
    await cache.close()


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "redis://host:no-port/0"])
def test_a_url_that_is_none_names_its_setting(url: str) -> None:
    with pytest.raises(ConfigError, match="ACC_ACE_REDIS_URL is not a Redis URL"):
        RedisCache(url, ttl_s=60)
