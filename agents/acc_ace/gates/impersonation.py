"""Find recalled text that poses as part of our prompts, as a role or as one of our schemas.

Rendering escapes every delimiter, so such text could not break out anyway. Whoever writes it
means to; it is left out and the reason is shown.
"""

import re

from acc_ace.schemas.artifact import ArtifactKind
from acc_ace.text.normalize import skeleton
from acc_ace.text.patterns import lazy_pattern

_DELIMITER = lazy_pattern(
    r"[<＜]\s*[/／]?\s*(system|assistant|tool_call|tool_result|function_calls?|instructions?)\b"
    r"[^<>\n]{0,200}[>＞]"
    r"|[<＜]\s*artifact\s+id\s*=|[<＜]\s*[/／]\s*(artifact|input)\s*[>＞]"
    r"|[<＜]\s*input\s+name\s*=\s*\W?(current_input|previous_state|state|artifacts|candidates"
    r"|playbook|warnings|reflection|generation)\b"
    r"|[<＜][|｜]\s*(im_start|im_end|system|user|assistant|endoftext|eot_id)\b"
    r"|\[/?INST\]|<<SYS>>",
    re.IGNORECASE,
)
"""Tags of our prompts, and chat templates of models."""

_SECTION = lazy_pattern(
    r"^\s{0,3}[#＃]{1,4}\s*(constraints|system prompt|new instructions?)\s*[:：]?\s*$"
    r"|^[^\S\n]{0,8}-?[^\S\n]{0,8}\[c[-‐‑–]\d{4,}\]\s",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading or a line as our rendering of a state writes them."""

_ROLE = lazy_pattern(
    r"^[\s>*_\"'\-]{0,8}(system|developer|assistant|システム)( (prompt|message|プロンプト))?"
    r"[\s*_]{0,4}[:：]\s*\S",
    re.IGNORECASE | re.MULTILINE,
)
_SCHEMA_KEY = lazy_pattern(
    r"[\"'](episodic_trace|semantic_gist|focal_entities|relational_map|goal_orientation|constraints"
    r"|predictive_cue|uncertainty_signal|retrieved_artifacts|final_answer|bullet_ids|bullet_tags"
    r"|operations|decisions|qualified|verdicts|superseded_by|artifact_id)[\"']\s*[:：]"
)
_SCHEMA_KEYS = 2
"""So many different keys of our schemas make a text an imitation of one."""


def impersonates(text: str, kind: ArtifactKind) -> str | None:
    """What a text imitates, in a few words, or None.

    A turn is this user's own exchange: it names speakers and cites constraints by right, so only
    a forged delimiter counts there.
    """
    text = skeleton(text)
    if _DELIMITER.search(text):
        return "prompt delimiter"
    if kind is ArtifactKind.TURN:
        return None
    if _SECTION.search(text):
        return "section of the state"
    if _ROLE.search(text):
        return "role header"
    if len({match[1] for match in _SCHEMA_KEY.finditer(text)}) >= _SCHEMA_KEYS:
        return "schema of ours"
    return None
