"""Hiding and showing earlier turns loses and reorders nothing, whatever a session holds."""

from collections.abc import Sequence

import pytest
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.adk.plugin.model_request import Transcript
from acc_ace.errors import MemoryBypassedError

RUNS = st.lists(st.sampled_from(["before", "earlier", ""]), max_size=8)
"""Runs of earlier events; what a client seeded has none."""


def opened(events: Sequence[Event]) -> tuple[Session, Transcript]:
    """A session whose turn "now" is opened, and its transcript."""
    session = Session(id="s", app_name="a", user_id="u", events=list(events))
    ctx = InvocationContext(
        session_service=InMemorySessionService(), invocation_id="now", session=session
    )
    return session, Transcript(ctx)


def events_of(runs: Sequence[str]) -> list[Event]:
    return [Event(author="user", invocation_id=run) for run in runs]


@given(RUNS, st.integers(1, 5), st.integers(0, 3))
def test_only_this_turns_events_are_in_sight_until_all_are_shown_again(
    earlier: list[str], own: int, later: int
) -> None:
    past, mine = events_of(earlier), events_of(["now"] * own)
    session, transcript = opened([*past, *mine])
    node_input = Event(author="user")
    transcript.hide()
    session.events.append(node_input)
    transcript.check()
    assert session.events == [*mine, node_input]
    added = [Event(author="agent", invocation_id="now") for _ in range(later)]
    session.events.extend(added)
    transcript.hide()
    transcript.show()
    transcript.show()
    assert session.events == [*past, *mine, node_input, *added]


@given(RUNS, RUNS)
def test_of_a_turn_that_goes_on_later_what_came_in_between_stays_hidden(
    earlier: list[str], between: list[str]
) -> None:
    first, result = events_of(["now"]), events_of(["now"])
    session, transcript = opened(
        [*events_of(earlier), *first, *events_of(between), *result, *events_of(between)]
    )
    transcript.hide()
    transcript.check()
    assert session.events == [*first, *result]


@given(RUNS, RUNS.filter(bool), st.booleans())
def test_earlier_events_that_are_reloaded_are_never_in_sight(
    unloaded: list[str], earlier: list[str], behind: bool
) -> None:
    past, mine = events_of(earlier), events_of(["now"])
    session, transcript = opened([*past, *mine])
    transcript.hide()
    stored = [event.model_copy(deep=True) for event in [*events_of(unloaded), *past]]
    session.events = [*mine, *stored[len(unloaded) :]] if behind else [*stored, *mine]
    with pytest.raises(MemoryBypassedError, match="shows earlier turns"):
        transcript.check()
    transcript.hide()
    assert session.events == mine


def test_nothing_without_an_id_passes_when_the_event_that_opened_the_turn_is_gone() -> None:
    session, transcript = opened(events_of(["now"]))
    session.events = events_of([""])
    with pytest.raises(MemoryBypassedError, match="shows earlier turns"):
        transcript.check()
