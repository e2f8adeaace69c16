"""Erasing a user: all or nothing where the stores share a database, and a scan that proves it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from acc_ace.conversation import Conversation
from acc_ace.sessions import open_session_service
from config import ROLES
from core.adapters.bounded_sessions import BoundedSessions
from core.adapters.sqlite_residue import scan_residue
from core.container import Container
from core.errors import StoreError
from schemas.job import Job, JobKind
from schemas.tenancy import SessionKey, Tenant
from tests.contract.values import KEY, OTHER_USER, artifact, entry, interaction
from tests.fakes.clock import START
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm

WHOLE = SessionKey(KEY.app, KEY.user, "")
ERASURE = Job.of(JobKind.ERASE, WHOLE, at=START)


@pytest.fixture
async def stores(place: Place) -> AsyncIterator[Container]:
    container = place.open()
    yield container
    await container.close()


async def fill(stores: Container, key: SessionKey) -> None:
    await stores.journal.append(key, entry(1), expected_version=0)
    await stores.evidence.record(key, interaction(1))
    await stores.artifacts.add([artifact("a1", "hello", tenant=key.tenant)])
    await stores.directory.open(key, at=START, memory="acc")
    await stores.jobs.enqueue(Job.of(JobKind.OFFLOAD, key, at=START))


async def erase(stores: Container, tenant: Tenant) -> dict[str, int]:
    erased = await stores.erasure.erase(tenant, job=ERASURE)
    await stores.directory.erase(tenant)
    await stores.jobs.finish(ERASURE.id)
    return erased


async def test_an_erased_user_leaves_nothing_and_others_keep_all(stores: Container) -> None:
    await fill(stores, KEY)
    await fill(stores, OTHER_USER)
    held = await stores.erasure.residue(KEY.tenant)
    assert len(held) >= 5
    erased = await erase(stores, KEY.tenant)
    assert {name: erased[name] for name in ("journal", "evidence", "artifacts", "jobs")} == {
        "journal": 1,
        "evidence": 1,
        "artifacts": 1,
        "jobs": 1,
    }
    assert await stores.erasure.residue(KEY.tenant) == {}
    assert await stores.erasure.residue(OTHER_USER.tenant) == held


async def test_the_erasure_stays_a_job_until_somebody_finishes_it(stores: Container) -> None:
    await fill(stores, KEY)
    await stores.erasure.erase(KEY.tenant, job=ERASURE)
    assert [job.kind for job in await stores.jobs.list(KEY.tenant)] == [JobKind.ERASE]
    assert await stores.directory.names(KEY.tenant) == [KEY.session]
    assert sum((await stores.erasure.residue(KEY.tenant)).values()) == 2


async def test_an_erasure_that_fails_in_the_middle_has_erased_nothing(
    place: Place, stores: Container
) -> None:
    await fill(stores, KEY)
    before = await stores.erasure.residue(KEY.tenant)
    place.refuse_deletes("jobs")
    with pytest.raises(StoreError):
        await stores.erasure.erase(KEY.tenant, job=ERASURE)
    assert await stores.erasure.residue(KEY.tenant) == before
    place.allow_deletes("jobs")
    await erase(stores, KEY.tenant)
    assert await stores.erasure.residue(KEY.tenant) == {}


async def test_a_table_added_later_is_looked_into(place: Place, stores: Container) -> None:
    await fill(stores, OTHER_USER)
    place.execute("CREATE TABLE thumbs (user_id text, up integer)")
    place.execute("CREATE TABLE letters (number integer, words text)")
    place.execute("INSERT INTO thumbs VALUES (?, 1)", KEY.user)
    place.execute("INSERT INTO letters VALUES (1, ?)", json.dumps({"to": {"user": KEY.user}}))
    found = await stores.erasure.residue(KEY.tenant)
    assert {name.partition(".")[2]: count for name, count in found.items()} == {
        "thumbs": 1,
        "letters": 1,
    }


async def test_rows_that_know_the_user_by_number_are_found(place: Place, stores: Container) -> None:
    await fill(stores, KEY)
    await fill(stores, OTHER_USER)
    place.execute("CREATE TABLE pictures (tenant bigint, picture bigint)")
    place.execute("INSERT INTO pictures SELECT id, 1 FROM tenants")
    pictures = [
        n for name, n in (await stores.erasure.residue(KEY.tenant)).items() if "pict" in name
    ]
    assert pictures == [1]
    await erase(stores, KEY.tenant)
    left = await stores.erasure.residue(KEY.tenant)
    assert {name.partition(".")[2]: count for name, count in left.items()} == {"pictures": 1}


async def test_a_user_of_the_same_name_in_another_app_is_somebody_else(stores: Container) -> None:
    await fill(stores, KEY._replace(app="elsewhere"))
    assert await stores.erasure.residue(KEY.tenant) == {}


async def test_a_file_beside_the_databases_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "playbook").mkdir()
    file = tmp_path / "playbook" / "deltas.jsonl"
    file.write_text('{"op": 1}\n{"user":"aiko"}\n{"user": "aiko"}\n{"user": "aikon"}\n')
    assert await scan_residue(tmp_path, Tenant("shop", "aiko")) == {"playbook/deltas.jsonl": 2}


@pytest.mark.parametrize("user", ["アイコ", 'quo"te', "a\\b"])
async def test_any_name_is_found_however_json_wrote_it(tmp_path: Path, user: str) -> None:
    lines = [json.dumps({"user": user}), json.dumps({"user": user}, ensure_ascii=False)]
    (tmp_path / "export.jsonl").write_text("\n".join(lines))
    assert await scan_residue(tmp_path, Tenant("shop", user)) == {"export.jsonl": 2}


@pytest.mark.parametrize("after", ["intent", "sessions"])
async def test_an_erasure_cut_short_is_finished_by_another_process(
    place: Place, after: str
) -> None:
    models = dict.fromkeys(ROLES, ScriptedLlm())
    first = Conversation(place.open(), models=models)
    key = SessionKey("acc_ace", "aiko", "s1")
    await first.turn(key, "I prefer short answers.")
    await first.close()
    second = Conversation(place.open(), models=models)
    # As a process leaves it that dies after its intent was kept.
    job = Job.of(JobKind.ERASE, key._replace(session=""), at=START)
    await second.container.jobs.enqueue(job)
    if after == "sessions":
        sessions = open_session_service(second.container)
        assert isinstance(sessions, BoundedSessions)
        await sessions.drop(key)
        await sessions.erase_shared(key.app, key.user)
        await sessions.close()
    assert await second.residue(key.tenant)
    await second.housekeep()
    assert await second.residue(key.tenant) == {}
    await second.close()


async def test_a_whole_erasure_reports_what_it_erased(place: Place) -> None:
    conversation = Conversation(place.open(), models=dict.fromkeys(ROLES, ScriptedLlm()))
    key = SessionKey("acc_ace", "aiko", "s1")
    await conversation.turn(key, "I prefer short answers.")
    erased = await conversation.erase(key.tenant)
    assert (erased["sessions"], erased["journal"], erased["jobs"]) == (1, 1, 0)
    assert await conversation.residue(key.tenant) == {}
    assert [item["kind"] async for item in conversation.export(key.tenant)] == ["user", "end"]
    await conversation.close()
