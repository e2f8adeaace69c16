"""What refining does to a playbook, and what it never does."""

from datetime import timedelta

import pytest

from acc_ace.core.playbook.delta_log import replay
from acc_ace.core.playbook.refine.refine_plan import make_room, refine
from acc_ace.core.text.tokens import estimate_tokens
from schemas.bullet import Bullet
from schemas.delta import DeltaKind
from schemas.playbook import Playbook
from tests.unit.refine.values import AT, bullet, context, playbook


def _ids(result: Playbook) -> list[str]:
    return [item.id for item in result.bullets]


def test_duplicates_of_any_section_are_merged_and_their_counters_added_up() -> None:
    before = playbook(
        bullet(1, "Check the log before a restart.", helpful=2, harmful=1),
        bullet(2, "Inspect the logs before restarting!", section="mistakes", helpful=3, neutral=4),
    )

    refined = refine(before, context())

    (kept,) = refined.playbook.bullets
    assert (kept.helpful, kept.harmful, kept.neutral) == (5, 1, 4)
    assert [step.kind for step in refined.steps] == [DeltaKind.MERGE]
    assert refined.steps[0].source_ids == ["b-00001"]


def test_the_log_says_where_a_merged_bullet_went_and_replays_to_the_result() -> None:
    before = playbook("Drain the queue first.", "Please drain the queue first", "Answer in French.")

    refined = refine(before, context())

    merged = [record for record in refined.records if record.merged_into is not None]
    assert [(record.bullet_id, record.merged_into) for record in merged] == [("b-00002", "b-00001")]
    assert replay(refined.records, start=before).dumps() == refined.playbook.dumps()


def test_the_better_record_stays_and_the_older_one_on_a_tie() -> None:
    better = playbook("Cache replies.", bullet(2, "Always cache the reply.", helpful=4))
    tie = playbook("Cache replies.", "Always cache the reply.")

    assert _ids(refine(better, context()).playbook) == ["b-00002"]
    assert _ids(refine(tie, context()).playbook) == ["b-00001"]


def test_merging_counts_as_no_use() -> None:
    used = AT - timedelta(days=30)
    before = playbook(
        bullet(1, "Cache replies.", updated_at=used - timedelta(days=1)),
        bullet(2, "Always cache the reply.", updated_at=used),
    )

    assert refine(before, context()).playbook.bullets[0].updated_at == used


@pytest.mark.parametrize(
    "other",
    [
        "Never restart the service at night.",
        "Always restart the service at noon.",
        "Always stop the service at night.",
        "Always restart the service after 3 nights.",
    ],
)
def test_what_differs_in_one_thing_stays_apart(other: str) -> None:
    before = playbook("Always restart the service at night.", other)

    assert refine(before, context()).playbook == before


def test_a_pinned_bullet_is_neither_merged_away_nor_archived() -> None:
    before = playbook(
        bullet(1, "Drain the queue.", pinned=True, harmful=50),
        bullet(2, "Always drain the queue.", pinned=True),
        bullet(3, "Please drain the queue.", helpful=9),
    )

    refined = refine(before, context(playbook_bullets=1))

    assert _ids(refined.playbook) == ["b-00001", "b-00002"]
    assert [item.content for item in refined.playbook.bullets] == [
        "Drain the queue.",
        "Always drain the queue.",
    ]
    assert refined.unmet == ("playbook_bullets",)


def test_a_net_harmful_bullet_is_archived_and_one_that_may_be_unlucky_is_not() -> None:
    before = playbook(
        bullet(1, "Guess the date.", harmful=3),
        bullet(2, "Guess the name.", harmful=2),
        bullet(3, "Guess the city.", helpful=4, harmful=5),
    )

    refined = refine(before, context())

    assert _ids(refined.playbook) == ["b-00002", "b-00003"]
    assert [(step.bullet_id, step.reason) for step in refined.steps] == [("b-00001", "net_harmful")]


def test_stale_is_what_was_judged_is_not_proven_and_was_not_used_for_long() -> None:
    old, fresh = AT - timedelta(days=100), AT - timedelta(days=80)
    before = playbook(
        bullet(1, "Ask for the colour.", neutral=2, updated_at=old),
        bullet(2, "Ask for the size.", neutral=2, updated_at=fresh),
        bullet(3, "Ask for the shape.", helpful=9, updated_at=old),
        bullet(4, "Ask for the weight.", updated_at=old),
        bullet(5, "Ask for the price.", neutral=2),
    )

    refined = refine(before, context(), stale_after=timedelta(days=90))

    assert [(step.bullet_id, step.reason) for step in refined.steps] == [("b-00001", "stale")]
    assert refine(before, context()).playbook == before


def test_budgets_take_the_oldest_unjudged_first_then_the_worst_the_new_and_the_proven() -> None:
    before = playbook(
        bullet(1, "Offer tea.", helpful=9),
        bullet(2, "Offer milk."),
        bullet(3, "Offer water."),
        bullet(4, "Offer juice.", neutral=3),
        bullet(5, "Offer soup.", harmful=1),
        *[bullet(n, f"Offer dish {n}.") for n in range(6, 11)],
    )
    leaving = ["b-00002", "b-00003", "b-00005", "b-00004", *[f"b-{n:05}" for n in range(6, 11)]]

    for room in range(1, 10):
        kept = _ids(refine(before, context(playbook_bullets=room)).playbook)
        assert kept == [id_ for id_ in _ids(before) if id_ not in leaving[: 10 - room]]


def test_the_tokens_of_the_prompt_and_of_a_section_keep_their_budgets() -> None:
    before = playbook(
        *[bullet(n, f"Remember fact {n} of the long list", section="facts") for n in range(1, 30)],
        *[bullet(n, f"Remember tool {n} of the long list", section="tools") for n in range(30, 40)],
    )

    refined = refine(before, context(playbook_tokens=400, section_tokens=150, section_bullets=5))

    assert estimate_tokens(refined.playbook.as_prompt()) <= 400
    for section in ("facts", "tools"):
        of = [item for item in refined.playbook.bullets if item.section == section]
        assert 0 < len(of) <= 5
        assert estimate_tokens(refined.playbook.as_prompt(of)) <= 150


def test_room_is_made_by_the_oldest_that_no_answer_was_judged_by_and_not_by_the_proven() -> None:
    full = playbook(
        *[bullet(n, f"Offer drink {n}.", neutral=1) for n in range(1, 6)],
        *[bullet(n, f"Offer dish {n}.") for n in range(6, 21)],
    )
    proven = playbook(*[bullet(n, f"Offer dish {n}.", helpful=9) for n in range(1, 11)])

    room = make_room(full, context(playbook_bullets=20))

    assert [step.bullet_id for step in room.steps] == ["b-00006", "b-00007"]
    assert {step.reason for step in room.steps} == {"makes_room"}
    assert not make_room(proven, context(playbook_bullets=10)).steps


def test_refining_an_empty_playbook_does_nothing() -> None:
    refined = refine(Playbook(), context())

    assert refined.playbook == Playbook()
    assert refined.records == []


def test_thousands_of_equal_bullets_become_one() -> None:
    before = playbook(*[bullet(n, "Drain the queue.", helpful=1) for n in range(1, 2_001)])

    (kept,) = refine(before, context(playbook_bullets=5_000)).playbook.bullets

    assert kept.helpful == 2_000


def test_a_bullet_of_the_largest_size_is_compared_by_its_whole_text() -> None:
    long = " ".join(f"word{n}" for n in range(1_000))
    before = playbook(f"{long} alpha", f"{long} beta")

    refined = refine(before, context(playbook_tokens=1_000_000, section_tokens=1_000_000))

    assert refined.playbook == before
    assert isinstance(refined.playbook.bullets[0], Bullet)


def test_signs_tell_lessons_apart() -> None:
    for first, second in (("Mark it with ✅.", "Mark it with ❌."), ("Pay in €.", "Pay in $.")):
        before = playbook(first, second)

        assert refine(before, context()).playbook == before
