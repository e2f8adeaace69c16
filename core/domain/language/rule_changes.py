"""Find explicit releases and amendments of pinned rules."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.language.normal import normalise
from core.domain.language.sentences import split_sentences
from schemas.commit import ConstraintPin

_BY_ID = re.compile(r"\b(?:release|drop|lift|cancel)\b|解除|取り消|撤廃")
_ID = re.compile(r"\bc-\d{4,}\b")


class ChangeKind(StrEnum):
    """What happens to the rule."""

    RELEASE = "release"
    AMEND = "amend"


@dataclass(frozen=True)
class RuleChange:
    """One explicit change of one pinned rule, with the words that make it."""

    kind: ChangeKind
    constraint_id: str
    quote: str
    new_text: str | None


def detect_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """The explicit releases and amendments of a text, at most one for each pin."""
    known = {pin.id for pin in pins}
    found: dict[str, RuleChange] = {}
    for sentence in split_sentences(text):
        folded = normalise(sentence)
        if _BY_ID.search(folded) and not folded.endswith("?") and "not" not in folded:
            for name in _ID.findall(folded):
                if name in known:
                    found.setdefault(
                        name, RuleChange(ChangeKind.RELEASE, name, sentence, new_text=None)
                    )
    return list(found.values())


def unmatched_release(text: str, pins: Sequence[ConstraintPin]) -> str | None:
    """The sentence that asks for a release but names no single pin; None when there is none."""
    if detect_changes(text, pins):
        return None
    sentences = split_sentences(text)
    return next((s for s in sentences if _BY_ID.search(normalise(s))), None)
