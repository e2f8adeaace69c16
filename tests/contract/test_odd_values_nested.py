"""A session takes odd values wherever they are nested: it stays readable, and tells no more."""

import asyncio
import json
import math
from collections import ChainMap, UserDict, UserList, deque
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any
from uuid import uuid4

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget
from google.adk.sessions import BaseSessionService
from google.genai import types
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, field_serializer
from pydantic import dataclasses as checked

from acc_ace.stages.tool_loop import result_text
from core.adapters.storable import storable

SECRET = "open sesame"


class User(BaseModel):
    name: str = "aiko"


class StoredUser(User):
    password: str = SECRET


def some_users() -> list[User | None]:
    return [StoredUser(), None]


def users_by_name() -> dict[str, User]:
    return {"aiko": StoredUser()}


def hidden(word: str) -> bool:
    return word == SECRET


class Seen(BaseModel):
    """Hides a word in each of Pydantic's ways."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    found: Any = None
    user: User = Field(default_factory=StoredUser)
    near: list[User | None] = Field(default_factory=some_users)
    by_name: dict[str, User] = Field(default_factory=users_by_name)
    left_out: str = Field(default=SECRET, exclude=True)
    left_out_if: str = Field(default=SECRET, exclude_if=hidden)
    masked: Annotated[str, PlainSerializer(lambda _: "***")] = SECRET
    masked_in_json: Annotated[str, PlainSerializer(lambda _: "***", when_used="json")] = SECRET
    code: SecretStr = SecretStr(SECRET)


class Failing(BaseModel):
    found: Any = None

    @field_serializer("found")
    def write(self, _: object) -> object:
        """Fail, as code that expects another value."""
        raise KeyError("found")


@dataclass
class Entry:
    found: Any


@dataclass(eq=False, repr=False)
class Row:
    """As of a database whose session has ended."""

    found: Any

    def __getattribute__(self, name: str) -> Any:
        if name == "found":
            raise RuntimeError("the session has ended")
        return super().__getattribute__(name)


@checked.dataclass
class Checked:
    found: Any
    user: User = Field(default_factory=StoredUser)


@dataclass
class Answering:
    found: Any

    def __getattr__(self, name: str) -> Any:
        return name


class Level(Enum):
    RAW = b"\xff"
    NONE = math.nan


class Mute:
    def __str__(self) -> str:
        raise OSError("the connection is closed")


class Knowing(type):
    """Answers whatever its class is asked for."""

    def __getattr__(cls, name: str) -> Any:
        raise RuntimeError(f"no {name} here")


class Known(metaclass=Knowing):
    def __str__(self) -> str:
        return "known"


class Posing:
    """Stands for what is not there, as a request outside of its context."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("outside of the context")

    def __str__(self) -> str:
        return "posing"


NAME = b"caf\xe9.txt".decode("utf-8", "surrogateescape")

SOME: list[Any] = [
    *(None, True, 7, 0.5, math.nan, -math.inf),
    *("aiko", "db-\u2603", NAME, b"abc", b"\x89PNG\xff"),
    *(Level.RAW, Level.NONE, (NAME, 1), (b"\xff",), frozenset({NAME}), StoredUser),
]
hashable = st.sampled_from(SOME)
leaves = hashable | st.builds(Mute) | st.builds(object)
leaves |= st.just(bytearray(b"\xff")) | st.builds(partial(map, str), st.just([1]))


def holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that hold what is drawn."""
    keys = st.text(max_size=2) | hashable
    some = st.lists(inner, max_size=3)
    return (
        some
        | some.map(tuple)
        | some.map(deque)
        | some.map(UserList)
        | st.builds(ValueError, inner)
        | st.sets(hashable, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=2).map(lambda held: held.items())
        | st.tuples(
            st.sampled_from([UserDict, ChainMap, MappingProxyType]),
            st.dictionaries(keys, inner, max_size=2),
        ).map(lambda made: made[0](made[1]))
        | st.builds(Seen, found=inner, more=inner)
        | st.builds(Failing, found=inner)
        | st.builds(Entry, inner)
        | st.builds(Row, inner)
        | st.builds(Checked, inner)
        | st.builds(Seen, found=inner).map(lambda seen: seen.model_copy(update={"found": seen}))
    )


values = st.recursive(leaves, holders, max_leaves=8)


async def reread(sessions: BaseSessionService, value: Any) -> dict[str, Any]:
    """What is read of a session to which a value is given wherever it may stand."""
    here: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": uuid4().hex}
    session = await sessions.create_session(**here, state={"begun": value})
    answer = types.FunctionResponse(id="c-1", name="look", response={"found": value})
    event = Event(
        author="ops",
        invocation_id="i",
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=EventActions(
            state_delta={"found": value},
            agent_state={"found": value},
            render_ui_widgets=[UiWidget(id="w", provider="mcp", payload={"found": value})],
        ),
        output={"found": value},
        custom_metadata={"found": value},
    )
    await sessions.append_event(session, event)
    read = await sessions.get_session(**here)
    assert read is not None
    assert session.state["found"] is value
    [kept] = read.events
    [response] = kept.get_function_responses()
    assert response.response == kept.output
    return {"state": dict(read.state), "event": kept.model_dump(mode="json")}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=values)
@example(value=Seen(found=math.nan))
@example(value=Seen(found=b"\xff"))
@example(value=Seen(found=object()))
@example(value=[UserDict({"found": Seen()}), UserList([Seen()]), ValueError(Seen())])
@example(value={b"\xff": [Seen(found=NAME)], NAME: {NAME}})
def test_a_session_takes_any_value_and_hides_what_its_models_hide(
    sessions: BaseSessionService, value: Any
) -> None:
    read = asyncio.run(reread(sessions, value))
    assert SECRET not in json.dumps(read, allow_nan=False)
    json.dumps(read, ensure_ascii=False).encode()
    text = result_text(value)
    assert SECRET not in text
    text.encode()


@given(value=values)
def test_what_was_made_storable_is_stored_as_it_is(value: Any) -> None:
    kept = storable(value)
    if kept is not value:
        assert storable(kept) is kept
        json.dumps(kept, allow_nan=False)


class Picture(BaseModel):
    name: str
    raw: bytes


class Album(BaseModel):
    pictures: list[Picture]
    owner: User = Field(default_factory=StoredUser)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Picture(name="a", raw=b"\x89P\xff"), {"name": "a", "raw": "iVD_"}),
        (
            Album(pictures=[Picture(name="a", raw=b"\xff")]),
            {"pictures": [{"name": "a", "raw": "_w=="}], "owner": {"name": "aiko"}},
        ),
        (b"abc", "YWJj"),
        (Entry({NAME}), {"found": ["caf\ufffd.txt"]}),
        ({NAME: 1, "caf\ufffd.txt": 2}, {"caf\ufffd.txt": 1, "caf\ufffd.txt 1": 2}),
        ({b"\xff": 1, (NAME, 2): 3}, {"_w==": 1, "(a tuple)": 3}),
        ([Row(1)], ["(a Row)"]),
        (Answering(b"\xff"), {"found": "_w=="}),
        ([Known(), Posing()], ["known", "posing"]),
        (Entry(map(str, [1]).__class__), {"found": "<class 'map'>"}),
        (Failing(found="a"), {"found": "(a str)"}),
        ({"user": User(), "best": math.inf}, {"user": {"name": "aiko"}, "best": None}),
    ],
    ids=[
        "model",
        "models",
        "bytes",
        "set",
        "key",
        "keys",
        "row",
        "answering",
        "classes",
        "class",
        "failing field",
        "good model",
    ],
)
def test_odd_values_are_stored_and_told_in_one_form(
    sessions: BaseSessionService, value: Any, kept: Any
) -> None:
    read = asyncio.run(reread(sessions, value))
    assert read["state"]["found"] == read["event"]["output"]["found"] == kept
    told = result_text(value)
    assert (told if isinstance(kept, str) else json.loads(told)) == kept


def test_a_state_may_have_a_name_that_utf_8_cannot_hold(sessions: BaseSessionService) -> None:
    async def run() -> Any:
        here: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s"}
        session = await sessions.create_session(**here)
        actions = EventActions(state_delta={NAME: 1})
        await sessions.append_event(
            session, Event(author="ops", invocation_id="i", actions=actions)
        )
        read = await sessions.get_session(**here)
        assert read is not None
        return read.state

    assert asyncio.run(run())["caf\ufffd.txt"] == 1
