"""Whatever a model may reply: what is plain is used, what is not is asked for once more, what stays
unusable is said. Role by role, with rows of `tests/data/replies`.

`known.json` names the rows that do not hold yet, each with the reason; none may be added. The rows
under `held/` were written by the same hands and were not looked at while the readers of replies
were built: they measure how far these reach, so only their number is held.
"""

import json
from typing import Final

import pytest

from tests.contract.replies import DRIVERS, FOLDER, InProcess, report_of, rows_of

KNOWN: Final[dict[str, dict[str, str]]] = json.loads(
    (FOLDER / "known.json").read_text(encoding="utf-8")
)
HELD_LEAST: Final[dict[str, int]] = {
    "qualifier": 49,
    "compressor": 53,
    "rule_changes": 64,
    "reflector": 48,
    "curator": 52,
    "generator": 44,
    "extractor": 41,
    "guard": 46,
    "summarizer": 38,
    "thinker": 52,
}
"""Rows under `held/` that hold, as measured; a change may not lower it."""


@pytest.mark.parametrize("role", DRIVERS)
async def test_each_reply_is_used_or_asked_for_again_or_said(role: str) -> None:
    wrong = await report_of(role, rows_of(role), InProcess)
    fresh = {name: problem for name, problem in wrong.items() if name not in KNOWN.get(role, {})}
    assert not fresh, "\n".join(f"{name}: {problem}" for name, problem in fresh.items())


@pytest.mark.soak
@pytest.mark.parametrize("role", sorted(HELD_LEAST.keys() & DRIVERS.keys()))
async def test_rows_that_nobody_built_for_hold_as_often_as_measured(role: str) -> None:
    rows = rows_of(role, held=True)
    wrong = await report_of(role, rows, InProcess)
    assert len(rows) - len(wrong) >= HELD_LEAST[role]


def test_each_row_that_is_known_not_to_hold_exists_and_has_its_reason() -> None:
    names = {role: {row["name"] for row in rows_of(role)} for role in DRIVERS}
    assert not [
        name
        for role, known in KNOWN.items()
        if role in DRIVERS
        for name, reason in known.items()
        if name not in names[role] or not reason
    ]
