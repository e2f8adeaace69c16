"""A file that is damaged anywhere is read, or said to be damaged; one that is gone is missed."""

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acc_ace import Conversation
from acc_ace.errors import CorruptStoreError, StoreError
from schemas.base import PlaybookScope, SessionKey
from tests.fakes.extensions import needs
from tests.fakes.old_databases import SCHEMAS, content, talk_in, unpack

KEY = SessionKey("acc_ace", "aiko", "monday")
WHOLE = content(SCHEMAS[-1])
SCHEMA_BYTES = 24_576
"""Where the statements of the schema are, about."""


async def read_all(folder: Path) -> None:
    """Open a database, read what is in it, check it; each step is done or raises StoreError."""
    talk = talk_in(folder)
    sessions = talk.container
    steps = (
        sessions.journal.history(KEY),
        sessions.evidence.list(KEY),
        sessions.playbooks.load(PlaybookScope("acc_ace")),
        sessions.directory.list(KEY.tenant),
        exported(talk),
        sessions.database.check(),
    )
    for step in steps:
        with suppress(StoreError):
            await step
    await talk.close()


async def exported(talk: Conversation) -> None:
    async for _ in talk.export_user(KEY.user):
        pass


def place_of(damaged: bytes, folder: Path) -> Path:
    (folder / "memory.db").write_bytes(damaged)
    return folder


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """The database with a byte changed, a piece wiped, or its end missing."""
    at = draw(st.integers(0, SCHEMA_BYTES) | st.integers(0, len(WHOLE) - 1))
    kind = draw(st.sampled_from(["flipped", "wiped", "cut"]))
    if kind == "flipped":
        return WHOLE[:at] + bytes([WHOLE[at] ^ draw(st.integers(1, 255))]) + WHOLE[at + 1 :]
    if kind == "wiped":
        return WHOLE[:at] + bytes(len(WHOLE[at : at + 512])) + WHOLE[at + 512 :]
    return WHOLE[: max(at, 1)]


@needs("embedded")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damaged=damaged_files())
def test_no_damage_is_another_error(damaged: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(read_all(place_of(damaged, Path(folder))))


@needs("embedded")
async def test_a_byte_in_the_text_of_the_schema_is_damage(tmp_path: Path) -> None:
    at = WHOLE.index(b"CREATE TABLE journal ")
    place_of(WHOLE[:at] + b"\xff" + WHOLE[at + 1 :], tmp_path)
    talk = talk_in(tmp_path)
    with pytest.raises(CorruptStoreError, match=r"memory\.db is damaged .* restore a copy"):
        await talk.state(KEY)
    await talk.close()


@needs("embedded")
@pytest.mark.parametrize("left", ["gone", "emptied", "its log alone"])
async def test_a_database_that_was_there_is_missed_and_not_made_anew(
    tmp_path: Path, left: str
) -> None:
    path = unpack(SCHEMAS[-1], tmp_path)
    talk = talk_in(tmp_path)
    await talk.turn(KEY, "Hello.")
    await talk.close()
    kept = path.read_bytes()
    path.unlink()
    if left == "emptied":
        path.touch()
    if left == "its log alone":
        (tmp_path / "memory.made").unlink()
        (tmp_path / "memory.db-wal").write_bytes(b"a log")
    again = talk_in(tmp_path)
    with pytest.raises(StoreError, match=r"memory\.db is (gone|empty), but was in use: .*locks"):
        await again.state(KEY)
    path.write_bytes(kept)
    (tmp_path / "memory.db-wal").unlink(missing_ok=True)
    state = await again.state(KEY)
    assert state is not None
    assert state.turn == 4
    await again.close()


@needs("embedded")
async def test_a_directory_with_other_files_is_a_first_start(tmp_path: Path) -> None:
    for name in ("locks", "adk_artifacts", "history"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("something")
    (tmp_path / "jobs.db").touch()
    talk = talk_in(tmp_path)
    await talk.turn(KEY, "Hello.")
    await talk.close()
