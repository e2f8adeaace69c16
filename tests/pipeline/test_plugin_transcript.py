"""Hiding and showing earlier turns loses and reorders nothing, whatever a session holds."""

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.plugin.transcript import Transcript

RUNS = st.lists(st.sampled_from(["before", "earlier"]), max_size=8)


@given(RUNS, st.integers(0, 5), st.integers(0, 3))
def test_only_this_turns_events_are_in_sight_until_all_are_shown_again(
    earlier: list[str], own: int, later: int
) -> None:
    past = [Event(author="user", invocation_id=run) for run in earlier]
    mine = [Event(author="user", invocation_id="now") for _ in range(own)]
    node_input = Event(author="user")
    session = Session(id="s", app_name="a", user_id="u", events=[*past, *mine])
    ctx = InvocationContext(
        session_service=InMemorySessionService(), invocation_id="now", session=session
    )
    transcript = Transcript(ctx)
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
