"""Public contract: the playbook. Defined in `acc_ace.core.schemas.playbook`."""

from acc_ace.core.schemas.playbook import (
    Added,
    Applied,
    Bullet,
    DeltaRecord,
    Playbook,
    StoredPlaybook,
)

__all__ = ["Added", "Applied", "Bullet", "DeltaRecord", "Playbook", "StoredPlaybook"]
