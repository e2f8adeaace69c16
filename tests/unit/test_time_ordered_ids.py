"""Ids of ADK's events and invocations sort by time, and stay unique."""

import contextvars
import types
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.adk.events import Event
from google.adk.platform import uuid as adk_ids
from google.adk.platform.uuid import set_id_provider
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.adk.sessions import session_rows as time_ordered_ids
from acc_ace.adk.sessions.session_rows import TimeOrderedIds, use_time_ordered_ids

NOON_NS = 1_795_348_800_000_000_000

clocks = st.lists(st.integers(min_value=0, max_value=2 * NOON_NS), min_size=2, max_size=50)


def in_new_context(work: Callable[[], str]) -> str:
    """Run as a request would that nothing was set for."""
    return contextvars.Context().run(work)


def ours_then(work: Callable[[], str]) -> Callable[[], str]:
    def run() -> str:
        use_time_ordered_ids()
        return work()

    return run


def version_of_a_new_event() -> int | None:
    return uuid.UUID(Event(author="a").id).version


@given(clocks)
def test_each_id_sorts_after_all_before_whatever_the_clock_says(clock: list[int]) -> None:
    ids = TimeOrderedIds()
    given_ids = [ids(now_ns=now) for now in clock]
    assert given_ids == sorted(set(given_ids))


def test_an_id_is_a_uuid_of_version_7_that_tells_its_millisecond() -> None:
    made = uuid.UUID(TimeOrderedIds()(now_ns=NOON_NS + 999_999))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == NOON_NS // 1_000_000


def test_ids_of_one_millisecond_sort_by_its_fraction_among_processes() -> None:
    one, other = TimeOrderedIds(), TimeOrderedIds()
    assert one(now_ns=NOON_NS + 300) < other(now_ns=NOON_NS + 600) < one(now_ns=NOON_NS + 900)


def test_two_processes_in_the_same_instant_give_different_ids() -> None:
    one, other = TimeOrderedIds(), TimeOrderedIds()
    assert len({make(now_ns=NOON_NS) for make in (one, other) for _ in range(1_000)}) == 2_000


def test_threads_share_no_id() -> None:
    ids = TimeOrderedIds()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [ids(now_ns=NOON_NS) for _ in range(200)], range(8)))
    assert len({name for names in made for name in names}) == 1_600
    assert all(names == sorted(names) for names in made)


def test_adk_gives_such_ids_in_this_context_and_no_other() -> None:
    assert in_new_context(ours_then(lambda: str(version_of_a_new_event()))) == "7"
    assert in_new_context(lambda: str(version_of_a_new_event())) == "4"


def test_a_provider_that_the_program_gave_to_adk_stays() -> None:
    def replayed() -> str:
        set_id_provider(lambda: "replayed-1")
        return ours_then(lambda: Event(author="a").id)()

    assert in_new_context(replayed) == "replayed-1"


@pytest.mark.parametrize("name", ["_id_provider_context_var", "_default_id_provider"])
def test_an_adk_that_keeps_its_provider_elsewhere_gives_its_own_ids(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    moved = types.SimpleNamespace(**{key: v for key, v in vars(adk_ids).items() if key != name})
    monkeypatch.setattr(time_ordered_ids, "adk_ids", moved)
    assert in_new_context(ours_then(lambda: str(version_of_a_new_event()))) == "4"
