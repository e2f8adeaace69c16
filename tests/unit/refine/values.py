"""Playbooks and contexts for tests of refinement."""

from datetime import UTC, datetime

from acc_ace.core.playbook.curation.curation_record import CurationContext
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook

AT = datetime(2026, 6, 1, tzinfo=UTC)


def bullet(number: int, content: str, **changes: object) -> Bullet:
    """A bullet 'b-0000N' of the section 'strategies'."""
    values = {"id": f"b-{number:05d}", "section": "strategies", "content": content, **changes}
    return Bullet.model_validate(values)


def playbook(*bullets: Bullet | str) -> Playbook:
    """A playbook of bullets, or of texts in the order of their ids."""
    made = tuple(
        bullet(number, item) if isinstance(item, str) else item
        for number, item in enumerate(bullets, 1)
    )
    return Playbook(bullets=made, next_id=1_000_000)


def context(**limits: int) -> CurationContext:
    """A context at AT within limits."""
    return CurationContext(
        limits=Limits(**limits), at=AT, user="", session="", turn=0, grounded=True
    )
