"""Short ways to change a playbook in a store, each change with its records."""

from datetime import timedelta
from typing import Any, Protocol

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.schemas.delta import Author
from schemas.base import PlaybookScope
from schemas.bullet import Bullet, Origin
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract.values import record
from tests.fakes.clock import START

SHARED = PlaybookScope("shop")
BY = Author("ann", START + timedelta(hours=1))


class HasPlaybooks(Protocol):
    """All stores of a process, or what it was put together of."""

    @property
    def playbooks(self) -> PlaybookStore:
        """Where its playbooks are."""
        ...


async def commit(
    stores: HasPlaybooks,
    playbook: Playbook,
    *records: DeltaRecord,
    scope: PlaybookScope = SHARED,
    commit_id: str | None = None,
) -> StoredPlaybook:
    """Commit onto whatever version is current."""
    current = await stores.playbooks.load(scope)
    return await stores.playbooks.commit(
        scope, playbook, records, expected_version=current.version, commit_id=commit_id
    )


async def add(
    stores: HasPlaybooks, *contents: str, scope: PlaybookScope = SHARED, user: str | None = None
) -> StoredPlaybook:
    """Add bullets in one commit; with a user, they come from a turn of that user's."""
    draft = (await stores.playbooks.load(scope)).playbook.draft()
    origin = Origin(user=user, session="s-1", turn=1) if user else None
    added = [
        draft.add("rules", content, bullet_id=None, at=START, origin=origin) for content in contents
    ]
    playbook = Playbook().with_draft(draft)
    return await commit(
        stores,
        playbook,
        *(record("ADD", after=bullet, user=user or "", job="") for bullet in added),
        scope=scope,
    )


async def merge(
    stores: HasPlaybooks, survivor: str, *sources: str, scope: PlaybookScope = SHARED
) -> StoredPlaybook:
    """Merge bullets into one."""
    before = (await stores.playbooks.load(scope)).playbook
    draft = before.draft()
    draft.merge(survivor, sources, content=None, section=None, at=START)
    after = before.with_draft(draft)
    left = [record("MERGE", before=before.get(source), merged_into=survivor) for source in sources]
    whole = record("MERGE", before=before.get(survivor), after=after.get(survivor))
    return await commit(stores, after, *left, whole, scope=scope)


async def archive(
    stores: HasPlaybooks, bullet_id: str, *, scope: PlaybookScope = SHARED
) -> StoredPlaybook:
    """Take a bullet out and into the archive."""
    before = (await stores.playbooks.load(scope)).playbook
    archived = record("ARCHIVE", before=before.get(bullet_id), reason="stale")
    return await commit(stores, before.remove_bullet(bullet_id), archived, scope=scope)


async def restore(stores: HasPlaybooks, bullet: Bullet) -> StoredPlaybook:
    """Bring a bullet back as it was."""
    current = (await stores.playbooks.load(SHARED)).playbook
    draft = current.draft()
    draft.restore(bullet)
    return await commit(stores, current.with_draft(draft), record("RESTORE", after=bullet))


async def hold(stores: HasPlaybooks, **more: Any) -> int:
    """Log a held operation; its seq."""
    current = (await stores.playbooks.load(SHARED)).playbook
    await commit(stores, current, record("ADD", status=DeltaStatus.HELD, **more))
    return (await stores.playbooks.deltas(SHARED, limit=1))[0].seq
