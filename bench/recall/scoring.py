"""The recall benchmark: evidence recall at k, as a table."""

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.memory.artifact_store import Embedder
from bench.recall.contenders import Contender, contenders
from bench.recall.corpus import ADVERSARIAL, Corpus, Question, read_corpora

DEPTHS = (5, 10, 20)
ALL = "all"
"""All questions except the adversarial ones, which are listed separately."""


class Row(BaseModel):
    """Mean share of the evidence found, by depth, for one category of questions."""

    model_config = ConfigDict(frozen=True)

    contender: str
    category: str
    questions: int
    recall: dict[int, float]


class Timing(BaseModel):
    """One contender's milliseconds per query, and seconds to store everything."""

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
            began = time.perf_counter()
            ids = await contender.find(corpus, question.text, max(DEPTHS))
            times.append((time.perf_counter() - began) * 1_000)
            share = evidence_share(question, ids)
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


def evidence_share(question: Question, ids: Sequence[str]) -> dict[int, float]:
    """The share of a question's evidence among the first of `found`, by depth."""
    return {
        depth: len(question.evidence.intersection(ids[:depth])) / len(question.evidence)
        for depth in DEPTHS
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The percentile at `share`, 0 to 1; 0 for no values."""
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


async def bench_recall(
    data: Path,
    *,
    limit: int | None = None,
    weights: RecallWeights | None = None,
    embedder: Embedder | None = None,
) -> list[Score]:
    """Score every contender on a data file, ours first, with at most `limit` questions per corpus.

    With an embedder our store is measured twice: lexical, and hybrid. Raises InputError when the
    file cannot be read, EmbedderError when the embedder fails.
    """
    corpora = read_corpora(data, limit=limit)
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        async with contenders(Path(folder), weights or RecallWeights(), embedder) as measured:
            return [await score(contender, corpora) for contender in measured]


def table(scores: Sequence[Score]) -> str:
    """The scores as a text table, one line per category and contender."""
    lines = [_line("category", "contender", "n", *(f"recall@{depth}" for depth in DEPTHS))]
    for category in dict.fromkeys(row.category for score in scores for row in score.rows):
        for score in scores:
            for row in score.rows:
                if row.category == category:
                    values = (f"{row.recall[depth]:.3f}" for depth in DEPTHS)
                    lines.append(_line(category, row.contender, str(row.questions), *values))
    lines += ["", _line("", "contender", "", "p50 ms", "p95 ms", "store s")]
    for score in scores:
        timing = score.timing
        took = (f"{timing.p50_ms:.2f}", f"{timing.p95_ms:.2f}", f"{timing.store_s:.2f}")
        lines.append(_line("", timing.contender, "", *took))
    return "\n".join(line.rstrip() for line in lines)


def _line(category: str, contender: str, count: str, *values: str) -> str:
    return f"{category:12} {contender:22} {count:>5} " + " ".join(f"{v:>10}" for v in values)
