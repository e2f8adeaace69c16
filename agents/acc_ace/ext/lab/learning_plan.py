"""The plan of an offline run: the held-out split, sample order, scoring, and best version.

Each question is answered from the playbook alone and scored against its ground truth: numbers
by value, lists item by item.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.bullet import clean_id
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.input_checks import take_input
from acc_ace.core.text.prompt import Prompt
from acc_ace.errors import InputTooLargeError
from acc_ace.ext.lab.run_state import HeldoutScore, RunOptions, Sample
from acc_ace.memory.long_input import is_long
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    input_value,
    parser,
    state_value,
    structured_call,
)

LEAST_ANSWERED = 0.9
"""Share of the held-out samples that must be answered for a score to count."""


class Split(NamedTuple):
    """Training samples, and held-out samples used only for scoring."""

    train: tuple[Sample, ...]
    heldout: tuple[Sample, ...]


def split(samples: Sequence[Sample], options: RunOptions) -> Split:
    """Split the samples by the seed; at least one is for training.

    Samples of the same text stay on one side, to keep training data out of the test.
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
    """The sample order of an epoch (from 0), determined by the seed."""
    positions = list(range(count))
    random.Random(f"{options.seed}:{epoch}").shuffle(positions)  # noqa: S311 (an order, no secret)
    return positions


def run_name(samples: Sequence[Sample], options: RunOptions) -> str:
    """A run's name: 12 hexadecimal digits, hashed from its options and samples."""
    text = json.dumps(
        [options.model_dump(mode="json"), [[s.text, s.target] for s in samples]],
        ensure_ascii=False,
        sort_keys=True,
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def best(scores: Sequence[HeldoutScore]) -> HeldoutScore | None:
    """The best version; the oldest on a tie, so nothing changes without a gain.

    None when any score is invalid: no held-out samples, or too many unanswered.
    """
    if not scores or any(not _counts(score) for score in scores):
        return None
    return max(scores, key=lambda score: (score.score, -score.epoch))


def _counts(score: HeldoutScore) -> bool:
    return score.samples > 0 and score.answered >= LEAST_ANSWERED * score.samples


ALONE = CommittedState(turn=2)
"""The state of a standalone question; turn 2, so that the model does not greet a new user."""


async def predict(
    text: str, playbook: Playbook, *, completion: Completion, prompt: Prompt, limits: Limits
) -> StructuredResult[GeneratorOutput]:
    """The Generator's answer; the value is None when the model failed.

    Unknown bullet ids in the answer are dropped. At most `1 + limits.repairs` model
    calls. Raises InputTooLargeError for a text beyond its budget, InputError for a blank one.
    """
    taken = take_input(text, Authority.USER, limits)
    if is_long(text, limits.input_tokens):
        raise InputTooLargeError(
            f"the question is over {limits.input_tokens:,} tokens; shorten it, or raise "
            "ACC_ACE_LIMITS__INPUT_TOKENS"
        )
    shown = select_bullets(playbook, taken.text, max_tokens=limits.playbook_prompt_tokens)
    inputs = {
        "playbook": playbook.as_prompt(shown),
        "state": state_value(ALONE),
        "warnings": [],
        "current_input": input_value(taken),
    }
    with_input = replace(prompt, inputs=(*prompt.inputs, "current_input"))
    result = await structured_call(
        completion, with_input, inputs, parser(GeneratorOutput), repairs=limits.repairs
    )
    if result.value is None:
        return result
    known = {bullet.id for bullet in shown}
    used = [name for name in dict.fromkeys(map(clean_id, result.value.bullet_ids)) if name in known]
    return replace(result, value=result.value.model_copy(update={"bullet_ids": used}))
