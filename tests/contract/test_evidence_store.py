"""What every EvidenceStore promises."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from acc_ace.storage.create_stores import Stores
from acc_ace.storage.sql_evidence import SqlEvidenceStore
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sqlite.database import SqliteDatabase
from schemas.interaction import Outcome, ToolCall, ToolResult
from tests.contract.values import KEY, OTHER_APP, OTHER_SESSION, OTHER_USER, interaction

T = TypeVar("T")


async def test_an_interaction_comes_back_as_it_was_recorded(stores: Stores) -> None:
    recorded = interaction(
        1,
        "営業時間内は再起動禁止\n",
        tool_calls=[ToolCall(id="c1", name="search", args={"q": "x", "n": [1, None]})],
        tool_results=[ToolResult(tool_call_id="c1", name="search", result="…", is_error=True)],
        models={"generator": "embedded/rules"},
    )
    await stores.evidence.record(KEY, recorded)
    assert await stores.evidence.last(KEY) == recorded


async def test_half_of_a_surrogate_pair_is_kept(stores: Stores) -> None:
    recorded = interaction(1, "broken \ud83d emoji")
    await stores.evidence.record(KEY, recorded)
    assert await stores.evidence.last(KEY) == recorded


async def test_the_same_invocation_is_replaced(stores: Stores) -> None:
    await stores.evidence.record(KEY, interaction(1, "first"))
    await stores.evidence.record(KEY, interaction(1, "second"))
    assert [item.input.text for item in await stores.evidence.list(KEY)] == ["second"]


async def test_last_passes_over_failed_and_undone_turns(stores: Stores) -> None:
    await stores.evidence.record(KEY, interaction(1))
    await stores.evidence.record(KEY, interaction(2))
    await stores.evidence.record(KEY, interaction(3, outcome=Outcome.FAILED, decision=None))
    assert await stores.evidence.mark_undone(KEY, 1) == 1
    last = await stores.evidence.last(KEY)
    assert last is not None
    assert last.turn == 1


async def test_a_turn_taken_again_after_undo_is_the_last(stores: Stores) -> None:
    await stores.evidence.record(KEY, interaction(1))
    await stores.evidence.record(KEY, interaction(2, "wrong"))
    await stores.evidence.mark_undone(KEY, 1)
    await stores.evidence.record(KEY, interaction(2, "right", invocation_id="again"))
    last = await stores.evidence.last(KEY)
    assert last is not None
    assert last.input.text == "right"
    listed = await stores.evidence.list(KEY)
    assert [(item.input.text, item.outcome) for item in listed] == [
        ("right", Outcome.ANSWERED),
        ("wrong", Outcome.UNDONE),
        ("hello", Outcome.ANSWERED),
    ]


async def test_pages_give_every_turn_once_newest_first(stores: Stores) -> None:
    for number in range(1, 8):
        await stores.evidence.record(KEY, interaction(number))
    seen: list[int] = []
    before: int | None = None
    while page := await stores.evidence.list(KEY, limit=3, before_turn=before):
        assert len(page) <= 3
        seen += [item.turn for item in page]
        before = page[-1].turn
    assert seen == [7, 6, 5, 4, 3, 2, 1]


async def test_pages_give_an_undone_turn_and_the_one_taken_again_each_once(
    stores: Stores,
) -> None:
    for number in (1, 2, 3):
        await stores.evidence.record(KEY, interaction(number))
        for again in range(3):
            await stores.evidence.mark_undone(KEY, number - 1)
            name = f"i-{number}-{again}"
            await stores.evidence.record(KEY, interaction(number, invocation_id=name))
    for limit in (1, 2, 3, 5):
        seen: list[str] = []
        before: str | None = None
        while page := await stores.evidence.list(KEY, limit=limit, before=before):
            seen += [item.invocation_id for item in page]
            before = page[-1].invocation_id
        assert seen == [f"i-{n}{a}" for n in (3, 2, 1) for a in ("-2", "-1", "-0", "")]
    earlier = await stores.evidence.list(KEY, limit=9, before_turn=2, before="i-1-1")
    assert [item.invocation_id for item in earlier] == ["i-1-0", "i-1"]
    assert await stores.evidence.list(KEY, before="nobody") == []
    assert await stores.evidence.list(OTHER_SESSION, before="i-1") == []


async def test_sessions_users_and_apps_are_apart(stores: Stores) -> None:
    await stores.evidence.record(KEY, interaction(1))
    for key in (OTHER_SESSION, OTHER_USER, OTHER_APP):
        assert await stores.evidence.last(key) is None
        assert await stores.evidence.mark_undone(key, 0) == 0
        assert await stores.evidence.erase(key.tenant, "s-2") == 0
    assert await stores.evidence.last(KEY) is not None


async def test_erase_takes_one_session_or_the_whole_user(stores: Stores) -> None:
    for key in (KEY, OTHER_SESSION, OTHER_USER):
        await stores.evidence.record(key, interaction(1))
    assert await stores.evidence.erase(KEY.tenant, KEY.session) == 1
    assert await stores.evidence.last(OTHER_SESSION) is not None
    assert await stores.evidence.erase(KEY.tenant) == 1
    assert await stores.evidence.last(OTHER_SESSION) is None
    assert await stores.evidence.last(OTHER_USER) is not None


async def test_an_interaction_is_found_by_its_invocation_as_it_stands_now(stores: Stores) -> None:
    await stores.evidence.record(KEY, interaction(1))
    name = interaction(1).invocation_id
    assert await stores.evidence.find(KEY, name) == interaction(1)
    assert await stores.evidence.find(OTHER_USER, name) is None
    await stores.evidence.mark_undone(KEY, 0)
    undone = await stores.evidence.find(KEY, name)
    assert undone is not None
    assert undone.outcome is Outcome.UNDONE


async def test_pages_from_the_oldest_on_give_every_turn_once(stores: Stores) -> None:
    for number in range(1, 8):
        await stores.evidence.record(KEY, interaction(number))
    await stores.evidence.record(OTHER_SESSION, interaction(9))
    seen: list[int] = []
    cursor = ""
    while page := await stores.evidence.list(KEY, limit=3, after=cursor):
        seen += [item.turn for item in page]
        cursor = page[-1].invocation_id
    assert seen == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("cursor", [{}, {"before": "i-50"}, {"after": ""}, {"after": "i-50"}])
async def test_a_page_of_a_long_session_is_read_from_the_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cursor: dict[str, Any]
) -> None:
    database = SqliteDatabase(tmp_path / "memory.db")
    plans: list[str] = []
    read = database.read

    async def explained(work: Callable[[Rows], T]) -> T:
        return await read(lambda rows: work(Explained(rows, plans)))

    monkeypatch.setattr(database, "read", explained)
    evidence = SqlEvidenceStore(database)
    await evidence.record(KEY, interaction(50))
    await evidence.list(KEY, limit=10, **cursor)
    await database.close()
    [plan] = plans
    bound = "turn" if any(cursor.values()) else "session=?"
    assert "SEARCH interactions USING INDEX interactions_by_turn" in plan
    assert bound in plan.split("SCALAR")[0].partition("(")[2]
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan


class Explained:
    """Rows that note how each SELECT is carried out."""

    def __init__(self, rows: Rows, plans: list[str]) -> None:
        self._rows, self._plans = rows, plans

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        steps = self._rows.all(f"EXPLAIN QUERY PLAN {statement}", values)
        self._plans.append("; ".join(str(step[-1]) for step in steps))
        return self._rows.all(statement, values)
