"""Whether a journal keeps the commit gate's invariants, verified from its entries alone."""

from collections.abc import Iterator, Sequence

from acc_ace.core.schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry

_FORWARD = (CommitKind.COMMIT, CommitKind.KEPT)


def journal_problems(entries: Sequence[JournalEntry]) -> list[str]:
    """Problems of a whole journal, oldest entry first; empty if it is consistent."""
    problems = [*_repeated_turns(entries), *_reused_ids(entries)]
    earlier = [CommittedState()]
    for entry in entries:
        problems += [f"version {entry.state.version}: {text}" for text in _broken(entry, earlier)]
        earlier.append(entry.state)
    return problems


def _broken(entry: JournalEntry, earlier: Sequence[CommittedState]) -> Iterator[str]:
    """Violated invariants of one entry; `earlier` are the states before it, CCS_0 first."""
    previous, state = earlier[-1], entry.state
    if state.version != previous.version + 1:
        yield f"follows version {previous.version}"
    if state.next_pin < previous.next_pin:
        yield "gives constraint ids a second time"
    if state.ccs.constraints != [pin.text for pin in state.pins]:
        yield "its constraints are not those of its pins"
    if entry.diff.changes != CcsDiff.between(previous, state).changes:
        yield "its diff is not what changed"
    if entry.kind in _FORWARD:
        if state.turn != previous.turn + 1:
            yield f"turn {state.turn} follows turn {previous.turn}"
        yield from _lost_constraints(entry, previous)
    elif entry.kind in {CommitKind.RULES, CommitKind.EDIT}:
        yield from _lost_constraints(entry, previous)
    elif not any(_same_content(state, other) for other in earlier):
        yield "restores a state that never existed"


def _lost_constraints(entry: JournalEntry, previous: CommittedState) -> Iterator[str]:
    kept = {pin.id: pin for pin in entry.state.pins}
    released = {release.id for release in entry.diff.constraints_released}
    for pin in previous.pins:
        if pin.id in released:
            if pin.id in kept:
                yield f"constraint {pin.id} was released and is still there"
        elif pin.id not in kept:
            yield f"constraint {pin.id} left without a release"
        elif kept[pin.id].text != pin.text:
            yield f"constraint {pin.id} was altered"


def _repeated_turns(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Turns that were committed more than once."""
    seen: set[str] = set()
    for entry in entries:
        if entry.kind not in _FORWARD or not entry.invocation_id:
            continue
        if entry.invocation_id in seen:
            yield f"version {entry.state.version}: its turn was committed before"
        seen.add(entry.invocation_id)


def _reused_ids(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Constraint ids that were used for different rules."""
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
