"""The least answer that prompt and schema of each role allow: what the fakes say unscripted."""

import json
import re
from typing import Any

from google.adk.models.llm_request import LlmRequest

from acc_ace.config import Role
from acc_ace.core.text.rules.own_words import without_numbers

_INPUT = re.compile(r'<input name="([a-z0-9_]+)">(.*?)</input>', re.DOTALL)


def default_reply(role: Role | None, text: str) -> dict[str, Any]:
    """The answer of a role to a prompt; `text` is all of the prompt, with its tagged inputs.

    The Qualifier calls every candidate relevant, without a reason; the Generator says 'ok'; the
    Compressor changes nothing and says nothing of rules, Reflector and Curator say nothing at all.
    """
    inputs = read_tagged(text)
    match role:
        case "qualifier":
            return {"decisions": [_relevant(item) for item in _list(inputs.get("candidates"))]}
        case "compressor" | "reflector" | "curator":
            return {}
        case "guard":
            return {"conflict": False}
        case _:
            return {"final_answer": "ok"}


def said_in(text: str) -> str:
    """What has just been said, of a prompt, without the numbers of its sentences."""
    said = _dict(read_tagged(text).get("current_input")).get("text", "")
    return without_numbers(str(said))


def read_tagged(text: str) -> dict[str, Any]:
    """The tagged inputs of a prompt by name: lines as text, JSON as its value."""
    found: dict[str, Any] = {}
    for name, body in _INPUT.findall(text):
        if body.startswith("\n"):
            found[name] = body.strip("\n")
            continue
        try:
            found[name] = json.loads(body)
        except ValueError:
            continue
    return found


def prompt_text(llm_request: LlmRequest) -> str:
    """System instruction, texts, tool calls and tool results of a request, in order."""
    instruction = llm_request.config.system_instruction
    pieces = [instruction if isinstance(instruction, str) else ""]
    for content in llm_request.contents:
        for part in content.parts or []:
            if part.text:
                pieces.append(part.text)
            if part.function_call:
                pieces.append(_json(part.function_call.args))
            if part.function_response:
                pieces.append(_json(part.function_response.response))
    return "\n".join(piece for piece in pieces if piece)


def _relevant(candidate: object) -> dict[str, Any]:
    artifact_id = str(_dict(candidate).get("artifact_id", ""))
    return {"artifact_id": artifact_id, "relevant": True}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
