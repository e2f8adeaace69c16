"""Choose the bullets that go into a prompt.

A playbook that fits goes in whole and in order, so that prompts share their prefix and caches
work. One that does not is ranked: relevance to the text times how the bullet did so far. How it
did is the lower end of what its counters allow (helpful against harmful, Beta(1, 1) prior, one
standard deviation down), plus a bonus that fades with use, so that new lessons get their try and
harmful ones sink.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from core.domain.tokens import estimate_tokens
from schemas.bullet import Bullet, prompt_line
from schemas.playbook import Playbook

EXPLORATION = 0.25
"""Bonus of a bullet that was never used."""

BASE_RELEVANCE = 0.1
"""Relevance of a bullet that shares no word with the text, on a scale to 1."""

QUERY_CHARACTERS = 20_000
"""The part of the text that is read; the beginning says what it is about."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_RUN = re.compile(rf"[{_CJK}ー]+|[^\W_{_CJK}]+")


def select_bullets(playbook: Playbook, text: str, *, max_tokens: int) -> tuple[Bullet, ...]:
    """The bullets for a prompt about `text`, in playbook order, within `max_tokens`.

    The budget is that of `playbook.as_prompt(selected)`, headings included. The same arguments
    always give the same bullets.
    """
    costs = [estimate_tokens(prompt_line(bullet)) for bullet in playbook.bullets]
    headings = {
        section: estimate_tokens(f"## {section}")
        for section in {bullet.section for bullet in playbook.bullets}
    }
    if sum(costs) + sum(headings.values()) <= max_tokens:
        return playbook.bullets
    ranked = _ranked(playbook.bullets, text)
    chosen = _fill(playbook.bullets, ranked, costs, headings, max_tokens)
    return tuple(playbook.bullets[position] for position in sorted(chosen))


def confidence(bullet: Bullet) -> float:
    """How well a bullet did, 0 to 1: the lower bound of its success plus a bonus for novelty."""
    judged = bullet.helpful + bullet.harmful + 2
    mean = (bullet.helpful + 1) / judged
    spread = math.sqrt(mean * (1 - mean) / (judged + 1))
    used = bullet.helpful + bullet.harmful + bullet.neutral
    return min(1.0, mean - spread + EXPLORATION / math.sqrt(1 + used))


def _ranked(bullets: Sequence[Bullet], text: str) -> list[int]:
    """Positions of the bullets, best first; the older one on a tie."""
    relevance = _relevance(bullets, text)
    scores = [
        (BASE_RELEVANCE + (1 - BASE_RELEVANCE) * relevant) * confidence(bullet)
        for relevant, bullet in zip(relevance, bullets, strict=True)
    ]
    return sorted(range(len(bullets)), key=lambda position: (-scores[position], position))


def _fill(
    bullets: Sequence[Bullet],
    ranked: Iterable[int],
    costs: Sequence[int],
    headings: dict[str, int],
    max_tokens: int,
) -> list[int]:
    """Take bullets by rank while they fit; a smaller one may follow one that is too large."""
    left = max_tokens
    opened: set[str] = set()
    chosen: list[int] = []
    for position in ranked:
        section = bullets[position].section
        cost = costs[position] + (0 if section in opened else headings[section])
        if cost <= left:
            left -= cost
            opened.add(section)
            chosen.append(position)
    return chosen


def _relevance(bullets: Sequence[Bullet], text: str) -> list[float]:
    """For each bullet, shared terms weighted by rarity, relative to the best one; 0 to 1."""
    wanted = _terms(text[:QUERY_CHARACTERS])
    shared = [wanted & _terms(f"{bullet.section} {bullet.content}") for bullet in bullets]
    frequency = Counter(term for terms in shared for term in terms)
    weight = {term: math.log1p(len(bullets) / count) for term, count in frequency.items()}
    # fsum is exact, so the order in which a set iterates does not show.
    raw = [math.fsum(weight[term] for term in terms) for terms in shared]
    best = max(raw, default=0.0)
    return [value / best if best else 0.0 for value in raw]


def _terms(text: str) -> set[str]:
    """Lower-cased words without a plural s, and pairs of neighbouring CJK characters."""
    terms: set[str] = set()
    for run in _RUN.findall(text.casefold()):
        if re.match(rf"[{_CJK}]", run):
            terms.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif len(run) > 2 or run.isdigit():
            terms.add(run.removesuffix("s") if len(run) > 3 else run)
    return terms
