"""A playbook with a bullet that a person has protected."""

from schemas.playbook import Playbook


def pinned(playbook: Playbook, bullet_id: str) -> Playbook:
    """The playbook with this bullet pinned."""
    draft = playbook.draft()
    draft.pin(bullet_id, pinned=True)
    return playbook.with_draft(draft)
