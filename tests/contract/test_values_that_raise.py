"""A session stays readable when objects fail to tell what they hold."""

import sqlite3
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Iterator
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from google.adk.sessions import BaseSessionService

from core.adapters.storable import storable
from tests.contract.test_values_of_classes import reread


class Rows(UserDict[str, Any]):
    """Rows by id, which are read when they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.data = {"row-1": "open sesame"}
        self._database = sqlite3.connect(":memory:")
        self._database.close()

    def __getitem__(self, key: str) -> Any:
        return self._database.execute("SELECT ?", (key,)).fetchone()


class Pages(UserList[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("the connection is closed")


class Steps(deque[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("the connection is closed")


class Wordless(Exception):
    """An error whose words cannot be read."""

    args: Any = None


class Away(Exception):
    @property
    def args(self) -> Any:
        raise OSError("the connection is closed")

    @args.setter
    def args(self, words: Any) -> None:
        """Forget them."""


class Level(Enum):
    ONE = 1

    @property
    def value(self) -> Any:
        raise OSError("the connection is closed")


class Table(dict[str, Any]):
    """A dictionary that tells nothing of what JSON reads in it."""

    def __iter__(self) -> Iterator[str]:
        raise OSError("the connection is closed")

    def items(self) -> Any:
        return iter(self)

    keys = values = items


class Column(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("the connection is closed")


ODD = [
    (Rows(), "(a Rows)"),
    (MappingProxyType(Rows()), "(a mappingproxy)"),
    (ChainMap(Rows()), "(a ChainMap)"),
    (Pages(["open sesame"]), "(a Pages)"),
    (Steps(["open sesame"]), "(a Steps)"),
    (Wordless("open sesame"), "(a Wordless)"),
    (Away("open sesame"), "(a Away)"),
    (Level.ONE, "Level.ONE"),
    (Table(a=1), {"a": 1}),
    (Column([1, float("nan")]), [1, None]),
]


@pytest.mark.parametrize(("value", "kept"), ODD, ids=[type(value).__name__ for value, _ in ODD])
async def test_an_object_that_fails_to_tell_what_it_holds_is_named(
    sessions: BaseSessionService, value: Any, kept: Any
) -> None:
    assert await reread(sessions, value) == kept


@pytest.mark.parametrize(
    "value", [value for value, _ in ODD], ids=lambda value: type(value).__name__
)
def test_an_object_that_fails_to_tell_what_it_holds_is_named_where_lists_end(value: Any) -> None:
    deep: Any = [value]
    for _ in range(120):
        deep = [deep]
    text = str(storable(deep))
    assert text.startswith("[[[[")
    assert "open sesame" not in text
