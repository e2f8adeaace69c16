"""Of a session with any rewinds, those that count take back what ADK leaves out."""

from itertools import pairwise

from google.adk.events import Event, EventActions
from google.adk.events._rewind_events import _apply_rewinds
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.rewinds import Rewind, counting

# What happens next in a session: words of the turn so many back, or a rewind to it.
STEPS = st.lists(
    st.tuples(st.sampled_from(["new", "old", "rewind"]), st.integers(0, 6)), max_size=12
)


def session_of(steps: list[tuple[str, int]]) -> list[Event]:
    events: list[Event] = []
    for number, (kind, back) in enumerate(steps):
        turn, actions = f"t{number}", EventActions()
        if events and kind != "new":
            named = events[max(len(events) - 1 - back, 0)].invocation_id
            if kind == "old":
                turn = named
            else:
                actions = EventActions(rewind_before_invocation_id=named)
        events.append(Event(id=f"e{number}", invocation_id=turn, author="user", actions=actions))
    return events


def rewinds_of(events: list[Event]) -> list[Rewind]:
    turns = [event.invocation_id for event in events]
    named = [(event.actions.rewind_before_invocation_id, at) for at, event in enumerate(events)]
    return [Rewind((0.0, turns.index(turn)), (0.0, at)) for turn, at in named if turn]


@given(STEPS)
def test_what_no_rewind_that_counts_took_back_is_what_adk_leaves(
    steps: list[tuple[str, int]],
) -> None:
    events = session_of(steps)
    found = counting(rewinds_of(events))
    live = [
        event.id
        for at, event in enumerate(events)
        if not any(rewind.since <= (0.0, at) < rewind.until for rewind in found)
        and not event.actions.rewind_before_invocation_id
    ]
    assert live == [event.id for event in _apply_rewinds(events)]


@given(STEPS)
def test_rewinds_that_count_do_not_overlap(steps: list[tuple[str, int]]) -> None:
    found = sorted(counting(rewinds_of(session_of(steps))))
    assert all(one.until < next_.since for one, next_ in pairwise(found))
