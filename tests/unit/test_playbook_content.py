"""The digest of a playbook's content: what it covers, what it leaves out, and how it is kept."""

import hashlib
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.playbook.playbook_versions import (
    content_digest,
    digest_of,
    pieces_of,
)
from acc_ace.core.schemas.bullet import Origin
from acc_ace.core.schemas.playbook import Playbook
from tests.fakes.clock import START
from tests.fakes.pinned import pinned


def playbook_of(*contents: str, user: str | None = None) -> Playbook:
    draft = Playbook().draft()
    origin = Origin(user=user, session="s", turn=1) if user else None
    for content in contents:
        draft.add("rules", content, bullet_id=None, at=START, origin=origin)
    return Playbook().with_draft(draft)


def test_without_origins_and_gaps_it_is_that_of_the_whole_canonical_json() -> None:
    for playbook in (Playbook(), playbook_of("one"), playbook_of("one", "二", 'a "b" \\ c')):
        assert content_digest(playbook) == hashlib.sha256(playbook.dumps().encode()).hexdigest()


def test_who_taught_a_lesson_and_the_ids_that_are_used_up_are_not_in_it() -> None:
    plain = playbook_of("one")
    assert content_digest(playbook_of("one", user="aiko")) == content_digest(plain)
    removed = playbook_of("one", "two").remove_bullet("b-00002")
    assert content_digest(removed) == content_digest(plain)


def test_every_other_difference_changes_it() -> None:
    base = playbook_of("one", "two")
    others = [
        base.update_bullet("b-00001", content="One", at=START),
        base.update_bullet("b-00001", section="tools", at=START),
        base.update_bullet_tag("b-00001", "helpful", at=START),
        base.update_bullet_tag("b-00001", "neutral", at=START),
        pinned(base, "b-00001"),
        base.remove_bullet("b-00002"),
        base.model_copy(update={"bullets": base.bullets[::-1]}),
        base.add_bullet("rules", "three", at=START).playbook,
    ]
    digests = {content_digest(playbook) for playbook in (base, *others)}
    assert len(digests) == len(others) + 1


def changed(playbook: Playbook, choices: Sequence[int]) -> Playbook:
    """The playbook after additions, tags, removals and returns."""
    draft = playbook.draft()
    for choice in choices:
        bullets = draft.bullets
        at, kind = divmod(choice, 4)
        if kind == 0 or not bullets:
            draft.add("rules", f"lesson {choice}", bullet_id=None, at=START)
            continue
        bullet = bullets[at % len(bullets)]
        if kind == 1:
            draft.tag(bullet.id, "helpful", increment=1, at=START)
            continue
        draft.remove(bullet.id)
        if kind == 3:
            draft.restore(bullet)
    return playbook.with_draft(draft)


@given(st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=6))
def test_pieces_brought_forward_are_those_made_anew(history: list[list[int]]) -> None:
    playbook = Playbook()
    pieces = pieces_of(playbook)
    for choices in history:
        playbook = changed(playbook, choices)
        pieces = pieces_of(playbook, pieces)
        assert list(pieces) == [bullet.id for bullet in playbook.bullets]
        assert digest_of(pieces) == content_digest(playbook)
        assert [piece.bullet for piece in pieces.values()] == list(playbook.bullets)
