"""What changed from one state of a session to another, for the journal and its readers."""

from collections.abc import Sequence
from typing import Final

from acc_ace.schemas.ccs import CCS_FIELDS
from acc_ace.schemas.commit import (
    CcsDiff,
    CommittedState,
    ConstraintPin,
    FieldChange,
    Release,
    Repair,
)

MAX_REPAIRS: Final = 64
"""Repairs kept in a diff, so that junk output cannot make the journal grow without bound."""


def diff_states(
    before: CommittedState,
    after: CommittedState,
    *,
    added: Sequence[ConstraintPin] = (),
    released: Sequence[Release] = (),
    repairs: Sequence[Repair] = (),
) -> CcsDiff:
    """The typed difference of two states of a session; goals are given only if they differ."""
    changes = [
        FieldChange(field=name, before=getattr(before.ccs, name), after=getattr(after.ccs, name))
        for name in CCS_FIELDS
        if getattr(before.ccs, name) != getattr(after.ccs, name)
    ]
    goal_changed = before.ccs.goal_orientation != after.ccs.goal_orientation
    return CcsDiff(
        changes=changes,
        constraints_added=list(added),
        constraints_released=list(released),
        goal_before=before.ccs.goal_orientation if goal_changed else None,
        goal_after=after.ccs.goal_orientation if goal_changed else None,
        repairs=_bounded(repairs),
    )


def _bounded(repairs: Sequence[Repair]) -> list[Repair]:
    if len(repairs) <= MAX_REPAIRS:
        return list(repairs)
    more = len(repairs) - MAX_REPAIRS + 1
    tail = Repair(field="*", reason="more_repairs", detail=f"{more} more")
    return [*repairs[: MAX_REPAIRS - 1], tail]
