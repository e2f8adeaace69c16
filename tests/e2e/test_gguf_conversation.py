"""A small conversation with a model file, run in this process by llama.cpp.

What code keeps is claimed of any weights, random ones included. What needs a model that can read
is claimed of the file that ACC_ACE_TEST_GGUF names, an instruct model of 1.5 B or more:

    ACC_ACE_TEST_GGUF=models/some-instruct-q4.gguf .venv/bin/python -m pytest -m soak \\
        tests/e2e/test_gguf_conversation.py
"""

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.sessions import InMemorySessionService

from acc_ace.bootstrap import build_container
from acc_ace.config import EMBEDDED_MODEL, ROLES, AgentSettings, Role, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import RuleScope
from acc_ace.core.schemas.report import TurnReport
from acc_ace.models.llama_cpp import LlamaCppLlm
from acc_ace.models.llama_engine import EngineOptions
from tests.fakes.tiny_gguf import write_tiny_gguf

# Read now: no test sees a setting of the developer.
GGUF = Path(os.environ.get("ACC_ACE_TEST_GGUF", "")).expanduser()

KEY = SessionKey(APP_NAME, "aiko", "gguf")
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
async def talk(
    path: Path, roles: Sequence[Role], models: Mapping[Role, BaseLlm]
) -> AsyncIterator[Conversation]:
    """A conversation whose roles are played by a model file, the others by the embedded model."""
    slow = AgentSettings(model=f"llama-cpp/{path}", timeout_s=600, seed=1, temperature=0.0)
    embedded = AgentSettings(model=EMBEDDED_MODEL)
    blocks: dict[str, AgentSettings] = {role: slow if role in roles else embedded for role in ROLES}
    settings = Settings(
        store="memory", limits={"turn_model_s": 3_600}, learn_on="evidence"
    ).model_copy(update=blocks)
    conversation = Conversation(
        build_container(settings), session_service=InMemorySessionService(), models=models
    )
    try:
        yield conversation
    finally:
        await conversation.close()


async def hold(
    path: Path,
    roles: Sequence[Role],
    models: Mapping[Role, BaseLlm] | None = None,
    *,
    turns: int = len(SAID),
) -> Held:
    reports: list[TurnReport] = []
    heard: list[str] = []
    async with talk(path, roles, models or {}) as conversation:
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


async def test_any_weights_keep_the_rule_and_invent_nothing(tmp_path: Path) -> None:
    tiny = write_tiny_gguf(tmp_path / "tiny.gguf", chat_template=CHATML)
    # Short bounds, since random weights fill whatever they may.
    short = LlamaCppLlm(
        model=f"llama-cpp/{tiny}",
        options=EngineOptions(threads=1),
        text_chars=24,
        item_chars=16,
        items=2,
    )
    held = await hold(tiny, [], {"compressor": short}, turns=2)
    require_kept_by_code(held)
    assert all(report.model["compressor"] == short.model for report in held.reports)


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.mark.soak
@pytest.mark.skipif(Path() == GGUF, reason="ACC_ACE_TEST_GGUF names no model file")
@pytest.mark.parametrize("played", PLAYED)
async def test_a_real_model_keeps_the_rule_invents_nothing_and_answers_of_turn_two(
    played: str,
) -> None:
    held = await hold(GGUF, PLAYED[played])
    require_kept_by_code(held)
    assert re.search(r"\b0?9[:.]30\b", held.reports[-1].answer), held.reports[-1].answer
