"""Of a session with any rewinds, a part that we hand out is to ADK what it is in the whole."""

from google.adk.events import Event, EventActions
from google.adk.events._rewind_events import _apply_rewinds
from hypothesis import example, given
from hypothesis import strategies as st

from core.adapters.live_events import live_events, loadable_events

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


def ids(events: list[Event]) -> list[str]:
    return [event.id for event in events]


@given(STEPS)
def test_what_is_live_of_a_whole_session_is_what_adk_leaves(steps: list[tuple[str, int]]) -> None:
    events = session_of(steps)
    assert ids(live_events(events)) == ids(_apply_rewinds(events))
    assert ids(loadable_events(events)) == ids(events)


@given(STEPS, st.integers(0, 8))
@example([("new", 0), ("new", 0), ("old", 1), ("rewind", 2)], 1)
def test_adk_leaves_of_a_part_what_it_leaves_of_it_in_the_whole(
    steps: list[tuple[str, int]], begin: int
) -> None:
    events = session_of(steps)
    part, cut = events[begin:], {event.invocation_id for event in events[:begin]}
    live = {event.id for event in _apply_rewinds(events)}
    loaded = loadable_events(part, cut=cut)
    assert ids(_apply_rewinds(loaded)) == [e.id for e in part if e.id in live]


@given(STEPS, st.integers(0, 8))
def test_adk_finds_the_turn_of_each_rewind_that_it_looks_at(
    steps: list[tuple[str, int]], begin: int
) -> None:
    events = session_of(steps)
    loaded = loadable_events(events[begin:], cut={e.invocation_id for e in events[:begin]})
    place = len(loaded) - 1
    while place >= 0:
        if before := loaded[place].actions.rewind_before_invocation_id:
            begun = [event.invocation_id for event in loaded[:place]]
            assert before in begun
            place = begun.index(before)
        place -= 1
