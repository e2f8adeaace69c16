"""Every artifact of a user, for an export."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from schemas.artifact import Artifact
from schemas.tenancy import Tenant


@runtime_checkable
class ArtifactListing(Protocol):
    """An artifact store that can go through all it has of a user."""

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """A page of artifacts by id, retired ones included; `after` ended the previous page.

        Raises StoreError when the store cannot be read.
        """
        ...
