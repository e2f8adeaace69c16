"""`acc-ace memory export` and `restore`: whole users, from one database into another."""

import asyncio
import json
import re
import sqlite3
import stat
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.storage.transfer_rows import TABLES
from config import Settings
from schemas.base import SessionKey
from tests.contract.user_data import UNTIL_SNAPSHOT, Database, fill, opened
from tests.contract.values import KEY, OTHER_APP, OTHER_USER
from tests.e2e.test_cli import CommandLine, Ended
from tests.fakes.extensions import needs, require
from tests.fakes.old_databases import SCHEMAS, structure, unpack
from tests.fakes.word_embedder import TopicEmbedder

COMPUTED = {
    "tenants": "users, and totals of their artifacts",
    "journal_heads": "the newest entry of each journal",
    "vector_models": "made with vectors",
    "artifact_vectors": "made of artifacts",
    "tenant_vectors": "their number",
    "artifact_terms": "search terms of artifacts",
    "artifact_vocabulary": "of the terms",
}
"""Tables of which a restored database has what it needs without a record."""


class Places:
    """Two databases for the command line, of one kind or of two."""

    def __init__(self, acc_ace: CommandLine, stores: tuple[Any, Any], url: str) -> None:
        self.acc_ace, self._stores, self._url = acc_ace, stores, url

    def settings(self, place: int) -> Settings:
        store = self._stores[place]
        where: dict[str, Any] = {"database_url": self._url} if store == "postgres" else {}
        where["data_dir"] = self.acc_ace.data.with_name(f"data-{place}")
        where["embedder"] = {"model": "test/topics"}
        return Settings(store=store, learning="off", **where)

    def at(self, place: int) -> CommandLine:
        settings = self.settings(place)
        self.acc_ace.set("ACC_ACE_STORE", settings.store)
        self.acc_ace.set("ACC_ACE_DATA_DIR", str(settings.data_dir))
        if settings.database_url is not None:
            self.acc_ace.set("ACC_ACE_DATABASE_URL", settings.database_url.get_secret_value())
        return self.acc_ace


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


@pytest.fixture(
    params=[("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")], ids=" to ".join
)
def places(request: pytest.FixtureRequest, acc_ace: CommandLine) -> Places:
    require("semantic")
    url = ""
    if "postgres" in request.param:
        url = request.getfixturevalue("postgres").clean_database()
    return Places(acc_ace, request.param, url)


@pytest.fixture
def export(tmp_path: Path, acc_ace: CommandLine) -> Path:
    """A file of one user of whom everything was said in an earlier program."""
    acc_ace.set("ACC_ACE_DATA_DIR", str(unpack(SCHEMAS[0], tmp_path / "before").parent))
    assert acc_ace("memory", "export", "--out", str(tmp_path / "all.jsonl")).code == 0
    acc_ace.set("ACC_ACE_DATA_DIR", str(tmp_path / "after"))
    return tmp_path / "all.jsonl"


def filled(settings: Settings, *keys: SessionKey) -> None:
    """Something in every table and file, of two users and of one in another app by default."""

    async def work() -> None:
        container = opened(settings, TopicEmbedder())
        sessions = open_session_service(container)
        for key in keys or (KEY, OTHER_USER, OTHER_APP):
            await fill(container, sessions, key, lessons=UNTIL_SNAPSHOT)
        await container.artifacts.retire(KEY, 0)
        await container.close()

    asyncio.run(work())


def lines_of(ended: Ended) -> list[str]:
    """The lines but the sum of their order, which collations decide for names."""
    return sorted(line for line in ended.out.splitlines() if '"sha256"' not in line)


def numbers(counts: dict[str, int]) -> dict[str, int]:
    return {
        name.rpartition(".")[2]: count
        for name, count in counts.items()
        if "vector" not in name and "embeddings" not in name
    }


def test_what_is_exported_and_restored_is_exported_again(places: Places, tmp_path: Path) -> None:
    filled(places.settings(0))
    out = tmp_path / "all.jsonl"
    exported = lines_of(places.at(0)("memory", "export"))
    assert places.at(0)("memory", "export", "--out", str(out)).code == 0
    restored = places.at(1)("memory", "restore", str(out))
    assert (restored.code, restored.out) == (0, "3 users of 2 apps restored\n")
    assert lines_of(places.at(1)("memory", "export")) == exported
    for key in (KEY, OTHER_USER, OTHER_APP):
        before, after = (numbers(Database(places.settings(at)).counts(key.tenant)) for at in (0, 1))
        assert after == before


def test_one_user_is_restored_beside_others(places: Places, tmp_path: Path) -> None:
    filled(places.settings(0))
    out = tmp_path / "one.jsonl"
    assert places.at(0)("memory", "export", "--user", KEY.user, "--out", str(out)).code == 0
    exported = lines_of(places.at(0)("memory", "export", "--user", KEY.user))
    assert places.at(0)("memory", "erase", "--user", KEY.user, "--yes").code == 0
    assert places.at(0)("memory", "restore", str(out)).code == 0
    again = lines_of(places.at(0)("memory", "export", "--user", KEY.user))
    assert again == [line for line in exported if '"kind": "lesson"' not in line]


def test_each_table_is_exported_or_computed(tmp_path: Path) -> None:
    tables = {
        name
        for name, statement in structure(unpack(SCHEMAS[-1], tmp_path))
        if (statement or "").startswith(("CREATE TABLE", "CREATE VIRTUAL TABLE"))
    }
    assert tables == {table.name for table in TABLES} | set(COMPUTED)


@needs("embedded")
def test_a_restored_conversation_goes_on(acc_ace: CommandLine, export: Path) -> None:
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    assert acc_ace("memory", "restore", str(export)).code == 0
    asked = ("chat", "--session", "monday", "--user", "aiko", "--json")
    [report] = acc_ace(*asked, stdin="What is the host of the staging database?").turns
    assert (report["turn"], "quokka-4711" in report["answer"]) == (4, True)
    rules = {rule["text"] for rule in report["constraints"]}
    assert rules == {"never restart the server during business hours.", "answer in English"}
    assert "Restart the worker" in acc_ace("playbook", "show").out
    hits = acc_ace("memory", "search", "checkout cache", "--user", "aiko", "--json").turns
    assert any("512 MB" in hit["text"] for hit in hits)


def test_a_user_who_has_data_is_refused_and_kept(acc_ace: CommandLine, export: Path) -> None:
    assert acc_ace("memory", "restore", str(export)).code == 0
    before = acc_ace("memory", "export").out
    again = acc_ace("memory", "restore", str(export))
    assert again.code == 2
    assert "user 'aiko' of app 'acc_ace' has data here, and nothing was restored" in again.err
    assert "acc-ace memory erase --user aiko" in again.err
    assert acc_ace("memory", "export").out == before


def cut(lines: list[str]) -> list[str]:
    return lines[:-3]


def cut_in_a_line(lines: list[str]) -> list[str]:
    return [*lines[:9], lines[9][:40]]


def changed(lines: list[str]) -> list[str]:
    return [line.replace("quokka-4711", "quokka-4712") for line in lines]


def of_another_schema(lines: list[str]) -> list[str]:
    return [lines[0].replace(f'"schema": {SCHEMAS[-1]}', '"schema": 999'), *lines[1:]]


def of_another_format(lines: list[str]) -> list[str]:
    return [lines[0].replace('"format": 1', '"format": 2'), *lines[1:]]


def for_reading(lines: list[str]) -> list[str]:
    return lines[1:]


def empty(lines: list[str]) -> list[str]:
    return []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut, "was cut or changed after line"),
        (cut_in_a_line, "is damaged: line 10 cannot be read"),
        (changed, "was cut or changed after line"),
        (of_another_schema, "schema 999; this program restores format 1, schema"),
        (of_another_format, "is of format 2, .* Restore it with acc-ace 0"),
        (for_reading, "is no file of 'acc-ace memory export'"),
        (empty, "is damaged: line 1 cannot be read"),
    ],
)
def test_a_file_that_is_not_whole_or_of_another_program_is_refused(
    acc_ace: CommandLine, export: Path, change: Callable[[list[str]], list[str]], words: str
) -> None:
    lines = export.read_text(encoding="utf-8").splitlines()
    export.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    refused = acc_ace("memory", "restore", str(export))
    assert refused.code == 2
    assert re.search(words, refused.err)
    assert not acc_ace.data.with_name("after").exists()


def test_a_restore_that_fails_leaves_nothing(places: Places, tmp_path: Path) -> None:
    filled(places.settings(0))
    out = tmp_path / "all.jsonl"
    assert places.at(0)("memory", "export", "--out", str(out)).code == 0
    *lines, _, end = out.read_text(encoding="utf-8").splitlines()
    broken = [*lines, json.dumps({"kind": "state", "row": {}})]
    out.write_text("\n".join([*broken, summed(broken), end]) + "\n", encoding="utf-8")
    refused = places.at(1)("memory", "restore", str(out))
    assert refused.code == 2
    assert "has a record of another program: state" in refused.err
    for key in (KEY, OTHER_USER):
        left = places.at(1)("memory", "export", "--user", key.user)
        assert "nothing is stored about user" in left.err


def test_a_restore_beside_others_of_an_app_is_refused_and_takes_nothing_of_theirs(
    places: Places, tmp_path: Path
) -> None:
    filled(places.settings(0))
    out = tmp_path / "all.jsonl"
    assert places.at(0)("memory", "export", "--out", str(out)).code == 0
    filled(places.settings(1), KEY._replace(user="zoe"))
    before = lines_of(places.at(1)("memory", "export"))
    assert any('"kind": "file"' in line for line in before)
    refused = places.at(1)("memory", "restore", str(out))
    assert refused.code == 2
    assert f"app '{KEY.app}' has data here, and nothing was restored" in refused.err
    assert lines_of(places.at(1)("memory", "export")) == before


def summed(lines: list[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    total = sha256(text.encode()).hexdigest()
    return json.dumps({"kind": "sum", "lines": len(lines), "sha256": total})


def test_an_export_that_exists_is_not_overwritten(acc_ace: CommandLine, export: Path) -> None:
    before = export.read_bytes()
    refused = acc_ace("memory", "export", "--out", str(export))
    assert (refused.code, export.read_bytes()) == (2, before)
    assert sorted(path.name for path in export.parent.glob("*.jsonl*")) == [export.name]


@pytest.mark.soak
def test_many_turns_are_exported_and_restored_in_little_memory(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    path = unpack(SCHEMAS[-1], tmp_path / "before")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO interactions (app, user_id, session, invocation_id, turn, outcome, body) "
            "VALUES ('acc_ace', 'aiko', 'long', ?, ?, 'answered', ?)",
            ((f"i-{n}", n, json.dumps({"text": f"{n} " * 1_000})) for n in range(20_000)),
        )
    acc_ace.set("ACC_ACE_DATA_DIR", str(path.parent))
    out = tmp_path / "all.jsonl"
    tracemalloc.start()
    assert acc_ace("memory", "export", "--out", str(out)).code == 0
    acc_ace.set("ACC_ACE_DATA_DIR", str(tmp_path / "after"))
    assert acc_ace("memory", "restore", str(out)).code == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert out.stat().st_size > 100e6
    assert peak < 40e6
