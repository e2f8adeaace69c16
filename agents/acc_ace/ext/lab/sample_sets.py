"""The sets of samples that the options of `acc-ace learn` name."""

from pathlib import Path
from typing import Final, NamedTuple

from acc_ace.errors import InputError
from acc_ace.ext.lab.offline_run import read_samples
from acc_ace.ext.lab.run_state import Sample

TEST: Final = 0.2
"""Share of the test set, unless one is named."""

_MOST: Final = 0.9
"""Share that may be kept from learning, held-out and test samples together."""


class SampleSets(NamedTuple):
    """What a run learns from offline, what is apart from it, and the share to set apart of it."""

    samples: list[Sample]
    apart: list[Sample]
    test: float


def online_sets(stream: list[Sample], test: str | None, warm_up: Path | None) -> SampleSets:
    """What is answered in order, and what warms up for it. Raises InputError."""
    if test is not None:
        raise InputError("--online scores each sample before it learns from it; leave out --test")
    return SampleSets(_named("--warm-up", warm_up) if warm_up else [], stream, 0.0)


def offline_sets(samples: list[Sample], test: str | None, heldout: float) -> SampleSets:
    """The samples, and a test set: a file or a share of them. Raises InputError."""
    most = max(0.0, round(_MOST - heldout, 6))
    if test is None:
        # Without held-out samples nothing is scored unasked.
        return SampleSets(samples, [], min(TEST, most) if heldout else 0.0)
    try:
        share = float(test)
    except ValueError:
        return SampleSets(samples, _named("--test", Path(test)), 0.0)
    if not 0 <= share <= most:
        raise InputError(
            f"--test must be a file, or a share from 0 to {most:g} beside --heldout {heldout:g}; "
            f"got {test!r:.40}"
        )
    return SampleSets(samples, [], share)


def _named(option: str, path: Path) -> list[Sample]:
    try:
        return read_samples(path)
    except InputError as error:
        raise InputError(f"{option}: {error}") from error
