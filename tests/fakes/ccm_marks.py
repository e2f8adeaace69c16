"""What a compressor is known for before a test begins."""

from acc_ace import Container
from acc_ace.turn.ports import Ccm
from schemas.base import Tenant

FOUND = "sssss"
"""It has found five rules, and is believed where it finds none."""


async def count_marks(container: Container, ccm: Ccm, user: Tenant, marks: str = FOUND) -> None:
    """Count marks for a compressor with a user."""
    work = container.unit_of_work()
    work.add(container.ccm_records.add_write(user, ccm, marks))
    await work.commit()
