"""The files of a playbook follow the store, whoever changed it, and never lead it."""

import asyncio
import json
import logging
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from acc_ace.errors import StoreError
from acc_ace.ext.playbook_files.export_files import KEPT_VERSIONS, PlaybookFiles
from acc_ace.ext.playbook_files.forms import read
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.storage.playbooks.export_folders import count_files, directories_of, name_of
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase
from config import Settings
from schemas.base import PlaybookScope, Tenant
from schemas.bullet import Bullet
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract import playbooks
from tests.contract.playbooks import SHARED
from tests.contract.values import record
from tests.fakes.clock import START, FixedClock


@pytest.fixture
def store_settings(tmp_path: Path) -> Settings:
    return Settings(store="sqlite", data_dir=tmp_path / "data", playbook_files=True)


@pytest.fixture
def files(store_settings: Settings) -> Path:
    return store_settings.data_dir / "playbook"


async def settled(stores: Stores) -> None:
    """Wait until the files have caught up."""
    assert isinstance(stores.playbooks, SqlPlaybookStore)
    await stores.playbooks.settle()


async def add(stores: Stores, *contents: str, **more: Any) -> StoredPlaybook:
    stored = await playbooks.add(stores, *contents, **more)
    await settled(stores)
    return stored


async def archive(stores: Stores, bullet_id: str) -> None:
    await playbooks.archive(stores, bullet_id)
    await settled(stores)


async def commit(stores: Stores, playbook: Playbook, *entries: DeltaRecord) -> None:
    await playbooks.commit(stores, playbook, *entries)
    await settled(stores)


async def restore(stores: Stores, bullet: Bullet) -> None:
    await playbooks.restore(stores, bullet)
    await settled(stores)


async def hold(stores: Stores) -> None:
    await playbooks.hold(stores)
    await settled(stores)


def current(files: Path, name: str = "shop") -> Playbook:
    """The playbook that the files hold."""
    return Playbook.loads((files / "current" / name / "playbook.json").read_text())


def records(path: Path) -> list[DeltaRecord]:
    return [DeltaRecord.model_validate_json(line) for line in path.read_text().splitlines()]


def contents(files: Path) -> dict[str, bytes]:
    """Every file, by its path."""
    return {str(path): path.read_bytes() for path in sorted(files.rglob("*")) if path.is_file()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put_in_the_way(files: Path) -> None:
    files.parent.mkdir()
    files.write_text("not a directory")


def take_out_of_the_way(files: Path) -> None:
    files.unlink()


async def test_every_commit_is_in_the_files_once_they_have_caught_up(
    stores: Stores, files: Path
) -> None:
    for content in ("one", "二"):
        stored = await add(stores, content)
        assert current(files) == stored.playbook
        whole = json.loads((files / "current/shop/playbook.json").read_text())
        assert (whole["version"], whole["digest"]) == (stored.version, stored.digest)
        for name in ("playbook.md", "playbook.json"):
            text = (files / "current/shop" / name).read_text()
            assert read(text).playbook == stored.playbook
    text = (files / "current/shop/playbook.md").read_text()
    assert "- [b-00002] helpful=0 harmful=0 neutral=0 :: 二" in text.splitlines()
    assert [path.name for path in sorted((files / "deltas/shop").iterdir())] == [
        "00000001.jsonl",
        "00000002.jsonl",
    ]


async def test_the_files_of_the_deltas_hold_the_log_record_by_record(
    stores: Stores, files: Path
) -> None:
    await add(stores, "one")
    await hold(stores)
    await hold(stores)
    await add(stores, "two", "three")
    log = list(reversed(await stores.playbooks.deltas(SHARED)))
    assert records(files / "deltas/shop/00000001.jsonl") == log[:3]
    assert records(files / "deltas/shop/00000002.jsonl") == log[3:]


async def test_archived_bullets_have_a_file_until_they_come_back(
    stores: Stores, files: Path
) -> None:
    one = (await add(stores, "one", "two")).playbook.bullets[0]
    await archive(stores, "b-00001")
    await archive(stores, "b-00002")
    path = files / "archive/shop/bullets.jsonl"
    assert [item.bullet_id for item in records(path)] == ["b-00002", "b-00001"]
    await restore(stores, one)
    assert [item.bullet_id for item in records(path)] == ["b-00002"]


async def test_each_playbook_has_files_of_its_own(stores: Stores, files: Path) -> None:
    own = PlaybookScope("shop", "aiko@x")
    await add(stores, "shared")
    await add(stores, "own", scope=own)
    names = {path.name for path in (files / "current").iterdir()}
    assert names == {"shop", "shop+aiko%40x"}
    assert current(files, "shop+aiko%40x").bullets[0].content == "own"


async def test_a_process_that_died_before_it_wrote_is_caught_up_with(
    stores: Stores, files: Path, store_settings: Settings, clock: FixedClock
) -> None:
    await add(stores, "one")
    # A process that follows nothing stands for one that was killed between commit and file.
    database = SqliteDatabase(store_settings.data_dir / DATABASE_FILE)
    quiet = SqlPlaybookStore(database)
    for content in ("two", "three"):
        stored = await quiet.load(SHARED)
        playbook, bullet = stored.playbook.add_bullet("rules", content)
        await quiet.commit(
            SHARED, playbook, [record("ADD", after=bullet)], expected_version=stored.version
        )
    await database.close()
    assert len(current(files).bullets) == 1

    reopened = create_stores(store_settings, clock)
    stored = await reopened.playbooks.load(SHARED)
    await settled(reopened)

    assert current(files) == stored.playbook
    assert sorted(path.name for path in (files / "deltas/shop").iterdir()) == [
        "00000001.jsonl",
        "00000002.jsonl",
        "00000003.jsonl",
    ]
    await reopened.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "x"}'])
async def test_a_file_that_was_altered_is_written_anew_and_changes_no_playbook(
    stores: Stores, other: Stores, files: Path, text: str
) -> None:
    stored = await add(stores, "one")
    (files / "current/shop/playbook.json").write_text(text)
    assert await other.playbooks.load(SHARED) == stored
    await settled(other)
    assert current(files) == stored.playbook


async def test_files_of_a_history_that_is_gone_are_removed(
    stores: Stores, files: Path, store_settings: Settings, clock: FixedClock
) -> None:
    for number in range(3):
        await add(stores, f"lesson {number}")
    await stores.close()
    for path in store_settings.data_dir.glob("memory.*"):
        path.unlink()
    reopened = create_stores(store_settings, clock)
    await add(reopened, "of another history")
    assert [bullet.content for bullet in current(files).bullets] == ["of another history"]
    assert [path.name for path in (files / "deltas/shop").iterdir()] == ["00000001.jsonl"]
    await reopened.close()


async def test_the_number_of_files_is_bounded(stores: Stores, files: Path) -> None:
    await add(stores, "one")
    folder = files / "deltas/shop"
    for version in range(2, KEPT_VERSIONS + 40):
        (folder / f"{version:08d}.jsonl").write_text("")
    (files / "current/shop/playbook.json").unlink()
    await add(stores, "two")
    assert len(list(folder.iterdir())) == KEPT_VERSIONS


async def test_only_the_owner_may_read_them(stores: Stores, files: Path) -> None:
    await add(stores, "one")
    assert mode(files) == 0o700
    assert {mode(Path(path)) for path in contents(files) if ".lock" not in path} == {0o600}
    assert not any(path.endswith(".tmp") for path in contents(files))


async def test_files_that_cannot_be_written_are_a_warning_and_the_commit_stands(
    stores: Stores, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put_in_the_way(files)
    with caplog.at_level(logging.WARNING):
        stored = await add(stores, "one")
    assert await stores.playbooks.load(SHARED) == stored
    assert f"playbook_files_behind directory={files} playbook=shop: " in caplog.text
    take_out_of_the_way(files)
    await add(stores, "two")
    assert len(current(files).bullets) == 2


async def test_an_erased_user_is_in_no_file(stores: Stores, files: Path) -> None:
    await add(stores, "private", scope=PlaybookScope("shop", "aiko"))
    await add(stores, "kept", user="aiko")
    await archive(stores, "b-00001")
    await add(stores, "kept as well", user="aiko")
    empty = (await stores.playbooks.load(SHARED)).playbook
    await commit(stores, empty, record("ADD", status=DeltaStatus.REJECTED, user="aiko"))
    assert any(b"aiko" in data or "aiko" in path for path, data in contents(files).items())
    assert stores.erasure
    tenant = Tenant("shop", "aiko")

    await stores.erasure.erase(tenant, locked=[])
    await settled(stores)

    assert not any(b"aiko" in data or "aiko" in path for path, data in contents(files).items())
    assert [bullet.content for bullet in current(files).bullets] == ["kept as well"]
    assert directories_of(files, tenant) == []


async def test_a_process_that_has_seen_no_playbook_erases_without_waiting_for_itself(
    stores: Stores, store_settings: Settings, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await add(stores, "kept", user="aiko")
    fresh = create_stores(store_settings, FixedClock())
    assert fresh.erasure
    tenant = Tenant("shop", "aiko")
    await fresh.erasure.erase(tenant, locked=[])
    await fresh.close()
    assert caplog.messages == []
    assert [bullet.content for bullet in current(files).bullets] == ["kept"]


async def test_files_that_cannot_be_erased_are_an_error(
    stores: Stores, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(stores, "private", scope=PlaybookScope("shop", "aiko"))

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(StoreError, match=r"cannot be erased \(Permission denied\); remove that"):
        await stores.erasure.erase(Tenant("shop", "aiko"), locked=[])
    assert len(directories_of(files, Tenant("shop", "aiko"))) == 1


async def test_two_processes_that_write_at_once_leave_the_newest(
    stores: Stores, other: Stores, files: Path
) -> None:
    for number in range(10):
        await add(stores if number % 2 else other, f"lesson {number}")
    follower = PlaybookFiles(files)
    before = contents(files)
    follower.changed(stores.playbooks, SHARED)
    await follower.settle()
    assert contents(files) == before
    assert len(current(files).bullets) == 10


async def test_users_that_learn_at_once_are_all_in_the_files(
    stores: Stores, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # As many threads as a machine of few processors has for all that blocks.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    scopes = [PlaybookScope("shop", f"u{number}") for number in range(12)]
    await asyncio.gather(*(add(stores, "one", scope=scope) for scope in scopes))
    assert [len(current(files, name_of(scope)).bullets) for scope in scopes] == [1] * 12
    assert "playbook_files_behind" not in caplog.text


def test_names_of_playbooks_are_apart_and_are_no_paths(store_settings: Settings) -> None:
    scopes = [
        PlaybookScope(app, user)
        for app in ("a", "..", "a/b", "a+b", "a@b", "x" * 300, "x" * 301, "\ud83d", "アプリ" * 30)
        for user in (None, "", "b", "../b", "b@c")
    ]
    names = [name_of(scope) for scope in scopes]
    assert len(set(names)) == len(scopes)
    assert all("/" not in name and not name.startswith(".") for name in names)
    assert max(len(name.encode()) for name in names) <= 230


async def test_a_commit_does_not_wait_for_the_files(stores: Stores, files: Path) -> None:
    for content in ("one", "two"):
        await playbooks.add(stores, content)
    assert contents(files) == {}
    await stores.close()
    assert [bullet.content for bullet in current(files).bullets] == ["one", "two"]


async def test_files_of_an_earlier_setting_go_with_their_user(
    stores: Stores, store_settings: Settings, clock: FixedClock, files: Path
) -> None:
    await add(stores, "private", scope=PlaybookScope("shop", "aiko"))
    quiet = create_stores(store_settings.model_copy(update={"playbook_files": False}), clock)
    assert await quiet.erasure.apps("aiko") == {"shop"}
    erased = await quiet.erasure.erase(Tenant("shop", "aiko"), locked=[])
    await quiet.close()
    assert erased is not None
    assert erased["playbook_files"] == 1
    assert directories_of(files, Tenant("shop", "aiko")) == []


async def test_without_the_setting_there_are_no_files(
    store_settings: Settings, clock: FixedClock, files: Path
) -> None:
    quiet = create_stores(store_settings.model_copy(update={"playbook_files": False}), clock)
    await add(quiet, "one")
    assert contents(files) == {}
    await quiet.close()


async def test_only_the_newest_sections_are_current_and_the_older_are_archived(
    stores: Stores, tmp_path: Path
) -> None:
    exported = tmp_path / "export"
    follower = PlaybookFiles(exported, max_sections=2)
    draft = Playbook().draft()
    for at, section in enumerate(("first", "second", "third")):
        draft.add(section, f"Keep {section}.", bullet_id=None, at=START + timedelta(hours=at))
    draft.tag("b-00001", "helpful", increment=1, at=START + timedelta(hours=9))
    records = [record("ADD", after=bullet, job="") for bullet in draft.bullets]
    await playbooks.commit(stores, Playbook().with_draft(draft), *records)
    follower.changed(stores.playbooks, SHARED)
    await follower.settle()
    older = read((exported / "archive/shop/sections.md").read_text()).playbook
    assert [bullet.section for bullet in older.bullets] == ["second"]
    assert [bullet.section for bullet in current(exported).bullets] == ["first", "third"]
    text = (exported / "current/shop/playbook.md").read_text()
    assert read(text).playbook == current(exported)
    assert len((await stores.playbooks.load(SHARED)).playbook.bullets) == 3
    assert count_files(exported, SHARED) == 5
