"""Find the task a speaker states."""

import re
from dataclasses import dataclass

from core.domain.language.normal import normalise
from core.domain.language.sentences import split_sentences

_STATED = re.compile(
    r"\b(?:our|my|the) (?:goal|objective|task|mission) (?:is|:)|^(?:please )?help (?:me|us)\b"
    r"|^we (?:need|have) to \w+|(?:目標|目的|ゴール)は|(?:調査|調べ|復旧)して(?:ほしい|ください)"
)
_OUTRIGHT = re.compile(
    r"\bnew goal\b|\bchange the goal\b|\blet's switch to\b|from now on the goal"
    r"|(?:目標|目的|ゴール)を.*(?:変更|変え)|新しい(?:目標|目的|ゴール)"
)


@dataclass(frozen=True)
class GoalSpan:
    """A goal as it was said; `explicit` when the words set or change the goal outright."""

    text: str
    quote: str
    explicit: bool


def detect_goal(text: str) -> GoalSpan | None:
    """The goal that a text states, explicit ones first; None when it states none."""
    stated: GoalSpan | None = None
    for sentence in split_sentences(text):
        folded = normalise(sentence)
        if folded.endswith("?"):
            continue
        if _OUTRIGHT.search(folded):
            return GoalSpan(sentence, sentence, explicit=True)
        if stated is None and _STATED.search(folded):
            stated = GoalSpan(sentence, sentence, explicit=False)
    return stated
