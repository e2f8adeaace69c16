"""A small conversation with a model behind an OpenAI-compatible endpoint on this machine.

What code keeps is claimed of any reply that the schema allows, random ones included. What needs a
model that can read is claimed of the endpoint that ACC_ACE_TEST_ENDPOINT names (llama-server or
Ollama with an instruct model of 1.5 B or more), and of the model ACC_ACE_TEST_MODEL:

    ACC_ACE_TEST_ENDPOINT=http://127.0.0.1:8080/v1 .venv/bin/python -m pytest -m soak \\
        tests/e2e/test_local_model.py
"""

import json
import os
import random
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, get_args

import pytest
from google.adk.sessions import InMemorySessionService

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from config import EMBEDDED_MODEL, ROLES, AgentSettings, Role, Settings
from schemas.base import SessionKey
from schemas.commit import RuleScope
from schemas.report import TurnReport
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import Kind, fake_openai, says, with_tool
from tests.fakes.loopback import HttpReply, Received

# Read now: no test sees a setting of the developer.
ENDPOINT = os.environ.get("ACC_ACE_TEST_ENDPOINT", "")
MODEL = os.environ.get("ACC_ACE_TEST_MODEL", "local")

KEY = SessionKey(APP_NAME, "aiko", "local")
RULE = "Never restart db-01 during business hours."
SAID = (
    "I look after the database db-01.",
    "The disk of db-01 filled up at 09:30.",
    "The checkout service writes its logs to db-01.",
    "At what time did the disk of db-01 fill up?",
)
PLAYED: dict[str, tuple[Role, ...]] = {"generator alone": ("generator",), "all five": ROLES}
"""Which roles the model plays; the embedded one plays the others."""

_NAME = re.compile(r"[^\W_]*\d[\w-]*|\b[A-Z][a-z]+\b|[\w]+-[\w-]+")
"""What is no ordinary word: ids, numbers, names."""


class Held(NamedTuple):
    """The reports, and all words up to each."""

    reports: list[TurnReport]
    heard: list[str]


@asynccontextmanager
async def talk(endpoint: str, roles: Sequence[Role]) -> AsyncIterator[Conversation]:
    """A conversation whose roles the endpoint plays, the embedded model the others."""
    slow = AgentSettings(model=f"openai/{MODEL}", timeout_s=600, seed=1, temperature=0.0)
    embedded = AgentSettings(model=EMBEDDED_MODEL)
    blocks: dict[str, AgentSettings] = {role: slow if role in roles else embedded for role in ROLES}
    settings = Settings(
        store="memory",
        limits={"turn_model_s": 3_600},
        learn_on="evidence",
        openai_base_url=endpoint,
    ).model_copy(update=blocks)
    conversation = Conversation(build_container(settings), session_service=InMemorySessionService())
    try:
        yield conversation
    finally:
        await conversation.close()


async def hold(endpoint: str, roles: Sequence[Role], *, turns: int = len(SAID)) -> Held:
    reports: list[TurnReport] = []
    heard: list[str] = []
    async with talk(endpoint, roles) as conversation:
        # As `/rule` gives it: whether a model points to a rule in a message is its own affair.
        await conversation.rules.pin(KEY, RULE, RuleScope.SESSION)
        for text in SAID[:turns]:
            reports.append(await conversation.turn(KEY, text))
            before = heard[-1] if heard else RULE
            heard.append(f"{before}\n{text}\n{reports[-1].answer}")
    return Held(reports, heard)


def require_kept_by_code(held: Held) -> None:
    """The rule is kept in each turn, no other one is made, and nothing is named that was not."""
    for report, heard in zip(*held, strict=True):
        assert [rule.text for rule in report.constraints] == [RULE], report.warnings
        named = [*report.ccs.focal_entities, *report.ccs.relational_map]
        invented = [
            name
            for item in named
            for name in _NAME.findall(item.partition(":")[2] or item)
            if name.casefold() not in heard.casefold()
        ]
        assert invented == [], named


@needs("embedded", "openai_compatible")
@pytest.mark.parametrize("seed", range(3))
async def test_any_reply_of_the_schema_keeps_the_rule_and_invents_nothing(seed: int) -> None:
    rng = random.Random(seed)

    def babble(received: Received) -> HttpReply:
        schema = received.body["response_format"]["json_schema"]["schema"]
        return says(json.dumps(any_value(schema, schema.get("$defs", {}), rng)))

    with fake_openai() as endpoint:
        endpoint.script("compressor", babble)
        held = await hold(endpoint.base_url, ["compressor"], turns=2)
    require_kept_by_code(held)
    assert {report.model["compressor"] for report in held.reports} == {f"openai/{MODEL}"}


def any_value(schema: Mapping[str, Any], shared: Mapping[str, Any], rng: random.Random) -> object:
    """A random value of a JSON schema, as weights without any sense would write it."""
    if "$ref" in schema:
        return any_value(shared[schema["$ref"].rpartition("/")[2]], shared, rng)
    if choices := schema.get("anyOf"):
        return any_value(rng.choice(choices), shared, rng)
    if "enum" in schema or "const" in schema:
        return rng.choice(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            return {
                name: any_value(item, shared, rng)
                for name, item in schema.get("properties", {}).items()
                if name in required or rng.random() < 0.5
            }
        case "array":
            return [any_value(schema["items"], shared, rng) for _ in range(rng.randrange(3))]
        case "string":
            return " ".join(rng.choice(["qua", "lorem", "vex", "ipso"]) for _ in range(4))
        case "boolean":
            return rng.random() < 0.5
        case "integer" | "number":
            return rng.randint(schema.get("minimum", 0), schema.get("maximum", 9))
        case _:
            return None


@needs("embedded", "openai_compatible")
@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_turn_uses_a_tool_whatever_the_endpoint_can(kind: Kind) -> None:
    def calculates(received: Received) -> HttpReply:
        return with_tool(received.body, kind, "calculate", {"expression": "6*7"}, "Some 40.")

    with fake_openai(kind=kind) as endpoint:
        endpoint.script(0, calculates, says('{"final_answer": "It is 42."}'))
        async with talk(endpoint.base_url, ["generator"]) as conversation:
            report = await conversation.turn(KEY, "What is 6*7?")
        assert "42" in str(endpoint.requests[1].body["messages"][-1])
    assert ([call["name"] for call in report.tool_calls], report.answer) == (
        ["calculate"],
        "It is 42.",
    )


@pytest.mark.soak
@pytest.mark.skipif(not ENDPOINT, reason="ACC_ACE_TEST_ENDPOINT names no endpoint")
@pytest.mark.parametrize("played", PLAYED)
async def test_a_real_model_keeps_the_rule_invents_nothing_and_answers_of_turn_two(
    played: str,
) -> None:
    held = await hold(ENDPOINT, PLAYED[played])
    require_kept_by_code(held)
    assert re.search(r"\b0?9[:.]30\b", held.reports[-1].answer), held.reports[-1].answer
