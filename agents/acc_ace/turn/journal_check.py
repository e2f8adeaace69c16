"""Check that a journal kept every promise of the commit gate, from its entries alone.

What holds for any session, whatever models said and whichever process wrote: versions follow each
other, no turn was committed twice, what went back went back to a state that was, no constraint
left without a release, none was reworded, no id was given twice, and the diffs tell the truth.
"""

from collections.abc import Iterator, Sequence

from acc_ace.gates.ccs_diff import diff_states
from acc_ace.schemas.commit import CommitKind, CommittedState, JournalEntry

_FORWARD = (CommitKind.COMMIT, CommitKind.KEPT)


def journal_problems(entries: Sequence[JournalEntry]) -> list[str]:
    """What is wrong with a whole journal, oldest entry first; empty when all is well."""
    problems = [*_doubled(entries), *_reused_ids(entries)]
    earlier = [CommittedState()]
    for entry in entries:
        problems += [f"version {entry.state.version}: {text}" for text in _broken(entry, earlier)]
        earlier.append(entry.state)
    return problems


def _broken(entry: JournalEntry, earlier: Sequence[CommittedState]) -> Iterator[str]:
    """Broken promises of one entry; `earlier` are the states before it, CCS_0 first."""
    previous, state = earlier[-1], entry.state
    if state.version != previous.version + 1:
        yield f"follows version {previous.version}"
    if state.next_pin < previous.next_pin:
        yield "gives constraint ids a second time"
    if state.ccs.constraints != [pin.text for pin in state.pins]:
        yield "its constraints are not those of its pins"
    if entry.diff.changes != diff_states(previous, state).changes:
        yield "its diff is not what changed"
    if entry.kind in _FORWARD:
        if state.turn != previous.turn + 1:
            yield f"turn {state.turn} follows turn {previous.turn}"
        yield from _lost_constraints(entry, previous)
    elif not any(_same_content(state, other) for other in earlier):
        yield "goes back to a state that never was"


def _lost_constraints(entry: JournalEntry, previous: CommittedState) -> Iterator[str]:
    kept = {pin.id: pin for pin in entry.state.pins}
    released = {release.id for release in entry.diff.constraints_released}
    for pin in previous.pins:
        if pin.id in released:
            if pin.id in kept:
                yield f"constraint {pin.id} was released and is still there"
        elif pin.id not in kept:
            yield f"constraint {pin.id} left without a release"
        elif kept[pin.id] != pin:
            yield f"constraint {pin.id} was altered"


def _doubled(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Turns that were committed more than once."""
    seen: set[str] = set()
    for entry in entries:
        if entry.kind not in _FORWARD or not entry.invocation_id:
            continue
        if entry.invocation_id in seen:
            yield f"version {entry.state.version}: its turn was committed before"
        seen.add(entry.invocation_id)


def _reused_ids(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Constraint ids that mean one rule here and another one there."""
    texts: dict[str, str] = {}
    for entry in entries:
        for pin in entry.state.pins:
            if texts.setdefault(pin.id, pin.text) != pin.text:
                yield f"version {entry.state.version}: constraint {pin.id} was another rule before"


def _same_content(state: CommittedState, other: CommittedState) -> bool:
    return (state.ccs, state.pins, state.goal_pin, state.turn) == (
        other.ccs,
        other.pins,
        other.goal_pin,
        other.turn,
    )
