"""Documents in memory, in every store: parts with provenance, never doubled, never half."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from acc_ace import Container, build_container
from acc_ace.errors import (
    ConflictError,
    InputError,
    InputTooLargeError,
    NotFoundError,
    SessionBusyError,
)
from acc_ace.ext.documents.document_catalog import (
    document_lock,
    list_documents,
    read_document,
    remove_document,
)
from acc_ace.ext.documents.document_import import BATCH, import_document
from config import Settings
from schemas.artifact import Artifact, DocumentForm, StoredDocument
from schemas.base import Authority
from schemas.limits import Limits
from tests.contract.values import KEY, OTHER_USER, asking
from tests.fakes.clock import START, FixedClock
from tests.fakes.documents import BytesSource

TENANT = KEY.tenant
LIMITS = Limits(part_tokens=32, turn_wait_s=0)
RUNBOOK = "\n\n".join(
    [
        "# Fail over\nPromote the replica with pg_ctl promote, then repoint the checkout service.",
        "# 夜間の作業\n営業時間内は本番サーバーの再起動を禁止する。夜間は当番が判断する。",
        "# Backups\nThe nightly backup of zanzibar takes forty minutes. It is kept for seven days.",
    ]
)


@pytest.fixture(params=["sqlite", "postgres"])
async def container(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Container]:
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    opened = build_container(Settings(store=request.param, limits=LIMITS, **where), FixedClock())
    yield opened
    await opened.close()


def long_text(parts: int, word: str = "fact") -> bytes:
    return "\n\n".join(f"{word} number {n} stands here alone. " * 3 for n in range(parts)).encode()


async def stored(container: Container) -> list[StoredDocument]:
    page, after = await list_documents(container, TENANT)
    assert after is None
    return list(page)


async def recalled(container: Container, text: str) -> list[Artifact]:
    recall = await container.artifacts.recall(asking(text))
    return [candidate.artifact for candidate in recall.candidates]


async def test_a_document_is_kept_in_parts_that_say_where_they_come_from(
    container: Container,
) -> None:
    source = BytesSource("ops/runbook.md", RUNBOOK.encode())
    done = await import_document(container, TENANT, source)
    parts = await read_document(container, TENANT, "ops/runbook.md")
    assert done.stored == done.parts == len(parts) > 2
    assert [part.document.part for part in parts if part.document] == list(range(1, len(parts) + 1))
    best = (await recalled(container, "how long does the zanzibar backup take"))[0]
    assert best.document is not None
    assert best.document.name == "ops/runbook.md"
    assert best.document.parts == done.parts
    assert best.document.digest == hashlib.sha256(RUNBOOK.encode()).hexdigest()
    assert best.source == f"ops/runbook.md, part {best.document.part} of {done.parts}"
    assert best.authority is Authority.RETRIEVED
    assert "再起動を禁止" in (await recalled(container, "再起動してもいい？"))[0].content


async def test_the_same_document_again_changes_nothing(container: Container) -> None:
    source = BytesSource("a.md", RUNBOOK.encode())
    first = await import_document(container, TENANT, source)
    count = await container.artifacts.count(TENANT)
    again = await import_document(container, TENANT, source)
    assert (again.parts, again.stored, again.removed) == (first.parts, 0, 0)
    assert again.unchanged
    assert await container.artifacts.count(TENANT) == count


async def test_a_changed_document_replaces_its_parts_and_no_others(container: Container) -> None:
    await import_document(container, TENANT, BytesSource("b.md", b"Another zanzibar."))
    await import_document(container, TENANT, BytesSource("a.md", RUNBOOK.encode()))
    done = await import_document(container, TENANT, BytesSource("a.md", b"All is new."))
    assert (done.parts, done.stored) == (1, 1)
    assert done.removed > 2
    assert await container.artifacts.count(TENANT) == 2
    assert [item.source for item in await recalled(container, "zanzibar")] == ["b.md, part 1 of 1"]
    assert [(item.name, item.complete) for item in await stored(container)] == sorted(
        [("a.md", True), ("b.md", True)], key=lambda item: hashlib.sha256(item[0].encode()).digest()
    )


async def test_documents_of_users_are_apart(container: Container) -> None:
    source = BytesSource("a.md", RUNBOOK.encode())
    await import_document(container, TENANT, source)
    done = await import_document(container, OTHER_USER.tenant, source)
    assert done.stored == done.parts
    await remove_document(container, TENANT, "a.md")
    assert await container.artifacts.count(OTHER_USER.tenant) == done.parts
    with pytest.raises(NotFoundError, match=r"a\.md"):
        await read_document(container, TENANT, "a.md")
    with pytest.raises(NotFoundError, match=r"a\.md"):
        await remove_document(container, TENANT, "a.md")


async def test_an_import_that_was_cut_short_keeps_the_old_and_goes_on_where_it_ended(
    container: Container,
) -> None:
    await import_document(container, TENANT, BytesSource("a.md", b"The old zanzibar."))
    new = BytesSource("a.md", long_text(3 * BATCH))

    def stop(stored: int, _parts: int) -> None:
        if stored > BATCH:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await import_document(container, TENANT, new, reported=stop)
    assert await recalled(container, "zanzibar")
    assert sorted((item.parts, item.complete) for item in await stored(container))[0] == (1, True)
    assert {item.complete for item in await stored(container)} == {True, False}
    done = await import_document(container, TENANT, new)
    assert done.stored == done.parts - 2 * BATCH
    assert done.removed == 1
    assert [item.complete for item in await stored(container)] == [True]
    assert await container.artifacts.count(TENANT) == done.parts
    assert await recalled(container, "zanzibar") == []


async def test_a_fault_anywhere_in_a_document_stores_nothing_of_it(container: Container) -> None:
    await import_document(container, TENANT, BytesSource("a.md", b"The old zanzibar."))
    broken = long_text(3 * BATCH) + b"\xff"
    with pytest.raises(InputError, match=rf"a\.md is not UTF-8: byte {len(broken) - 1}"):
        await import_document(container, TENANT, BytesSource("a.md", broken))
    for empty in (b"", b" \n\n", b"\xef\xbb\xbf"):
        with pytest.raises(InputError, match="empty"):
            await import_document(container, TENANT, BytesSource("a.md", empty))
    assert await container.artifacts.count(TENANT) == 1


async def test_a_document_that_changes_while_it_is_read_never_replaces_the_old(
    container: Container,
) -> None:
    await import_document(container, TENANT, BytesSource("a.md", b"The old zanzibar."))
    growing = [b"One. "]

    def blocks() -> Iterable[bytes]:
        growing.append(b"More. ")
        return list(growing)

    with pytest.raises(ConflictError, match="changed while it was being read"):
        await import_document(container, TENANT, BytesSource("a.md", blocks))
    assert await recalled(container, "zanzibar")


async def test_records_of_jsonl_are_parts_with_their_own_source_and_end(
    container: Container,
) -> None:
    lines = (
        b'{"content": "The vault opens at nine.", "id": "v", "source": "wiki/vault"}\n'
        b'{"content": "Tickets are closed in June.", "expires_at": "2026-06-01T00:00:00Z"}\n'
    )
    done = await import_document(
        container, TENANT, BytesSource("facts.jsonl", lines, form=DocumentForm.JSONL)
    )
    assert done.parts == 2
    vault = (await recalled(container, "vault"))[0]
    assert vault.source == "wiki/vault"
    assert vault.document is not None
    assert (vault.document.name, vault.document.record) == ("facts.jsonl", "v")
    assert (await recalled(container, "tickets June"))[0].expires_at is not None


TALK = b"""
{"content": "Where is the spare key?", "speaker": "Ann", "session": "s3", "turn": 11, "at": "2025-05-03T10:00:00Z"}
{"content": "Behind the boiler.", "speaker": "Ben", "session": "s3", "turn": 12, "at": "2025-05-03T10:00:00Z"}
{"content": "The boiler was serviced.", "speaker": "user", "session": "s4", "turn": 12, "at": "2025-06-03T10:00:00Z"}
"""  # noqa: E501 - a record is a line


async def test_records_of_a_conversation_say_who_spoke_when_in_which_session_and_turn(
    container: Container,
) -> None:
    await import_document(container, TENANT, BytesSource("t.jsonl", TALK, form=DocumentForm.JSONL))
    found = await recalled(container, "spare key")
    # What follows a question is found beside it, and what is of another session is not.
    assert [(item.source, item.content) for item in found] == [
        ("Ann, session s3, turn 11", "Ann: Where is the spare key?"),
        ("Ben, session s3, turn 12", "Ben: Behind the boiler."),
    ]
    assert {item.created_at.date().isoformat() for item in found} == {"2025-05-03"}


async def test_a_record_that_names_a_role_of_ours_is_nobody_who_speaks_here(
    container: Container,
) -> None:
    await import_document(container, TENANT, BytesSource("t.jsonl", TALK, form=DocumentForm.JSONL))
    found = next(
        item for item in await recalled(container, "serviced") if "serviced" in item.content
    )
    assert found.source == "user (imported), session s4, turn 12"
    assert found.content == "user (imported): The boiler was serviced."


async def test_a_conversation_goes_as_a_whole_when_its_document_does(container: Container) -> None:
    await import_document(container, TENANT, BytesSource("t.jsonl", TALK, form=DocumentForm.JSONL))
    [listed] = await stored(container)
    assert (listed.parts, listed.imported_at) == (3, container.clock.now())
    assert await remove_document(container, TENANT, "t.jsonl") == 3
    assert await recalled(container, "spare key boiler") == []


async def test_thousands_of_records_in_one_import_are_all_kept_and_found(
    container: Container,
) -> None:
    lines = (
        f'{{"id": "r{n}", "content": "Sensor {n} reads {n * 7} bar."}}\n'.encode()
        for n in range(3_000)
    )
    source = BytesSource("log.jsonl", b"".join(lines), form=DocumentForm.JSONL)
    reported: list[tuple[int, int]] = []
    done = await import_document(
        container, TENANT, source, reported=lambda stored, parts: reported.append((stored, parts))
    )
    assert (done.parts, done.stored) == (3_000, 3_000)
    assert await container.artifacts.count(TENANT) == 3_000
    assert reported[0] == (BATCH, 3_000)
    assert reported[-1] == (3_000, 3_000)
    best = (await recalled(container, "sensor 2024"))[0]
    assert best.content == "Sensor 2024 reads 14168 bar."


async def test_documents_are_listed_by_the_page_each_once(container: Container) -> None:
    for number in range(7):
        source = BytesSource(f"{number}.md", f"text {number}".encode())
        await import_document(container, TENANT, source)
    seen: list[str] = []
    after: str | None = None
    while True:
        page, after = await list_documents(container, TENANT, limit=3, after=after)
        seen += [item.name for item in page]
        assert len(page) <= 3
        if after is None:
            break
    assert sorted(seen) == [f"{number}.md" for number in range(7)]
    assert (await stored(container))[0].imported_at == START


async def test_one_import_of_a_document_runs_at_a_time(container: Container) -> None:
    async with document_lock(container, TENANT, "a.md"):
        with pytest.raises(SessionBusyError):
            await import_document(container, TENANT, BytesSource("a.md", b"text"))
        await import_document(container, TENANT, BytesSource("b.md", b"text"))
    await import_document(container, TENANT, BytesSource("a.md", b"text"))


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        ({"document_bytes": 1_024}, "ACC_ACE_LIMITS__DOCUMENT_BYTES"),
        ({"document_parts": 5}, "ACC_ACE_LIMITS__DOCUMENT_PARTS"),
    ],
)
async def test_a_document_over_a_limit_names_the_setting(
    limits: dict[str, int], setting: str
) -> None:
    container = build_container(Settings(store="memory", limits=Limits(part_tokens=32, **limits)))
    with pytest.raises(InputTooLargeError, match=setting):
        await import_document(container, TENANT, BytesSource("a.md", long_text(40)))
    assert await container.artifacts.count(TENANT) == 0


@pytest.mark.parametrize("name", ["", "a\nb", "a\x00b", "\u202egpj.exe", "n" * 1_025])
async def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    container = build_container(Settings(store="memory"))
    with pytest.raises(InputError, match="printable"):
        await import_document(container, TENANT, BytesSource(name, b"text"))


async def test_a_name_may_hold_the_spaces_of_any_script() -> None:
    container = build_container(Settings(store="memory"))
    name = "議事録\u3000２０２６.txt"
    stored = await import_document(container, TENANT, BytesSource(name, b"text"))
    assert stored.name == name
