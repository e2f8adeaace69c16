"""Going through all artifacts of a user, for an export."""

import pytest

from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_USER, artifact, turn


@pytest.fixture
async def listing(stores: Stores) -> ArtifactListing:
    await stores.artifacts.add([turn(number, f"text {number}") for number in range(1, 6)])
    await stores.artifacts.add([artifact("foreign", "text", tenant=OTHER_USER.tenant)])
    await stores.artifacts.retire(KEY, 4)
    assert isinstance(stores.artifacts, ArtifactListing)
    return stores.artifacts


async def test_pages_give_every_artifact_of_the_user_once_retired_ones_too(
    listing: ArtifactListing,
) -> None:
    seen: list[str] = []
    after: str | None = None
    while page := await listing.page(KEY.tenant, limit=2, after=after):
        assert len(page) <= 2
        seen += [item.artifact_id for item in page]
        after = page[-1].artifact_id
    assert seen == [f"s-1-t{number}" for number in range(1, 6)]


async def test_a_user_without_artifacts_has_an_empty_page(listing: ArtifactListing) -> None:
    assert list(await listing.page(KEY.tenant._replace(user="nobody"))) == []
