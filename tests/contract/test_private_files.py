"""The owner of a data directory alone may read what it holds, also where it existed before."""

import logging
import os
import stat
from pathlib import Path

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.controller import AccController
from tests.fakes.scripted_llm import ScriptedLlm

FILES = ("memory.db", "memory.db-shm", "memory.db-wal")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def modes_after_a_turn(data: Path) -> dict[str, int]:
    """The modes of the directory and of the database's files while it is open."""
    models = dict.fromkeys(ROLES, ScriptedLlm())
    acc = AccController(build_container(Settings(data_dir=data)), session="s", models=models)
    await acc.update_state("Never restart db-01.", None)
    found = {name: mode(data / name) for name in FILES} | {"": mode(data)}
    await acc.close()
    return found


def open_to_others(folder: Path, bits: int, files: tuple[str, ...] = ()) -> None:
    folder.mkdir(exist_ok=True)
    folder.chmod(bits)
    for name in files:
        (folder / name).touch()
        (folder / name).chmod(0o664)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


PRIVATE = dict.fromkeys(FILES, 0o600) | {"": 0o700}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
async def test_a_new_directory_and_its_database_are_private(data: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        assert await modes_after_a_turn(data) == PRIVATE
    finally:
        os.umask(before)


async def test_a_directory_that_existed_is_closed_with_its_database(data: Path) -> None:
    await modes_after_a_turn(data)
    open_to_others(data, 0o777, FILES)
    assert await modes_after_a_turn(data) == PRIVATE


async def test_a_shared_directory_stays_as_it_is_with_a_warning(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_to_others(data, 0o1777)
    with caplog.at_level(logging.WARNING):
        first = await modes_after_a_turn(data)
        await modes_after_a_turn(data)
    assert first == PRIVATE | {"": 0o1777}
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert str(data) in said
    assert "shared" in said
    assert "ACC_ACE_DATA_DIR" in said


async def test_what_belongs_to_another_user_stays_as_it_is_with_a_warning(
    data: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_others(data, 0o755)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with caplog.at_level(logging.WARNING):
        assert (await modes_after_a_turn(data))[""] == 0o755
    assert "belongs to another user" in caplog.text
