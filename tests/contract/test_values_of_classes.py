"""A session stays readable whatever objects of classes a tool hands over, and tells no more."""

import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService
from google.genai import types
from pydantic import BaseModel, Field, PlainSerializer, computed_field

from core.adapters.storable import storable

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}


@dataclass
class Load:
    mean: float


class Seen(BaseModel):
    mean: float


class Mean(BaseModel):
    loads: list[float]

    @computed_field
    def mean(self) -> float:
        """Of no loads there is none."""
        return sum(self.loads) / len(self.loads) if self.loads else math.nan


class Level(Enum):
    NONE = math.nan
    ALL = (0.0, math.inf)


@dataclass(eq=False)
class Host:
    name: str
    next: "Host | None" = None
    near: list["Host"] = field(default_factory=list)


def chain(hosts: int) -> Host:
    host = Host("the last")
    for number in range(hosts):
        host = Host(f"h{number}", host)
    return host


def grid(side: int) -> Host:
    """Hosts that each know those beside them: there are more paths than could be walked."""
    hosts = {(x, y): Host(f"{x},{y}") for x in range(side) for y in range(side)}
    for (x, y), host in hosts.items():
        beside = ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        host.near = [hosts[place] for place in beside if place in hosts]
    return hosts[0, 0]


async def reread(sessions: BaseSessionService, value: Any) -> Any:
    """What is read of a value that was a result, state and an output."""
    session = await sessions.create_session(**HERE)
    answer = types.FunctionResponse(id="c-1", name="look", response={"found": value})
    event = Event(
        author="ops",
        invocation_id="i",
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=EventActions(state_delta={"found": value}),
        output={"found": value},
    )
    await sessions.append_event(session, event)
    read = await sessions.get_session(**HERE)
    assert read is not None
    [kept] = read.events
    [response] = kept.get_function_responses()
    assert response.response == kept.output == {"found": read.state["found"]}
    return read.state["found"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Load(math.nan), {"mean": None}),
        (Load(0.5), {"mean": 0.5}),
        (Seen(mean=math.inf), {"mean": None}),
        (Mean(loads=[]), {"loads": [], "mean": None}),
        ({math.inf}, [None]),
        (deque([Load(math.nan)]), [{"mean": None}]),
        ({"a": Load(0.5)}.values(), [{"mean": 0.5}]),
        (Level.NONE, "Level.NONE"),
        (Level.ALL, [0.0, None]),
        ({Load: 1}, {"<class 'tests.contract.test_values_of_classes.Load'>": 1}),
        (10**5_000, "(a number too long to be kept)"),
        ({10**5_000: 1}, {"(a number too long to be kept)": 1}),
        (10**4_000, 10**4_000),
    ],
    ids=[
        "dataclass",
        "good dataclass",
        "model",
        "computed field",
        "set",
        "deque",
        "view",
        "enum",
        "enum of a list",
        "class as key",
        "long number",
        "long number as key",
        "number that can be read",
    ],
)
async def test_a_value_of_a_class_is_kept_with_null_and_text_for_what_json_cannot_hold(
    sessions: BaseSessionService, value: Any, kept: Any
) -> None:
    assert await reread(sessions, value) == kept


async def test_objects_that_are_keys_are_kept_each_under_a_name(
    sessions: BaseSessionService,
) -> None:
    kept = await reread(sessions, {(1, grid(2)): "first", (2, grid(2)): "second"})
    assert kept == {"(a tuple)": "first", "(a tuple) 1": "second"}


async def test_a_chain_of_objects_is_kept_to_the_depth_that_can_be_read(
    sessions: BaseSessionService,
) -> None:
    kept = await reread(sessions, [[[chain(300)]]])
    host = kept[0][0][0]
    for number in range(299, 210, -1):
        assert host["name"] == f"h{number}"
        host = host["next"]
    assert "(a Host)" in str(host)


async def test_objects_that_know_each_other_are_written_so_often_and_no_more(
    sessions: BaseSessionService,
) -> None:
    kept = await reread(sessions, grid(6))
    assert kept["near"][0]["near"][0]["name"] == "2,0"
    assert "(the same as what holds it)" in str(kept)


class Login(BaseModel):
    user: str
    word: str = Field(exclude=True)
    token: Annotated[str, PlainSerializer(lambda token: "***")]


async def test_what_a_model_hides_stays_hidden_beside_what_must_change(
    sessions: BaseSessionService,
) -> None:
    login = Login(user="aiko", word="open sesame", token="t-1")
    kept = await reread(sessions, {"login": login, "load": math.nan})
    assert kept == {"login": {"user": "aiko", "token": "***"}, "load": None}


def test_what_json_can_hold_is_left_as_it_is() -> None:
    value = {"load": Load(0.5), "seen": Seen(mean=1.0), "names": {"db-01"}, ("db", 1): Host("h")}
    assert storable(value) is value


def test_a_generator_is_named_and_not_used_up() -> None:
    numbers = (number for number in range(3))
    assert "generator" in storable({"numbers": numbers})["numbers"]
    assert list(numbers) == [0, 1, 2]
