"""A word that only older artifacts hold is found, however much was stored since."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from acc_ace.core.schemas.artifact import Artifact, Recall
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, artifact, asking
from tests.fakes.clock import START

BATCH = 1_000


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


async def store(stores: Stores, artifacts: Sequence[Artifact]) -> None:
    for start in range(0, len(artifacts), BATCH):
        await stores.artifacts.add(artifacts[start : start + BATCH])


@pytest.fixture
async def plant(stores: Stores) -> Stores:
    """A handbook whose every part says 'pump', then an archive that never does."""
    handbook = [artifact(f"h{n}", f"The pump of hall {n}.", at=n) for n in range(800)]
    archive = [artifact(f"i{n}", f"Invoice {n} was paid.", at=1_000 + n) for n in range(1_700)]
    await store(stores, handbook + archive)
    return stores


async def test_a_word_of_many_older_artifacts_is_found_behind_thousands_without_it(
    plant: Stores,
) -> None:
    found = ids(await plant.artifacts.recall(asking("Which pump failed?", limit=3)))
    assert found == ["h799", "h798", "h797"]


async def test_it_is_found_by_the_state_too(plant: Stores) -> None:
    found = ids(await plant.artifacts.recall(asking("do it", state_terms=["pump"], limit=3)))
    assert found == ["h799", "h798", "h797"]


async def test_it_is_found_among_what_is_old_enough(plant: Stores) -> None:
    before = datetime.fromtimestamp(START.timestamp() + 500, UTC)
    found = ids(await plant.artifacts.recall(asking("pump", limit=2, before=before)))
    assert found == ["h499", "h498"]


async def test_a_rare_word_that_goes_with_it_does_not_hide_it(plant: Stores) -> None:
    await plant.artifacts.add([artifact("bulb", "The bulb failed.", at=3_000)])
    found = ids(await plant.artifacts.recall(asking("Which pump failed?", limit=3)))
    assert found == ["bulb", "h799", "h798"]


async def test_nobody_finds_the_old_words_of_others(plant: Stores) -> None:
    await plant.artifacts.erase(KEY.tenant)
    assert ids(await plant.artifacts.recall(asking("pump"))) == []


@pytest.mark.parametrize("old", [600, 800])
async def test_it_is_found_when_it_is_asked_for_with_a_common_one(stores: Stores, old: int) -> None:
    def project(n: int) -> str:
        return " for the project" if n % 2 == 0 else " on the way"

    handbook = [artifact(f"h{n}", f"The pump of hall {n}{project(n)}.", at=n) for n in range(old)]
    archive = [
        artifact(f"i{n}", f"Invoice {n} was paid{project(n)}.", at=1_000 + n) for n in range(1_700)
    ]
    await store(stores, handbook + archive)
    found = ids(await stores.artifacts.recall(asking("pump project", limit=3)))
    assert found == [f"h{old - 2}", f"h{old - 4}", f"h{old - 6}"]
