"""Tables of cases in data files, with one test for each table.

The cases of `tests/unit/test_periods.py` are in `tests/data/cases/unit/periods.json`: lists of
rows, under the name of the test that takes them.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

_TESTS: Final = Path(__file__).parents[1]
_CASES: Final = _TESTS / "data" / "cases"


def each_case(check: Callable[..., None]) -> Callable[[], None]:
    """Make one test of `check`, which takes a row of its table; a failure names every bad row."""
    file = Path(check.__code__.co_filename).resolve().relative_to(_TESTS)
    rows = _tables(file.with_name(file.stem.removeprefix("test_") + ".json"))[
        check.__name__.removeprefix("test_")
    ]

    def test() -> None:
        failed = []
        for row in rows:
            try:
                check(*row)
            except (AssertionError, pytest.fail.Exception) as error:
                failed.append(f"{row}: {error}")
            except Exception as error:
                error.add_note(f"in the case {row}")
                raise
        assert not failed, "\n".join(failed)

    test.__name__, test.__qualname__ = check.__name__, check.__qualname__
    test.__module__, test.__doc__ = check.__module__, check.__doc__
    return test


@cache
def _tables(file: Path) -> dict[str, list[list[Any]]]:
    tables: dict[str, list[list[Any]]] = json.loads((_CASES / file).read_text(encoding="utf-8"))
    assert all(tables.values()), f"{file} has an empty table"
    return tables
