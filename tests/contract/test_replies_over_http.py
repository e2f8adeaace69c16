"""The same replies by way of google-genai, and what its requests say: prompt and schema agree."""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm

from acc_ace import Settings, build_model
from acc_ace.models.factory import close_models
from config import Role
from tests.contract.replies import DRIVERS, FOLDER, OverHttp, Row, report_of, rows_of
from tests.contract.test_replies import KNOWN
from tests.fakes.fake_gemini import FakeGemini, fake_gemini

FULL: dict[str, dict[str, Any]] = json.loads((FOLDER / "full.json").read_text(encoding="utf-8"))
"""For each role a reply with each field that its schema has."""

SAMPLE = 8
"""Malformed replies of a role that are sent over the wire."""

_WORD = re.compile(r"[a-z_]+")
_CODE = re.compile(r"`([a-z_]+)`")
_INPUT = re.compile(r"^- `([a-z_]+)`:", re.MULTILINE)


def _agreeing() -> list[str]:
    return sorted(FULL.keys() & DRIVERS.keys())


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    with fake_gemini() as fake:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake


@pytest.fixture
async def wire(gemini: FakeGemini) -> AsyncIterator[Callable[[], OverHttp]]:
    wires: list[OverHttp] = []

    def another() -> OverHttp:
        wires.append(OverHttp(gemini, _client))
        return wires[-1]

    yield another
    for each in wires:
        await close_models(each.built)


def _client(role: Role) -> BaseLlm:
    block = "guard_model" if role == "guard" else role
    usual = getattr(Settings(), block)
    fast = {"model": "gemini-3.5-flash", "backoff_s": 0, "timeout_s": 30}
    changed = usual.model_copy(update=fast)
    return build_model(role, Settings().model_copy(update={block: changed}))


def _holding(role: str) -> list[Row]:
    """The rows of a role that hold."""
    return [row for row in rows_of(role) if row["name"] not in KNOWN.get(role, {})]


def _sampled(rows: Sequence[Row]) -> list[Row]:
    """The least and the most of each, and some of the rest."""
    whole = [row for row in rows if row["name"].startswith(("least", "most"))]
    others = [row for row in rows if row not in whole]
    return [*whole, *others[:: max(1, len(others) // SAMPLE)]]


@pytest.mark.parametrize("role", DRIVERS)
async def test_replies_over_the_wire_are_treated_alike(
    role: str, wire: Callable[[], OverHttp]
) -> None:
    assert await report_of(role, _sampled(_holding(role)), wire, retries=True) == {}


@pytest.mark.soak
@pytest.mark.parametrize("role", DRIVERS)
async def test_all_replies_over_the_wire_are_treated_alike(
    role: str, wire: Callable[[], OverHttp]
) -> None:
    assert await report_of(role, _holding(role), wire, retries=True) == {}


@pytest.mark.parametrize("role", _agreeing())
async def test_what_a_schema_requires_is_what_the_parser_misses(
    role: str, gemini: FakeGemini, wire: Callable[[], OverHttp]
) -> None:
    schema = await _schema(role, gemini, wire)
    assert set(schema["properties"]) <= set(FULL[role]), "a field is new: add it to full.json"
    missed = [
        field for field in FULL[role] if await _asked(role, wire, {**FULL[role], field: ...}) > 1
    ]
    assert sorted(schema.get("required", [])) == sorted(missed)


@pytest.mark.parametrize("role", _agreeing())
async def test_a_prompt_names_the_fields_of_its_schema_and_no_others(
    role: str, gemini: FakeGemini, wire: Callable[[], OverHttp]
) -> None:
    schema = await _schema(role, gemini, wire)
    parts = _request(gemini)["systemInstruction"]["parts"]
    prompt = "\n".join(part["text"] for part in parts)
    assert set(schema["properties"]) <= set(_WORD.findall(prompt))
    inputs, _, output = prompt.rpartition("## Output")
    assert set(_CODE.findall(output)) <= {*_names(schema), *_INPUT.findall(inputs)}


async def _schema(role: str, gemini: FakeGemini, wire: Callable[[], OverHttp]) -> dict[str, Any]:
    assert await _asked(role, wire, FULL[role]) == 1
    config = _request(gemini)["generationConfig"]
    schema: dict[str, Any] = config.get("responseSchema") or config["responseJsonSchema"]
    return schema


def _request(gemini: FakeGemini) -> dict[str, Any]:
    """The last request that asked for a reply."""
    return [each.body for each in gemini.requests if not each.counts][-1]


async def _asked(role: str, wire: Callable[[], OverHttp], reply: dict[str, Any]) -> int:
    """How often a role is asked when it replies so; a field of `...` is left out."""
    given = {name: value for name, value in reply.items() if value is not ...}
    text = json.dumps(given, ensure_ascii=False)
    return (await DRIVERS[role](wire(), {"reply": text, "then": {}})).asked


def _names(schema: object) -> Iterator[str]:
    """Names of fields and of enumerated values, at every depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        yield from schema.get("enum", ())
        for value in schema.values():
            yield from _names(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _names(value)
