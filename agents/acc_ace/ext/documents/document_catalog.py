"""The documents that a user's external memory holds: list, read, remove."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, DocumentPart, StoredDocument
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.errors import NotFoundError, StoreError
from acc_ace.ext.documents.document_parts import Edition, document_key, version_in
from acc_ace.memory.artifact_store import ArtifactListing, ArtifactStore
from acc_ace.memory.derivation import MOST_RESTING
from acc_ace.memory.ranking import ANY_DOCUMENT
from acc_ace.turn.erasing import erase_with


async def list_documents(
    container: Container, tenant: Tenant, *, limit: int = 50, after: str | None = None
) -> tuple[Sequence[StoredDocument], str | None]:
    """A page of the user's documents, and `after` of the next page (None on the last).

    A document whose import was interrupted is listed in addition to its last complete version.
    Raises StoreError.
    """
    page: list[StoredDocument] = []
    listing = artifacts_to_list(container.artifacts)
    behind: str | None = None
    async for version, first in versions(listing, tenant, after=after):
        if len(page) == limit:
            return page, behind
        described = await _described(container.artifacts, tenant, version, first)
        if described is not None:
            page.append(described)
        behind = version.behind
    return page, None


async def read_document(
    container: Container, tenant: Tenant, name: str, *, limit: int = 50, after_part: int = 0
) -> Sequence[Artifact]:
    """A page of a document's parts in order, of its whole version where there is one.

    Raises NotFoundError for a document that memory does not hold, StoreError.
    """
    listing = artifacts_to_list(container.artifacts)
    edition: Edition | None = None
    async for version, first in versions(listing, tenant, document=document_key(name)):
        edition = version
        described = await _described(container.artifacts, tenant, version, first)
        if described is not None and described.complete:
            break
    if edition is None:
        raise _unknown(name)
    page = await listing.page(tenant, limit=limit, after=edition.part_id(after_part))
    return [part for part in page if part.artifact_id.startswith(edition.prefix)]


async def remove_document(container: Container, tenant: Tenant, name: str) -> int:
    """Delete a document, parts of interrupted imports included; how many parts.

    What rests on its first parts goes with it. Raises NotFoundError for a document that memory
    does not hold, SessionBusyError while it is being imported or a session that quotes it is
    busy, StoreError.
    """
    listing = artifacts_to_list(container.artifacts)
    removed = 0
    async with document_lock(container, tenant, name):
        async for version, _ in versions(listing, tenant, document=document_key(name)):
            page = await listing.page(tenant, limit=MOST_RESTING, after=version.part_id(0))
            parts = [part for part in page if part.artifact_id.startswith(version.prefix)]
            await erase_with(container, tenant, parts)
            removed += len(parts)
            removed += await container.artifacts.erase(tenant, version.group(tenant).session)
    if not removed:
        raise _unknown(name)
    return removed


async def versions(
    listing: ArtifactListing,
    tenant: Tenant,
    *,
    document: str | None = None,
    after: str | None = None,
) -> AsyncIterator[tuple[Edition, DocumentPart]]:
    """Each version that memory holds something of, with its first part there.

    Takes one look at the store for each, however many parts they have.
    """
    prefix = ANY_DOCUMENT if document is None else f"{ANY_DOCUMENT}{document}:"
    after = after if after is not None and after > prefix else prefix
    while page := await listing.page(tenant, limit=1, after=after):
        [first] = page
        version = version_in(first.artifact_id)
        if not first.artifact_id.startswith(prefix) or version is None or first.document is None:
            return
        # Before the caller sees it, who may delete it.
        after = version.behind
        yield version, first.document


def artifacts_to_list(store: ArtifactStore) -> ArtifactListing:
    """The store, if it can be listed. Raises StoreError if it cannot."""
    if not isinstance(store, ArtifactListing):
        raise StoreError("this artifact store cannot list artifacts, which documents need")
    return store


def document_lock(
    container: Container, tenant: Tenant, name: str
) -> AbstractAsyncContextManager[None]:
    """One import or removal of a document at a time, among all processes."""
    key = SessionKey(*tenant, f"document:{document_key(name)}")
    return container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s)


async def _described(
    store: ArtifactStore, tenant: Tenant, version: Edition, place: DocumentPart
) -> StoredDocument | None:
    """The stored parts of a version; None if it was removed meanwhile."""
    first = await store.get(tenant, version.part_id(1))
    last = await store.get(tenant, version.part_id(place.parts))
    if first is None:
        return None
    return StoredDocument(
        name=place.name,
        digest=place.digest,
        parts=place.parts,
        imported_at=(first.document and first.document.imported_at) or first.created_at,
        complete=last is not None,
    )


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"memory holds no document '{name}'")
