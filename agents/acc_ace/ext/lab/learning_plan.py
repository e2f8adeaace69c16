"""The plan of a run: the split, sample order, scoring, and best version.

Each question is answered from the playbook alone and scored against its ground truth: numbers
by value, lists item by item.
"""

import hashlib
import json
import math
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
    """Training samples, held-out samples that choose a version, and those of the test set."""

    train: tuple[Sample, ...]
    heldout: tuple[Sample, ...]
    apart: tuple[Sample, ...] = ()
    """The test set; in an online run, what it answers and learns from in order."""


def split(samples: Sequence[Sample], options: RunOptions, apart: Sequence[Sample] = ()) -> Split:
    """Split the samples by the seed; at least one is for training.

    Samples of the same text stay on one side, to keep training data out of the test. The held-out
    ones do not depend on the size of the test set. `apart` are samples set apart from the start.
    """
    texts = list(dict.fromkeys(sample.text for sample in samples))
    random.Random(f"split:{options.seed}").shuffle(texts)  # noqa: S311 (a split, no secret)
    heldout = _count(len(texts), options.heldout, room=len(texts) - 1)
    test = heldout + _count(len(texts), options.test, room=len(texts) - heldout - 1)
    place = {text: at for at, text in enumerate(texts)}
    return Split(
        tuple(sample for sample in samples if place[sample.text] >= test),
        tuple(sample for sample in samples if place[sample.text] < heldout),
        (*(sample for sample in samples if heldout <= place[sample.text] < test), *apart),
    )


def _count(texts: int, share: float, *, room: int) -> int:
    """The texts of a share: one at least, if there is room."""
    return max(0, min(max(round(texts * share), 1), room)) if share else 0


def order(count: int, options: RunOptions, epoch: int) -> list[int]:
    """The sample order of an epoch (from 0), determined by the seed."""
    positions = list(range(count))
    random.Random(f"{options.seed}:{epoch}").shuffle(positions)  # noqa: S311 (an order, no secret)
    return positions


def run_name(samples: Sequence[Sample], options: RunOptions, apart: Sequence[Sample] = ()) -> str:
    """A run's name: 12 hexadecimal digits, hashed from its options and samples."""
    sets = [[[s.text, s.target] for s in each] for each in (samples, apart)]
    text = json.dumps(
        [options.model_dump(mode="json"), *(sets if apart else sets[:1])],
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


def chosen(scores: Sequence[HeldoutScore]) -> HeldoutScore:
    """The best version; the last one where held-out samples choose none."""
    return best(scores) or scores[-1]


def wilson(right: int, samples: int) -> tuple[float, float]:
    """The 95 % interval of a share that was counted, of one sample or more (Wilson 1927)."""
    share, z2 = right / samples, _Z * _Z / samples
    centre, scale = share + z2 / 2, 1 + z2
    reach = math.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


_Z = 1.959964
"""Of the normal distribution, 95 % lie within so many standard deviations."""


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
