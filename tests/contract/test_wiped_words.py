"""What is deleted from SQLite's files is wiped from them, also when another program reads them."""

import sqlite3
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import StoreError
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.clock import FixedClock
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey(APP_NAME, "aiko", "s1")
WORD = "xylomarimba"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def talking(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Conversation]:
    settings = Settings(store="sqlite", data_dir=tmp_path, learning="off", offload=False)
    models = dict.fromkeys(ROLES, ScriptedLlm())
    conversation = Conversation(build_container(settings, clock), models=models)
    await conversation.turn(KEY, f"The code word is {WORD}.")
    yield conversation
    await conversation.close()


@contextmanager
def read_by_another(database: Path) -> Iterator[None]:
    """A program that reads a file all the while, as a backup does."""
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        yield


def files_with_the_word(directory: Path) -> list[str]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if WORD.encode() in path.read_bytes())


async def test_a_deleted_session_leaves_no_bytes(tmp_path: Path, talking: Conversation) -> None:
    assert "memory.db-wal" in files_with_the_word(tmp_path)
    await talking.forget_session(KEY)
    assert files_with_the_word(tmp_path) == []


def pieces_of_requests(database: Path) -> set[bytes]:
    """The compressed requests that a database holds, in pieces that no page divides twice."""
    with closing(sqlite3.connect(database)) as reader:
        bodies = [body for (body,) in reader.execute("SELECT body FROM turn_traces")]
    assert any(WORD.encode() in zlib.decompress(body) for body in bodies)
    return {body[at : at + 24] for body in bodies for at in range(0, len(body) - 24, 24)}


async def test_what_models_saw_leaves_no_bytes_compressed_as_it_is(
    tmp_path: Path, talking: Conversation
) -> None:
    pieces = pieces_of_requests(tmp_path / "memory.db")

    def left() -> int:
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        return sum(any(piece in file for file in files) for piece in pieces)

    assert left() > len(pieces) / 2
    await talking.erase(KEY.tenant)
    assert left() == 0


async def test_a_session_is_deleted_while_another_program_reads_and_wiped_with_the_next(
    tmp_path: Path, talking: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    await talking.turn(KEY._replace(session="s2"), "Hello.")
    with read_by_another(tmp_path / "memory.db"):
        assert await talking.forget_session(KEY)
    assert "deleted_words_left file=memory.db-wal" in caplog.text
    assert await talking.state(KEY) is None
    await talking.forget_session(KEY._replace(session="s2"))
    assert files_with_the_word(tmp_path) == []


async def test_an_erasure_that_cannot_wipe_the_words_says_so_and_may_be_repeated(
    tmp_path: Path, talking: Conversation
) -> None:
    with (
        read_by_another(tmp_path / "memory.db"),
        pytest.raises(StoreError, match=r"erased data is still in memory\.db-wal"),
    ):
        await talking.erase(KEY.tenant)
    await talking.erase(KEY.tenant)
    assert await residue(talking.container, KEY.tenant) == {}
    assert files_with_the_word(tmp_path) == []
