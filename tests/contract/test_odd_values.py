"""A session takes whatever a tool, an agent or a client hands over, and stays readable."""

import asyncio
import json
import math
from collections import deque
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any
from uuid import uuid4

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget
from google.adk.sessions import BaseSessionService
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, PlainSerializer, SecretStr, field_serializer

from acc_ace.adk.sessions.json_safe import json_safe
from acc_ace.adk.stages.tool_loop import mended_response, result_text

SECRET = "open sesame"
NAME = b"caf\xe9.txt".decode("utf-8", "surrogateescape")


class User(BaseModel):
    name: str = "aiko"


class StoredUser(User):
    password: str = SECRET


class Login(BaseModel):
    """Hides a word in each of Pydantic's ways."""

    found: Any = None
    user: User = Field(default_factory=StoredUser)
    word: str = Field(default=SECRET, exclude=True)
    masked: Annotated[str, PlainSerializer(lambda _: "***")] = SECRET
    code: SecretStr = SecretStr(SECRET)


SHOWN = {"user": {"name": "aiko"}, "masked": "***", "code": "**********"}


class Picture(BaseModel):
    """Does not say how its bytes are written."""

    raw: bytes


class Failing(BaseModel):
    found: Any = None

    @field_serializer("found")
    def write(self, _: object) -> object:
        """Fail, as code that expects another value."""
        raise KeyError("found")


@dataclass
class Load:
    mean: Any


@dataclass
class Row:
    """As of a database whose session has ended."""

    found: Any

    def __getattribute__(self, name: str) -> Any:
        if name == "found":
            raise RuntimeError("the session has ended")
        return super().__getattribute__(name)


class Level(Enum):
    RAW = b"\xff"
    NONE = math.nan


class Host:
    def __str__(self) -> str:
        return "db-01"


class Mute:
    def __str__(self) -> str:
        raise OSError("the connection is closed")


def nested(levels: int, end: Any = "the end") -> Any:
    for _ in range(levels):
        end = [end]
    return end


def tree() -> Any:
    """A tree whose child points to its parent."""
    root: dict[str, Any] = {"name": "root", "user": Login()}
    root["child"] = {"name": "h1", "parent": root}
    return root


async def reread(sessions: BaseSessionService, value: Any) -> dict[str, Any]:
    """What is read of a session to which a value is given wherever it may stand."""
    here: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": uuid4().hex}
    session = await sessions.create_session(**here, state={"begun": value})
    call = types.FunctionCall(id="c-1", name="look", args={"found": value})
    answer = types.FunctionResponse(id="c-1", name="look", response={"found": value})
    parts = [types.Part(function_call=call), types.Part(function_response=answer)]
    event = Event(
        author="ops",
        invocation_id="i",
        content=types.Content(role="user", parts=parts),
        actions=EventActions(
            state_delta={"found": value},
            agent_state={"found": value},
            set_model_response=value,
            requested_tool_confirmations={"c-1": ToolConfirmation(payload=value)},
            render_ui_widgets=[UiWidget(id="w", provider="mcp", payload={"found": value})],
        ),
        output={"found": value},
        custom_metadata={"found": value},
    )
    await sessions.append_event(session, event)
    assert session.state["found"] is value
    read = await sessions.get_session(**here)
    assert read is not None
    [kept] = read.events
    [response] = kept.get_function_responses()
    assert response.response == kept.output
    return {"state": dict(read.state), "event": kept.model_dump(mode="json")}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Load(math.nan), {"mean": None}),
        ({"user": User(), "best": math.inf}, {"user": {"name": "aiko"}, "best": None}),
        ([b"\x89P\xff", deque([Level.RAW, Level.NONE])], ["iVD_", ["_w==", None]]),
        ({(1, 2): Host(), "since": date(2026, 3, 2)}, {"1,2": "db-01", "since": "2026-03-02"}),
        ([NAME], ["caf\ufffd.txt"]),
        ({NAME: 1}, {"caf\ufffd.txt": 1}),
        ([Mute()], ["<Unserializable Mute object>"]),
        ({"row": Row(1), "good": 1}, {"row": "(a Row)", "good": 1}),
        (Failing(found=1), "(a Failing)"),
        (Picture(raw=b"\x89P\xff"), "(a Picture)"),
        (10**4_000, 10**4_000),
        (10**5_000, "(a int)"),
        (nested(90), nested(90)),
        (nested(220), "(a list)"),
        (nested(10_000), "(a list)"),
    ],
    ids=[
        *("no number", "model", "bytes", "unknown class", "half a pair", "key", "mute"),
        *("raising", "failing model", "bytes of a model", "long number", "too long number"),
        *("deep", "too deep", "very deep"),
    ],
)
def test_odd_values_are_stored_and_told_as_the_same_json(
    sessions: BaseSessionService, value: Any, kept: Any
) -> None:
    reported = result_text(value)
    assert (reported if isinstance(kept, str) else json.loads(reported)) == kept
    read = asyncio.run(reread(sessions, value))
    json.dumps(read, allow_nan=False, ensure_ascii=False).encode()
    if not isinstance(kept, dict):
        # Of a dictionary within another, one item that cannot be stored makes the whole a text.
        assert read["state"]["found"] == read["state"]["begun"] == kept


def test_of_a_circular_value_the_rest_is_kept(sessions: BaseSessionService) -> None:
    reported = json.loads(result_text(tree()))
    assert reported["name"] == "root"
    assert reported["user"] == SHOWN | {"found": None}
    assert reported["child"] == "(a dict)"
    read = asyncio.run(reread(sessions, tree()))
    assert read["state"]["found"] == "(a dict)"
    assert SECRET not in json.dumps(read)


leaves = st.sampled_from(
    [
        *(None, True, 7, 0.5, math.nan, -math.inf, "aiko", "\0", NAME, b"\x89PNG\xff"),
        *(Level.RAW, Level.NONE, StoredUser, nested(150)),
    ]
)
leaves |= st.builds(Host) | st.builds(Mute) | st.builds(Row, st.just(1)) | st.builds(tree)
leaves |= st.builds(pow, st.just(10), st.just(5_000))
keys = st.text(max_size=2) | st.sampled_from([NAME, b"\xff", 1, (NAME, 2), Level.RAW])


def holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that hold what is drawn."""
    some = st.lists(inner, max_size=3)
    held = st.dictionaries(keys, inner, max_size=3)
    models = st.builds(Login, found=inner) | st.builds(Failing, found=inner)
    return some | some.map(tuple) | some.map(deque) | held | models | st.builds(Load, inner)


values = st.recursive(leaves, holders, max_leaves=8)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=values)
def test_a_session_takes_any_value_and_hides_what_its_models_hide(
    sessions: BaseSessionService, value: Any
) -> None:
    read = asyncio.run(reread(sessions, value))
    text = json.dumps([read, result_text(value)], allow_nan=False, ensure_ascii=False)
    text.encode()
    assert SECRET not in text


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


def test_what_json_can_hold_is_left_as_it_is() -> None:
    value = {"load": Load(0.5), "user": User(), "names": {"db-01"}, ("db", 1): 2}
    assert json_safe(value) is value
    assert mended_response(value) is None
    assert mended_response(None) is None
