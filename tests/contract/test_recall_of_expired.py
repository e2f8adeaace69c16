"""What expired or was superseded takes no place from what still holds."""

from datetime import timedelta

from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.core.schemas.artifact import Artifact, Recall
from acc_ace.memory.ranking import MOST_RANKED
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, artifact, asking, turn
from tests.fakes.clock import START, FixedClock

NOW = START + timedelta(days=9)
GONE = NOW - timedelta(seconds=1)
VALID = "The wifi password of the office on the third floor is GREEN-7 since this week."


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


def outdated(count: int) -> list[Artifact]:
    """Expired and superseded ones, that match better than what still holds."""
    return [
        artifact(
            f"old-{at}",
            f"wifi password is OLD-{at}",
            at=at,
            expires_at=GONE if at % 2 else None,
            superseded_by=None if at % 2 else "new",
        )
        for at in range(count)
    ]


async def test_what_still_holds_is_recalled_before_what_does_not(stores: Stores) -> None:
    await stores.artifacts.add([*outdated(40), artifact("new", VALID, at=50)])
    found = await stores.artifacts.recall(asking("wifi password", asked_at=NOW))
    assert "new" in ids(found)
    assert len(ids(found)) == 8


async def test_what_still_holds_is_found_when_as_many_as_possible_are_asked_for(
    stores: Stores,
) -> None:
    await stores.artifacts.add([*outdated(40), artifact("new", VALID, at=50)])
    query = asking("wifi password", asked_at=NOW, limit=MOST_RANKED, max_tokens=300)
    found = ids(await stores.artifacts.recall(query))
    assert "new" in found
    assert 1 < len(found) < 40


async def test_the_previous_turn_keeps_its_place_among_them(stores: Stores) -> None:
    await stores.artifacts.add([*outdated(40), artifact("new", VALID, at=50), turn(1, "hello")])
    found = await stores.artifacts.recall(asking("wifi password", asked_at=NOW, limit=2))
    assert sorted(ids(found)) == ["new", "s-1-t1"]
    (previous,) = [item for item in found.candidates if item.artifact.artifact_id == "s-1-t1"]
    assert previous.why == ["previous turn"]


async def test_what_expires_later_still_holds(stores: Stores) -> None:
    later = artifact("later", VALID, expires_at=NOW + timedelta(seconds=1))
    await stores.artifacts.add([*outdated(12), later])
    found = await stores.artifacts.recall(asking("wifi password", asked_at=NOW))
    assert "later" in ids(found)


async def test_the_memory_service_finds_what_still_holds_behind_it(stores: Stores) -> None:
    await stores.artifacts.add([*outdated(30), artifact("new", VALID, at=50)])
    memory = ArtifactMemoryService(stores.artifacts, FixedClock(NOW))
    found = await memory.search_memory(app_name=KEY.app, user_id=KEY.user, query="wifi password")
    assert [item.id for item in found.memories] == ["new"]
