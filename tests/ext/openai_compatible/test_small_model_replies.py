"""What a real model of 1.5 billion parameters replied, by role: none is refused.

The replies were recorded with Qwen2.5-Coder-1.5B-Instruct (4 bit). They are matched to no request:
prompts change, and what a small model writes stays.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.adk.structured_agent import SCHEMAS
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.errors import ModelOutputError
from acc_ace.ext.openai_compatible.written_tools import read_written
from config import ROLES, Role

FOLDER: Final = Path(__file__).parents[2] / "data/replies/small_model"
CALLED: Final = ("search_evidence", "calculate", "current_time", "host_status", "restart_service")
TOOLS: Final = [{"name": name} for name in CALLED]
RECORDED: Final[list[Role]] = [role for role in ROLES if (FOLDER / f"{role}.jsonl").exists()]


@pytest.mark.parametrize("role", RECORDED)
def test_no_reply_of_a_small_model_is_refused(role: Role) -> None:
    refused = {reply: why for reply in replies(role) if (why := reason_against(role, reply))}
    assert refused == {}


def test_the_roles_that_a_small_model_was_asked_in_are_recorded() -> None:
    assert {"compressor", "generator", "reflector", "curator"} <= set(RECORDED)
    assert all(replies(role) for role in RECORDED)


def replies(role: Role) -> Sequence[str]:
    lines = (FOLDER / f"{role}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["reply"] for line in lines]


def reason_against(role: Role, reply: str) -> str:
    """Why a reply is unusable; '' for one that is read, or that calls a tool."""
    response = LlmResponse(content=types.Content(role="model", parts=[types.Part(text=reply)]))
    parts = (read_written(response, TOOLS).content or types.Content()).parts or []
    if role == "generator" and any(part.function_call for part in parts):
        return ""
    try:
        read_reply(SCHEMAS[role], reply)
    except ModelOutputError as error:
        return str(error)
    return ""
