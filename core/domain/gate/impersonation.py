"""Find recalled text that poses as part of our prompts, as a role or as one of our schemas."""

import re

from schemas.artifact import ArtifactKind

_BLOCK_MARK = re.compile(
    r"[<＜]\s*[/／]?\s*(artifact|input|state|ccs|system|assistant|tool_call|tool_result|function_call"
    r"|instructions?)\b[^<>\n]{0,200}[>＞]"
    r"|[<＜][|｜]\s*(im_start|im_end|system|user|assistant|endoftext|eot_id)\b"
    r"|\[/?INST\]|<<SYS>>",
    re.IGNORECASE,
)
"""Tags of our prompts and chat templates of models."""

_SECTION = re.compile(
    r"^\s{0,3}[#＃]{1,4}\s*(constraints|system prompt|system|new instructions?)\s*:?\s*$"
    r"|^\s*-?\s*\[c-\d{4,}\]\s",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading or a line that only our rendering of a state writes."""

_SYSTEM_HEADER = re.compile(
    r"^[\s>*_\"'\-]{0,8}(system|developer|システム)( (prompt|message|プロンプト))?[\s*_]{0,4}[:：]\s*\S",
    re.IGNORECASE | re.MULTILINE,
)
_SPEAKER_HEADER = re.compile(
    r"^[\s>*_\"'\-]{0,8}(assistant|user|human|model|tool)[\s*_]{0,4}[:：]\s*\S",
    re.IGNORECASE | re.MULTILINE,
)
_SCHEMA_KEY = re.compile(
    r"[\"'](episodic_trace|semantic_gist|focal_entities|relational_map|goal_orientation|constraints"
    r"|predictive_cue|uncertainty_signal|retrieved_artifacts|final_answer|bullet_ids|bullet_tags"
    r"|operations|decisions|qualified|verdicts|superseded_by|artifact_id)[\"']\s*[:：]"
)
_SCHEMA_KEYS = 2
"""So many different keys of our schemas make a text an imitation of one."""


def impersonates(text: str, kind: ArtifactKind) -> str | None:
    """What a text imitates, in a few words, or None.

    A turn or note may quote who said what ('user:', 'assistant:'); nothing else may.
    """
    for pattern, name in ((_BLOCK_MARK, "prompt delimiter"), (_SECTION, "section of the state")):
        if pattern.search(text):
            return name
    if _SYSTEM_HEADER.search(text):
        return "system role header"
    if kind not in _MAY_QUOTE_SPEAKERS and len(_SPEAKER_HEADER.findall(text)) > 0:
        return "role header"
    if len({match[1] for match in _SCHEMA_KEY.finditer(text)}) >= _SCHEMA_KEYS:
        return "one of our schemas"
    return None


_MAY_QUOTE_SPEAKERS = frozenset({ArtifactKind.TURN, ArtifactKind.NOTE})
