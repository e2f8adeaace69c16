"""List a user's artifacts, for an export."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.tenancy import Tenant


@runtime_checkable
class ArtifactListing(Protocol):
    """An artifact store that can list all artifacts of a user."""

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """Return a page of artifacts by id, including retired ones; `after` is the last id seen.

        Raises StoreError when the store cannot be read.
        """
        ...
