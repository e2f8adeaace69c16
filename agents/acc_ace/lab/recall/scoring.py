"""Count how much of the evidence is among the first k."""

import math
import time
from collections import defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from acc_ace.lab.recall.contenders import Contender
from acc_ace.lab.recall.corpus import Corpus, Question
from acc_ace.lab.recall.locomo import ADVERSARIAL

DEPTHS = (5, 10, 20)
ALL = "all"
"""Every question but the adversarial ones, which stand apart."""


class Row(BaseModel):
    """The mean share of the evidence found, at each depth, for one category of questions."""

    model_config = ConfigDict(frozen=True)

    contender: str
    category: str
    questions: int
    recall: dict[int, float]


class Timing(BaseModel):
    """What one contender took: milliseconds per query, and seconds to store everything."""

    model_config = ConfigDict(frozen=True)

    contender: str
    p50_ms: float
    p95_ms: float
    store_s: float


class Score(BaseModel):
    """One contender's rows, 'all' first, and its timing."""

    model_config = ConfigDict(frozen=True)

    rows: list[Row]
    timing: Timing


async def score(contender: Contender, corpora: Sequence[Corpus]) -> Score:
    """Store every corpus, then ask every question."""
    started = time.perf_counter()
    for corpus in corpora:
        await contender.learn(corpus)
    store_s = time.perf_counter() - started
    shares: dict[str, list[dict[int, float]]] = defaultdict(list)
    times: list[float] = []
    for corpus in corpora:
        for question in corpus.questions:
            asked = time.perf_counter()
            found = await contender.find(corpus, question.text, max(DEPTHS))
            times.append((time.perf_counter() - asked) * 1_000)
            share = evidence_share(question, found)
            shares[question.category].append(share)
            if question.category != ADVERSARIAL:
                shares[ALL].append(share)
    timing = Timing(
        contender=contender.name,
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        store_s=round(store_s, 3),
    )
    return Score(rows=_rows(contender.name, shares), timing=timing)


def evidence_share(question: Question, found: Sequence[str]) -> dict[int, float]:
    """The share of a question's evidence among the first of `found`, by depth."""
    return {
        depth: len(question.evidence.intersection(found[:depth])) / len(question.evidence)
        for depth in DEPTHS
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed; 0 for none."""
    ordered = sorted(values)
    return round(ordered[math.ceil(share * len(ordered)) - 1], 2) if ordered else 0.0


def _rows(name: str, shares: dict[str, list[dict[int, float]]]) -> list[Row]:
    order = sorted(
        shares, key=lambda category: (category != ALL, category == ADVERSARIAL, category)
    )
    return [
        Row(
            contender=name,
            category=category,
            questions=len(shares[category]),
            recall={
                depth: round(
                    sum(share[depth] for share in shares[category]) / len(shares[category]), 3
                )
                for depth in DEPTHS
            },
        )
        for category in order
    ]
