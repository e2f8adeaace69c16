"""What rests on artifacts: what names or follows them, and tells the same.

A turn rests on what it was shown of memory, and on each turn of its session before it. What only
stood there and is not spoken of is left alone; so are the user's own statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.text.exchange import USER, ExchangePart, parts_of, written
from acc_ace.core.text.telling import Told, is_asked, statements, telling, told_by, without
from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.memory.turn_artifacts import id_after

MOST_RESTING: Final = 100
"""Artifacts that one search for what rests on another looks at."""

BEFORE: Final = "superseded:"
"""Before the id of an artifact: the version that a correction replaced."""

_MOST_EARLIER: Final = 20
_ANY_TOKENS: Final = 2**31


@dataclass
class Derived:
    """What is to go, and what it told."""

    told: list[Told] = field(default_factory=list)
    removed: dict[str, Artifact] = field(default_factory=dict)
    shortened: dict[str, Artifact] = field(default_factory=dict)
    """Artifacts as they read without it."""
    since: dict[str, int] = field(default_factory=dict)
    """The first turn of each session that knows it."""
    also: dict[str, None] = field(default_factory=dict)

    def takes(self, artifact: Artifact) -> None:
        """Note an artifact that goes, or goes on without it."""
        if artifact.session is not None and artifact.turn is not None:
            first = self.since.get(artifact.session, artifact.turn)
            self.since[artifact.session] = min(first, artifact.turn)

    def reaches(self, artifact: Artifact) -> bool:
        """Whether an artifact may rest on what goes."""
        gone = self.removed.keys() | self.shortened.keys()
        if any(_whole(name) in gone or name in gone for name in artifact.quotes):
            return True
        if artifact.document is not None or artifact.session is None:
            return False
        first = self.since.get(artifact.session)
        return first is not None and artifact.turn is not None and artifact.turn >= first


async def derived_from(container: Container, tenant: Tenant, roots: Sequence[Artifact]) -> Derived:
    """What rests on the roots, which are among it. Raises StoreError."""
    derived, hits = Derived(), dict[str, Artifact]()
    for root in roots:
        derived.takes(root)
        derived.removed[root.artifact_id] = root
    for root in roots:
        for piece in await _pieces(container, tenant, root):
            derived.removed[piece.artifact_id] = piece
            earlier = [] if piece.document else await _found(container, tenant, piece, earlier=True)
            derived.told += told_by(_plain(piece), map(_plain, earlier))
            hits |= {
                each.artifact_id: each
                for each in [*earlier, *await _found(container, tenant, piece)]
            }
    _follow(derived, [each for name, each in hits.items() if name not in derived.removed])
    return derived


async def of_session(container: Container, key: SessionKey) -> list[Artifact]:
    """The turns, attachments and tool results of a session, at most `MOST_RESTING` of each.

    Raises StoreError.
    """
    store = container.artifacts
    if not isinstance(store, ArtifactListing):
        return []
    found = list[Artifact]()
    for kind in ("turn", "attached", "tool"):
        prefix = f"{kind}:{key.session}:"
        page = await store.page(key.tenant, limit=MOST_RESTING, after=prefix)
        found += [each for each in page if each.session == key.session]
    return found


def _follow(derived: Derived, hits: Sequence[Artifact]) -> None:
    """Go from what rests on the roots to what rests on that."""
    own = [each for turn in hits for each in _own_statements(turn)]
    left = list(hits)
    while left:
        resting = [
            each
            for each in left
            if derived.reaches(each) and _tells(each, derived.told) and not _notes(each, own)
        ]
        for artifact in resting:
            derived.takes(artifact)
            shortened = _without(artifact, derived.told)
            if shortened is None:
                derived.removed[artifact.artifact_id] = artifact
            else:
                derived.shortened[artifact.artifact_id] = shortened
        if not resting:
            break
        left = [each for each in left if each not in resting]
    told = [each for each in derived.told if each.telltale or len(each.words) > 1]
    says = [*left, *derived.shortened.values()]
    derived.also = {each.artifact_id: None for each in says if _says(each, told)}


def _own_statements(artifact: Artifact) -> list[str]:
    """What the user states in a turn."""
    if artifact.kind is not ArtifactKind.TURN:
        return []
    return [
        said
        for part in parts_of(artifact.content)
        if part.who == USER
        for said in statements(part.text)
    ]


def _notes(artifact: Artifact, own: Sequence[str]) -> bool:
    """Whether it is a note of words that the user states in a turn that stays."""
    _, _, noted = artifact.content.partition(": ")
    return artifact.kind is ArtifactKind.NOTE and (noted or artifact.content) in own


def _tells(artifact: Artifact, told: Sequence[Told]) -> bool:
    return bool(telling(_plain(artifact), told))


def _says(artifact: Artifact, told: Sequence[Told]) -> bool:
    """Whether an artifact states it, not only asks."""
    return any(not is_asked(each) for each in telling(_plain(artifact), told))


def _without(artifact: Artifact, told: Sequence[Told]) -> Artifact | None:
    """A turn with what the user states in it and without what rests; None if nothing is stated."""
    if artifact.kind is not ArtifactKind.TURN:
        return None
    parts = [ExchangePart(each.who, _part(each, told)) for each in parts_of(artifact.content)]
    parts = [each for each in parts if each.text.strip()]
    if not any(each.who == USER and statements(each.text) for each in parts):
        return None
    return artifact.model_copy(update={"content": written(parts)})


def _part(part: ExchangePart, told: Sequence[Told]) -> str:
    own = statements(part.text) if part.who == USER else []
    return without(part.text, told, but=own)


def _plain(artifact: Artifact) -> str:
    """What an artifact says, without the labels of its speakers."""
    return "\n".join(each.text for each in parts_of(artifact.content))


def _whole(artifact_id: str) -> str:
    """The id of what an artifact is a later piece of."""
    return artifact_id.split(":", 2)[-1] if artifact_id.startswith("rest:") else artifact_id


async def _pieces(container: Container, tenant: Tenant, root: Artifact) -> list[Artifact]:
    """An artifact, its later pieces, and the versions before."""
    pieces, name = [root], id_after(root.artifact_id)
    while (piece := await container.artifacts.get(tenant, name)) is not None:
        pieces.append(piece)
        name = id_after(name)
    name, store = f"{BEFORE}{root.artifact_id}", container.artifacts
    before = [await store.get(tenant, name)]
    if isinstance(store, ArtifactListing):
        before += await store.page(tenant, limit=MOST_RESTING, after=f"{name}:")
    return pieces + [each for each in before if each and each.superseded_by == root.artifact_id]


async def _found(
    container: Container, tenant: Tenant, root: Artifact, *, earlier: bool = False
) -> list[Artifact]:
    """What memory holds of the same words, of the time before it if `earlier`."""
    query = RecallQuery(
        key=SessionKey(*tenant, ""),
        text=_plain(root),
        limit=_MOST_EARLIER if earlier else MOST_RESTING,
        max_tokens=_ANY_TOKENS,
        before=root.created_at if earlier else None,
    )
    recalled = await container.artifacts.recall(query)
    return [each.artifact for each in recalled.candidates]
