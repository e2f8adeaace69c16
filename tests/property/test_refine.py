"""Invariants of refinement, for any playbook."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.playbook.delta_log import replay
from acc_ace.core.playbook.refine.refine_plan import Refined, refine
from acc_ace.core.text.duplicates import alike, contrary, lesson_of, same
from acc_ace.core.text.lessons.reading import terms_of_lesson
from acc_ace.core.text.tokens import estimate_tokens
from schemas.bullet import Bullet
from schemas.playbook import Playbook
from tests.unit.refine.values import AT, context

PIECES = (
    "Always", "never", "check", "inspect", "the log", "the queue", "before", "after", "restart",
    "30", "60", "db-01", "Alice", "in French", "please", "increase", "decrease", "再起動", "ログを",
    "確認する", "しない", "禁止", "前に", "後に", ".", ",",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(" ".join)
counts = st.integers(0, 9)
rows = st.tuples(
    texts | st.text(min_size=1, max_size=20).filter(str.strip),
    st.sampled_from(("strategies", "mistakes")),
    counts,
    counts,
    counts,
    st.booleans(),
    st.integers(0, 200),
)


@st.composite
def playbooks(draw: st.DrawFn, *, pins: bool = True) -> Playbook:
    """Playbooks whose bullets often say the same."""
    bullets = []
    for number, row in enumerate(draw(st.lists(rows, max_size=14)), 1):
        content, section, helpful, harmful, neutral, pinned, days = row
        bullets.append(
            Bullet(
                id=f"b-{number:05d}",
                section=section,
                content=content,
                helpful=helpful,
                harmful=harmful,
                neutral=neutral,
                pinned=pinned and pins,
                updated_at=AT - timedelta(days=days),
            )
        )
    return Playbook(bullets=tuple(bullets), next_id=len(bullets) + 1)


def _refined(playbook: Playbook, bullets: int = 8, tokens: int = 300) -> Refined:
    limits = context(
        playbook_bullets=bullets,
        playbook_tokens=tokens,
        section_bullets=max(1, bullets - 2),
        section_tokens=max(32, tokens // 2),
    )
    return refine(playbook, limits, stale_after=timedelta(days=90))


@given(playbooks(), st.integers(1, 14), st.integers(32, 600))
def test_refining_twice_is_refining_once(playbook: Playbook, bullets: int, tokens: int) -> None:
    once = _refined(playbook, bullets, tokens)
    twice = _refined(once.playbook, bullets, tokens)

    assert twice.playbook == once.playbook
    assert twice.records == []


@given(playbooks(pins=False), st.integers(1, 14), st.integers(32, 600))
def test_no_budget_is_exceeded_afterwards(playbook: Playbook, bullets: int, tokens: int) -> None:
    refined = _refined(playbook, bullets, tokens)

    assert len(refined.playbook.bullets) <= bullets
    assert estimate_tokens(refined.playbook.as_prompt()) <= tokens
    for section in {bullet.section for bullet in refined.playbook.bullets}:
        of = [bullet for bullet in refined.playbook.bullets if bullet.section == section]
        assert len(of) <= max(1, bullets - 2)
        assert estimate_tokens(refined.playbook.as_prompt(of)) <= max(32, tokens // 2)
    assert refined.unmet == ()


@given(playbooks())
def test_the_records_lead_to_the_result_and_counters_are_kept(playbook: Playbook) -> None:
    refined = _refined(playbook)
    archived = {step.bullet_id for step in refined.steps if not step.source_ids}

    assert replay(refined.records, start=playbook).dumps() == refined.playbook.dumps()
    gone = sum(
        record.before.helpful
        for record in refined.records
        if record.bullet_id in archived and record.after is None and record.before is not None
    )
    assert refined.playbook.stats()["helpful"] + gone == playbook.stats()["helpful"]


@given(playbooks())
def test_pinned_bullets_stay_with_their_text(playbook: Playbook) -> None:
    kept = {bullet.id: bullet.content for bullet in _refined(playbook, 1, 32).playbook.bullets}

    assert all(kept.get(b.id) == b.content for b in playbook.bullets if b.pinned)


@given(playbooks())
def test_every_bullet_that_left_has_a_reason_in_the_log(playbook: Playbook) -> None:
    refined = _refined(playbook)
    there = {bullet.id for bullet in refined.playbook.bullets}
    logged = {record.bullet_id for record in refined.records if record.after is None}

    assert {bullet.id for bullet in playbook.bullets} - there == logged
    assert all(record.reason for record in refined.records)


@given(texts, texts)
def test_a_judgement_on_two_lessons_goes_both_ways_and_is_one(first: str, second: str) -> None:
    one, other = lesson_of(first), lesson_of(second)

    for judgement in (same, contrary, alike):
        assert judgement(one, other) == judgement(other, one)
        assert judgement(one, one) == (judgement is same)
    assert not same(one, other) or not (contrary(one, other) or alike(one, other))


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert terms_of_lesson(text) == terms_of_lesson(text)
