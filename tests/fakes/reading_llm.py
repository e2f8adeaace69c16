"""A Compressor that reads by a table: it points at each numbered sentence that stands there."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest

from acc_ace.errors import ModelUnavailable
from tests.fakes.default_replies import default_reply, prompt_text, read_tagged

_NUMBERED = re.compile(r"⟦(\d+)⟧([^⟦\n]+)")


def numbered(request: LlmRequest) -> dict[int, str]:
    """The sentences that a Compressor is asked to read, by their numbers."""
    inputs = read_tagged(prompt_text(request))
    artifacts = inputs.get("artifacts") or []
    texts = [inputs["current_input"]["text"], *(each.get("user", "") for each in artifacts)]
    found = (pair for text in texts for pair in _NUMBERED.findall(text))
    return {int(number): sentence.strip() for number, sentence in found}


def reads(kinds: Mapping[str, str]) -> Callable[[LlmRequest], dict[str, Any]]:
    """Replies that point at the sentences of the table, each with its kind."""

    def reply(request: LlmRequest) -> dict[str, Any]:
        changes = [
            {"sentence": number, "kind": kinds[sentence]}
            for number, sentence in numbered(request).items()
            if sentence in kinds
        ]
        return {**default_reply("compressor", prompt_text(request)), "rule_changes": changes}

    return reply


def fails(_: LlmRequest) -> dict[str, Any]:
    """No reply."""
    raise ModelUnavailable("compressor: no network")
