"""Put placeholders in the place of others' prose; typed values and the user's own words stay.

Visible are the user's own words, feedback, names of tools, numbers, dates, codes and statuses of
calls and results, and what repeats visible words.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import Interaction, ToolCall, ToolResult, TurnInput
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.rules.corrections import without_correction
from acc_ace.core.text.rules.own_words import by_speaker
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.turn.turn_record import TurnOutcome

_AMOUNT = lazy_pattern(
    r"[-+±]?\s?[$€£¥]?\s?\d[\d\s.,:/+\-TZ]{0,39}(?:\s?(?:[%‰°$€£¥円]|[A-Za-zµ°/]{1,4}))?"
)
"""A number, date, time or version, with a unit."""
_CODE = lazy_pattern(
    r"(?=\S{2,32}$)(?=\D*\d)(?!(?:.*[A-Za-z]{3}.*\b|.*[A-Za-z]{3}.*_)[A-Za-z]{3})"
    r"[A-Za-z0-9]+(?:[-_.:/@#][A-Za-z0-9]+){0,3}|[A-Z]{2,12}(?:_[A-Z]{2,12})?"
)
_QUOTED_WORD = lazy_pattern(r"\W?[\x21-\x7e]{1,32}\W?")
_ERROR = lazy_pattern(r"\b(?:[A-Z][a-z]+){1,3}(?:Error|Exception)\b|\b[45]\d\d\b")
_WORD = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+|[^\x00-\x7f]")
_STATUS: Final = frozenset(
    (
        *("ok", "yes", "no", "none", "null", "true", "false", "done", "open", "closed", "empty"),
        *("error", "failed", "failure", "success", "succeeded", "pending", "running", "active"),
        *("成功", "失敗", "完了", "正常", "異常", "なし"),
    )
)
_NAME_WORDS = 2
_NAME_CHARS = 24


def has_foreign_text(
    key: SessionKey, x_t: TurnInput, artifacts: Sequence[Artifact], last: Interaction | None
) -> bool:
    """Whether words of others came into a turn: with x_t, from memory, or by the last one's tools.

    The session's own turns are not looked at: what came into them is known of their states. Nor is
    what the user said of themself.
    """
    others = (each for each in artifacts if not each.authority.may_rule)
    if any(a.kind is not ArtifactKind.TURN or a.session != key.session for a in others):
        return True
    veil = Veil(None)
    veil.words(x_t)
    if last is not None:
        veil.results(last.tool_calls, last.tool_results)
    return veil.hides or bool(x_t.attachments)


def _own_words(x_t: TurnInput) -> str:
    part = by_speaker(without_correction(x_t.text))
    return part.own if x_t.authority.may_rule else ""


class Veil:
    """Puts placeholders in the place of others' prose, and notes whether it has put any."""

    def __init__(self, outcome: TurnOutcome | None, *, is_lifted: bool = False) -> None:
        self.is_lifted, self.hides = is_lifted, False
        self._vouched, self._known = False, ""
        if outcome is not None:
            self._vouched = any(item.ground_truth for item in outcome.feedback)
            told = [text for f in outcome.feedback for text in (f.ground_truth, f.comment) if text]
            own = _own_words(outcome.turn_input)
            self._known = "\n".join([own, *told]).casefold()

    def words(self, x_t: TurnInput) -> str:
        """The input, its speaker's own words as they are."""
        if self.is_lifted:
            return x_t.text
        if not x_t.authority.may_rule:
            return str(self._parsed(x_t.text, f"the {x_t.authority.value}"))
        part = by_speaker(without_correction(x_t.text))
        text = x_t.text
        if part.foreign.strip():
            own = (part.own, part.quoted)
            text = "\n".join([*filter(str.strip, own), self._placeholder(part.foreign, "others")])
        # A ground truth vouches for what the question quotes.
        for quoted in () if self._vouched else part.quoted.splitlines():
            if _QUOTED_WORD.fullmatch(quoted) is None:
                text = text.replace(quoted, self.text(quoted, "a quotation"))
        return text

    def text(self, text: str, of: str) -> str:
        """A text, if it is a typed value or repeats visible words, else its placeholder."""
        if self.is_lifted or _is_typed(text) or text.casefold() in self._known:
            return text
        return self._placeholder(text, of)

    def results(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult]
    ) -> list[dict[str, object]]:
        """Each result with the arguments of its call."""
        args = {call.id: call.args for call in calls}
        return [
            {
                "tool_call_id": result.tool_call_id,
                "name": result.name,
                "args": self._value(args.get(result.tool_call_id, {}), "an argument", names=True),
                "result": self._result(result),
                "is_error": result.is_error,
            }
            for result in results
        ]

    def _result(self, result: ToolResult) -> str:
        if not result.is_error:
            return self._parsed(result.result, "a tool result")
        codes = " ".join(dict.fromkeys(_ERROR.findall(result.result)))
        return self._parsed(result.result, f"an error {codes}".strip())

    def _parsed(self, text: str, of: str) -> str:
        """A text, structured ones value by value."""
        if self.is_lifted:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text, of)
        return json.dumps(self._value(value, of), ensure_ascii=False)

    def _value(self, value: object, of: str, *, names: bool = False) -> object:
        if isinstance(value, str):
            return self.text(value, of)
        if isinstance(value, list):
            return [self._value(item, of, names=names) for item in value]
        if isinstance(value, dict):
            return {
                key if names or _is_name(key) else f"[name {at}]": self._value(item, of)
                for at, (key, item) in enumerate(value.items(), 1)
            }
        return value

    def _placeholder(self, text: str, of: str) -> str:
        if not text.strip():
            return text
        self.hides = True
        return f"[text of {of}, {estimate_tokens(text)} tokens]"


def _is_typed(text: str) -> bool:
    """Whether a text is a value rather than prose."""
    plain = text.strip().strip("\"'“”「」『』")
    return (
        not plain
        or plain.casefold() in _STATUS
        or any(form.fullmatch(plain) for form in (_AMOUNT, _CODE, _ERROR))
    )


def _is_name(key: str) -> bool:
    """Whether the key of a result is a name: few words are no sentence."""
    return (
        len(key) <= _NAME_CHARS
        and not re.search(r"\s", key)
        and len(_WORD.findall(key)) <= _NAME_WORDS
    )
