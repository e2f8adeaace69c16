"""Stand-in for core.domain.language until that package lands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from schemas.commit import ConstraintPin


class ChangeKind(StrEnum):
    """Release or amend."""

    RELEASE = "release"
    AMEND = "amend"


@dataclass(frozen=True)
class RuleChange:
    """A change."""

    kind: ChangeKind
    constraint_id: str
    quote: str
    new_text: str | None


@dataclass(frozen=True)
class RuleSpan:
    """A rule."""

    text: str
    sentence: str


@dataclass(frozen=True)
class GoalSpan:
    """A goal."""

    text: str
    quote: str
    explicit: bool


def split_sentences(text: str) -> list[str]:
    """Sentences."""
    return [
        s.strip() for s in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", text[:50_000]) if s.strip()
    ]


def split_clauses(sentence: str) -> list[str]:
    """Clauses."""
    return [sentence]


def content_words(text: str) -> frozenset[str]:
    """Words."""
    words = set(re.findall(r"[a-z0-9-]{3,}", text.casefold()))
    for run in re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]+", text):
        words |= {run[i : i + 2] for i in range(len(run) - 1)}
    return frozenset(words)


def overlap(a: str, b: str) -> float:
    """Containment."""
    x, y = content_words(a), content_words(b)
    return len(x & y) / max(1, min(len(x), len(y)))


def negated(text: str) -> bool:
    """Polarity."""
    return bool(re.search(r"\b(not|never|no|don't)\b|禁止|ない|しないで", text.casefold()))


def detect_rules(text: str) -> list[RuleSpan]:
    """Rules."""
    return [
        RuleSpan(s, s)
        for s in split_sentences(text)
        if re.search(r"\b(never|always|must not|do not|don't)\b|禁止|ないでください", s.casefold())
    ]


def detect_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """Changes."""
    return [
        RuleChange(ChangeKind.RELEASE, pin.id, s, None)
        for s in split_sentences(text)
        for pin in pins
        if re.search(rf"release {pin.id}|{pin.id} を解除", s)
    ]


def unmatched_release(text: str, pins: Sequence[ConstraintPin]) -> str | None:
    """Unmatched."""
    return None


def detect_goal(text: str) -> GoalSpan | None:
    """Goal."""
    for s in split_sentences(text):
        if re.search(r"\b(our goal is|help me|new goal)\b|目標は", s.casefold()):
            return GoalSpan(s, s, "new goal" in s.casefold())
    return None


def instruction_like(text: str) -> str | None:
    """Injection."""
    found = re.search(
        r"(ignore|disregard) (all |the )?(previous|restart)[^.]*|以前の指示を無視",
        text,
        re.IGNORECASE,
    )
    return found[0] if found else None
