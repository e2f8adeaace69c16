"""What every SessionDirectory and JobStore promises."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from config import Settings
from core.adapters.json_codec import encode
from core.adapters.postgres_schema import SCHEMA
from core.adapters.sqlite_database import DATABASE_FILE
from core.bootstrap import build_container
from core.container import Container
from core.errors import CorruptStoreError
from schemas.job import LONGEST_DELAY, Job, JobKind, job_id
from schemas.memory import Summary
from schemas.session import ReadThrough, SessionRecord
from schemas.tenancy import SessionKey
from tests.contract.values import KEY, OTHER_SESSION, OTHER_USER
from tests.fakes.clock import START, FixedClock


def later(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Container]:
    settings = Settings(store=request.param, data_dir=tmp_path / "data")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").clean_database()
        settings = Settings(store="postgres", database_url=url)
    opened = build_container(settings, FixedClock())
    yield opened
    await opened.close()


def job(name: str, *, at: float = 0, user: str = "aiko") -> Job:
    when = START + later(at)
    return Job(id=name, kind=JobKind.OFFLOAD, app="shop", user=user, created_at=when, due_at=when)


async def test_a_session_is_created_once_and_then_found(stores: Container) -> None:
    assert await stores.directory.find(KEY) is None
    await stores.directory.open(KEY, at=START, memory="acc")
    again = await stores.directory.open(KEY, at=START + later(5), memory="window")
    assert (again.created_at, again.active_at, again.memory) == (START, START + later(5), "window")
    assert await stores.directory.find(KEY) == again
    assert await stores.directory.find(OTHER_USER) is None


async def test_a_record_takes_the_place_of_another_or_of_none(stores: Container) -> None:
    opened = await stores.directory.open(KEY, at=START, memory="acc")
    other = opened.model_copy(update={"memory": "window", "notes": ["n-1"]})
    for key in (KEY, OTHER_USER):
        await stores.directory.renew(key, other)
        assert await stores.directory.find(key) == other


async def test_a_clock_that_runs_backwards_makes_no_session_younger(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    record = await stores.directory.open(KEY, at=START - later(60), memory="acc")
    assert record.active_at == START


async def test_pages_give_every_session_once_the_most_recent_first(stores: Container) -> None:
    for number in range(7):
        key = KEY._replace(session=f"s{number}")
        # Two at a time, so that ties are paged over too.
        await stores.directory.open(key, at=START + later(number // 2), memory="acc")
    await stores.directory.open(OTHER_USER, at=START, memory="acc")
    seen: list[str] = []
    before: str | None = None
    while page := await stores.directory.list(KEY.tenant, limit=3, before=before):
        seen += [record.session for record in page]
        before = page[-1].session
    assert seen == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


async def test_idle_sessions_are_those_with_words_not_offloaded(stores: Container) -> None:
    for number, key in enumerate((KEY, OTHER_SESSION, OTHER_USER)):
        await stores.directory.open(key, at=START + later(number), memory="acc")
    await stores.directory.offloaded(KEY, at=START + later(9), notes=["n1"])
    since = START + later(2)
    assert [key for key, _ in await stores.directory.idle("shop", since=since)] == [OTHER_SESSION]
    await stores.directory.open(KEY, at=START + later(20), memory="acc")
    found = await stores.directory.idle("shop", since=START + later(60))
    assert [key for key, _ in found] == [OTHER_SESSION, OTHER_USER, KEY]


async def test_an_older_summary_never_replaces_a_newer_one(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    for through in (4, 9, 6):
        summary = Summary(
            content=f"to {through}", through_turn=through, session_began=START, created_at=START
        )
        await stores.directory.summarise(KEY, summary)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert record.summary is not None
    assert record.summary.through_turn == 9


async def test_a_reset_forgets_the_summary_and_a_late_one_of_before(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="summary")
    old = Summary(content="old", through_turn=4, session_began=START, created_at=START)
    await stores.directory.summarise(KEY, old)
    await stores.directory.reset(KEY, turn=6)
    await stores.directory.summarise(KEY, old)
    record = await stores.directory.find(KEY)
    assert record is not None
    assert (record.history_from, record.summary) == (6, None)


async def test_a_deleted_session_is_gone_but_for_notes_kept_with_consent(
    stores: Container,
) -> None:
    for key in (KEY, OTHER_SESSION):
        await stores.directory.open(key, at=START, memory="acc")
        await stores.directory.offloaded(key, at=START, notes=["n1"])
    await stores.directory.delete(KEY, at=START, keep_notes=True)
    await stores.directory.delete(OTHER_SESSION, at=START, keep_notes=False)
    assert await stores.directory.find(KEY) is None
    [left] = await stores.directory.list(KEY.tenant)
    assert (left.session, left.notes) == (KEY.session, ["n1"])
    assert await stores.directory.idle("shop", since=START + later(9)) == []
    begun = await stores.directory.open(KEY, at=START + later(1), memory="acc")
    assert (begun.created_at, begun.notes) == (START + later(1), ["n1"])


async def test_notes_that_a_deleted_session_left_outlive_the_next_one_of_its_name(
    stores: Container,
) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2"])
    await stores.directory.delete(KEY, at=START, keep_notes=True)
    await stores.directory.open(KEY, at=START + later(1), memory="acc")
    await stores.directory.offloaded(KEY, at=START + later(1), notes=["n2", "n3"])
    for _ in range(2):  # Doing it again, as after an answer that was lost, changes nothing.
        await stores.directory.delete(KEY, at=START + later(2), keep_notes=False)
        [left] = await stores.directory.list(KEY.tenant)
        assert (left.notes, left.deleted_at) == (["n1", "n2"], START + later(2))
    assert await stores.directory.find(KEY) is None


async def test_erase_takes_the_sessions_and_jobs_of_one_user(stores: Container) -> None:
    for key in (KEY, OTHER_SESSION, OTHER_USER):
        await stores.directory.open(key, at=START, memory="acc")
        await stores.jobs.enqueue(job(f"{key.user}-{key.session}", user=key.user))
    assert sorted(await stores.directory.names(KEY.tenant)) == [KEY.session, OTHER_SESSION.session]
    assert await stores.directory.erase(KEY.tenant, OTHER_SESSION.session) == 1
    assert await stores.directory.names(KEY.tenant) == [KEY.session]
    assert await stores.directory.erase(KEY.tenant) == 1
    assert await stores.jobs.erase(KEY.tenant) == 2
    assert await stores.directory.list(KEY.tenant) == []
    assert await stores.directory.find(OTHER_USER) is not None
    assert len(await stores.jobs.list(OTHER_USER.tenant)) == 1


async def test_the_same_job_is_kept_once(stores: Container) -> None:
    assert await stores.jobs.enqueue(job("a"))
    assert not await stores.jobs.enqueue(job("a"))
    assert len(await stores.jobs.list(KEY.tenant)) == 1


async def test_a_job_takes_the_place_of_the_one_that_has_its_id(stores: Container) -> None:
    await stores.jobs.enqueue(job("a"))
    await stores.jobs.enqueue(job("given up"))
    await stores.jobs.claim(now=START, lease_s=60)
    await stores.jobs.enqueue(job("a", at=1))
    await stores.jobs.fail("given up", error="no use", due_at=None)
    for name in ("a", "given up", "new"):
        await stores.jobs.replace(job(name, at=9))
    kept = await stores.jobs.list(KEY.tenant)
    assert list(kept) == [job(name, at=9) for name in ("a", "given up", "new")]
    await stores.jobs.finish("a")
    assert await stores.jobs.find("a") is None, "nothing of what was replaced comes back"


async def test_jobs_are_claimed_oldest_first_and_by_one_claimer(stores: Container) -> None:
    await stores.jobs.enqueue(job("b", at=2))
    await stores.jobs.enqueue(job("a", at=1))
    await stores.jobs.enqueue(job("later", at=100))
    claimed = [await stores.jobs.claim(now=START + later(5), lease_s=60) for _ in range(3)]
    assert [item.id if item else None for item in claimed] == ["a", "b", None]


async def test_a_job_whose_claimer_died_is_claimed_again(stores: Container) -> None:
    await stores.jobs.enqueue(job("a"))
    assert await stores.jobs.claim(now=START, lease_s=60)
    assert await stores.jobs.claim(now=START + later(59), lease_s=60) is None
    again = await stores.jobs.claim(now=START + later(60), lease_s=60)
    assert again is not None
    assert again.tries == 2


async def test_a_finished_job_is_gone_and_a_failed_one_says_why(stores: Container) -> None:
    for name in ("done", "again", "lost"):
        await stores.jobs.enqueue(job(name))
    await stores.jobs.finish("done")
    await stores.jobs.fail("again", error="model down", due_at=START + later(30))
    await stores.jobs.fail("lost", error="no use", due_at=None)
    assert await stores.jobs.claim(now=START + later(29), lease_s=1) is None
    claimed = await stores.jobs.claim(now=START + later(30), lease_s=1)
    assert claimed is not None
    assert claimed.error == "model down"
    assert {item.id: item.given_up for item in await stores.jobs.list(KEY.tenant)} == {
        "again": False,
        "lost": True,
    }
    assert await stores.jobs.enqueue(job("lost")), "a job that was given up can be tried anew"


async def test_a_job_is_found_until_it_is_done(stores: Container) -> None:
    await stores.jobs.enqueue(job("a"))
    assert await stores.jobs.find("a") == job("a")
    await stores.jobs.finish("a")
    assert await stores.jobs.find("a") is None


NEWER = '{"id": "first", "kind": "of a newer program"}'


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("body", ["{", NEWER])
async def test_a_job_that_cannot_be_read_keeps_none_of_the_others_from_being_done(
    stores: Container, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number, name in enumerate(("first", "second")):
        await stores.jobs.enqueue(job(name, at=number))
    await write_body(stores, "first", body)
    now = START + later(9)
    claimed = [await stores.jobs.claim(now=now, lease_s=60) for _ in range(2)]
    assert [item.id if item else None for item in claimed] == ["second", None]
    assert "job_unreadable id=first" in caplog.text
    await stores.jobs.finish("second")
    await write_body(stores, "first", encode(job("first")))
    again = await stores.jobs.claim(now=now + LONGEST_DELAY, lease_s=60)
    assert again is not None
    assert again.id == "first"


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
async def test_a_job_of_a_newer_program_is_kept_for_it(stores: Container) -> None:
    await stores.jobs.enqueue(job("first"))
    await write_body(stores, "first", NEWER)
    assert not await stores.jobs.enqueue(job("first"))
    with pytest.raises(CorruptStoreError, match="first"):
        await stores.jobs.find("first")


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
async def test_a_damaged_job_is_replaced_when_it_is_asked_for(
    stores: Container, caplog: pytest.LogCaptureFixture
) -> None:
    await stores.jobs.enqueue(job("first"))
    await write_body(stores, "first", "{")
    assert await stores.jobs.find("first") is None
    assert "job_unreadable id=first" in caplog.text
    assert await stores.jobs.enqueue(job("first"))
    assert await stores.jobs.claim(now=START, lease_s=60)


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("body", ["{", NEWER])
async def test_a_job_that_cannot_be_read_gives_its_place_to_another(
    stores: Container, body: str
) -> None:
    await stores.jobs.enqueue(job("first"))
    await write_body(stores, "first", body)
    await stores.jobs.replace(job("first", at=9))
    assert await stores.jobs.find("first") == job("first", at=9)


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("body", ["{", NEWER])
async def test_a_job_that_cannot_be_read_is_passed_over_in_the_list(
    stores: Container, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("first", "second"):
        await stores.jobs.enqueue(job(name))
    await write_body(stores, "first", body)
    assert [item.id for item in await stores.jobs.list(KEY.tenant)] == ["second"]
    assert "job_unreadable id=first" in caplog.text


async def write_body(stores: Container, job_id: str, body: str) -> None:
    """Change a job behind the back of its store."""
    await write(stores, "UPDATE jobs SET body = ? WHERE id = ?", body, job_id)


async def write(stores: Container, statement: str, *values: str) -> None:
    """Change rows behind the back of their store; `?` is a value."""
    settings = stores.settings
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {SCHEMA}".encode())
            connection.execute(statement.replace("?", "%s").encode(), values)
        return
    with closing(sqlite3.connect(settings.data_dir / DATABASE_FILE)) as file, file:
        file.execute(statement, values)


async def test_notes_that_are_forgotten_are_no_longer_known(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2", "n3"])
    await stores.directory.forget_notes(KEY, ["n2", "unknown"])
    record = await stores.directory.find(KEY)
    assert record is not None
    assert record.notes == ["n1", "n3"]
    await stores.directory.forget_notes(OTHER_USER, ["n1"])
    assert await stores.directory.find(OTHER_USER) is None


async def test_how_far_a_session_was_offloaded_is_kept(stores: Container) -> None:
    await stores.directory.open(KEY, at=START, memory="acc")
    through = ReadThrough(turn=7, invocation_id="i-7")
    await stores.directory.offloaded(KEY, at=START, notes=["n1", "n2"], through=through)
    await stores.directory.offloaded(KEY, at=START, notes=["n3", "n1"])
    record = await stores.directory.open(KEY, at=START + later(1), memory="acc")
    assert record.offloaded_through == through
    assert record.notes == ["n2", "n3", "n1"]


async def test_pages_give_every_idle_session_once_the_oldest_first(stores: Container) -> None:
    keys = [KEY._replace(session=f"s{number}") for number in range(7)]
    for number, key in enumerate(keys):
        # Two at a time, so that ties are paged over too.
        await stores.directory.open(key, at=START + later(number // 2), memory="acc")
    seen: list[SessionKey] = []
    after: tuple[SessionKey, SessionRecord] | None = None
    while page := await stores.directory.idle("shop", since=START + later(9), limit=3, after=after):
        seen += [key for key, _ in page]
        after = page[-1]
    assert seen == keys


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
async def test_idle_sessions_that_cannot_be_read_are_passed_over(
    stores: Container, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(4):
        key = KEY._replace(session=f"s{number}")
        await stores.directory.open(key, at=START + later(number), memory="acc")
    for name in ("s0", "s2"):
        await write(stores, "UPDATE session_directory SET body = ? WHERE session = ?", "{", name)
    found = await stores.directory.idle("shop", since=START + later(9), limit=2)
    assert [key.session for key, _ in found] == ["s1", "s3"]
    assert "session_unreadable user='aiko' session='s2'" in caplog.text


async def test_work_asked_for_while_it_is_done_is_done_once_more(stores: Container) -> None:
    await stores.jobs.enqueue(job("a"))
    await stores.jobs.claim(now=START, lease_s=60)
    assert not await stores.jobs.enqueue(job("a", at=5))
    await stores.jobs.finish("a")
    assert await stores.jobs.claim(now=START + later(4), lease_s=60) is None
    again = await stores.jobs.claim(now=START + later(5), lease_s=60)
    assert again is not None
    assert (again.tries, again.created_at) == (1, START + later(5))
    await stores.jobs.finish("a")
    assert await stores.jobs.find("a") is None


async def test_work_asked_for_before_it_is_begun_is_done_once(stores: Container) -> None:
    for at in (0, 1, 2):
        await stores.jobs.enqueue(job("a", at=at))
    await stores.jobs.claim(now=START + later(3), lease_s=60)
    await stores.jobs.enqueue(job("a", at=4))
    # The next try sees to what was asked for during the last one.
    await stores.jobs.fail("a", error="model down", due_at=START + later(5))
    await stores.jobs.claim(now=START + later(5), lease_s=60)
    await stores.jobs.finish("a")
    assert await stores.jobs.find("a") is None


async def test_work_given_up_that_was_asked_for_meanwhile_begins_anew(stores: Container) -> None:
    await stores.jobs.enqueue(job("a"))
    await stores.jobs.claim(now=START, lease_s=60)
    await stores.jobs.enqueue(job("a", at=5))
    await stores.jobs.fail("a", error="no use", due_at=None)
    anew = await stores.jobs.find("a")
    assert anew == job("a", at=5)


@pytest.mark.parametrize("kind", [JobKind.DELETE, JobKind.ERASE])
async def test_what_ends_something_is_never_done_once_more(
    stores: Container, kind: JobKind
) -> None:
    ends = job("a").model_copy(update={"kind": kind})
    await stores.jobs.enqueue(ends)
    await stores.jobs.claim(now=START, lease_s=60)
    await stores.jobs.enqueue(ends)
    await stores.jobs.finish("a")
    assert await stores.jobs.find("a") is None


def test_no_two_pieces_of_work_have_one_id() -> None:
    names = ("corp", "corp:aiko", "aiko:s1", "s1", "corp%3Aaiko", "a:", ":a", "%")
    keys = {SessionKey("shop", user, session) for user in names for session in names}
    ids = {job_id(JobKind.OFFLOAD, key, "reset") for key in keys}
    assert len(ids) == len(keys)
    assert job_id(JobKind.OFFLOAD, KEY, "idle") == "offload:shop:aiko:s-1:idle"
