"""What is undone or erased has no part in recall by meaning, whenever that happens."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.text.duplicates import Vector
from acc_ace.storage.create_stores import Stores, create_stores
from tests.contract.values import KEY, OTHER_SESSION, asking, turn
from tests.fakes.clock import FixedClock
from tests.fakes.filled import filled
from tests.fakes.place import Place
from tests.fakes.word_embedder import TopicEmbedder

EMBEDDER = {"model": "test/topics"}


class _Held(TopicEmbedder):
    """Answers a question only when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def query(self, text: str) -> Vector:
        self.is_asked.set()
        await self.may_answer.wait()
        return await super().query(text)


@pytest.fixture
def embedder() -> _Held:
    return _Held()


@pytest.fixture
async def stores(place: Place, embedder: _Held) -> AsyncIterator[Stores]:
    opened = create_stores(place.with_settings(embedder=EMBEDDER), FixedClock(), embedder)
    yield opened
    await opened.close()


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


async def test_what_is_near_is_found_behind_hundreds_of_undone_turns(stores: Stores) -> None:
    other = [turn(number, "the weather") for number in range(9, 300)]
    await stores.artifacts.add([turn(1, "a cat in a car"), *other])
    undone = [turn(number, "a cat", key=OTHER_SESSION) for number in range(1, 300)]
    await stores.artifacts.add(undone)
    await filled(stores)
    assert await stores.artifacts.retire(OTHER_SESSION, 0) == 299
    found = await stores.artifacts.recall(asking("feline", key=OTHER_SESSION))
    assert ids(found)[0] == "s-1-t1"


async def test_a_search_finds_nothing_of_a_user_who_is_erased_while_the_embedder_is_asked(
    stores: Stores, embedder: _Held
) -> None:
    await stores.artifacts.add([turn(1, "a cat"), turn(2, "a kitten")])
    await filled(stores)
    assert len((await stores.artifacts.recall(asking("cat"))).candidates) == 2
    embedder.is_asked.clear()
    embedder.may_answer.clear()
    searching = asyncio.create_task(stores.artifacts.recall(asking("cat")))
    await embedder.is_asked.wait()
    await stores.artifacts.erase(KEY.tenant)
    embedder.may_answer.set()
    assert await searching == Recall()
