"""The plan of an offline run: who is held out, in which order is learnt, which version is best."""

import hashlib
import json
import random
from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.schemas.learning_job import HeldoutScore, RunOptions, Sample

LEAST_ANSWERED = 0.9
"""Share of the held-out samples that must be answered for a score to count."""


class Split(NamedTuple):
    """Samples to learn from, and samples that versions are only scored on."""

    train: tuple[Sample, ...]
    heldout: tuple[Sample, ...]


def split(samples: Sequence[Sample], options: RunOptions) -> Split:
    """Part the samples by the seed; at least one is left to learn from.

    Samples of the same text stay on one side: a question that was learnt from is no test.
    """
    texts = list(dict.fromkeys(sample.text for sample in samples))
    random.Random(f"split:{options.seed}").shuffle(texts)  # noqa: S311 (a split, no secret)
    count = min(round(len(texts) * options.heldout), len(texts) - 1)
    if options.heldout and count == 0 and len(texts) > 1:
        count = 1
    apart = set(texts[:count])
    return Split(
        tuple(sample for sample in samples if sample.text not in apart),
        tuple(sample for sample in samples if sample.text in apart),
    )


def order(count: int, options: RunOptions, epoch: int) -> list[int]:
    """In which order an epoch (from 0) takes its samples; the same for the same seed."""
    positions = list(range(count))
    random.Random(f"{options.seed}:{epoch}").shuffle(positions)  # noqa: S311 (an order, no secret)
    return positions


def run_name(samples: Sequence[Sample], options: RunOptions) -> str:
    """12 hexadecimal digits that name a run by its options and samples."""
    text = json.dumps(
        [options.model_dump(mode="json"), [[s.text, s.target] for s in samples]],
        ensure_ascii=False,
        sort_keys=True,
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def best(scores: Sequence[HeldoutScore]) -> HeldoutScore | None:
    """The version to use from now on; the oldest of equals, so nothing changes for no gain.

    None when no score counts: without held-out samples, or with too many left unanswered.
    """
    if not scores or any(not _counts(score) for score in scores):
        return None
    return max(scores, key=lambda score: (score.score, -score.epoch))


def _counts(score: HeldoutScore) -> bool:
    return score.samples > 0 and score.answered >= LEAST_ANSWERED * score.samples
