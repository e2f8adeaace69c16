"""What every ArtifactStore promises when there is an embedder."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import EmbedderError
from acc_ace.storage.create_stores import Stores, create_stores
from config import Settings
from schemas.artifact import Recall
from schemas.limits import RecallWeights
from tests.contract.values import KEY, OTHER_USER, artifact, asking, turn
from tests.fakes.clock import START, FixedClock
from tests.fakes.filled import filled
from tests.fakes.word_embedder import TopicEmbedder


@pytest.fixture
def embedder() -> TopicEmbedder:
    return TopicEmbedder()


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    where: dict[str, Any] = {"data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    where["embedder"] = {"model": "test/topics"}
    return Settings(store=request.param, **where)


@pytest.fixture
async def stores(settings: Settings, embedder: TopicEmbedder) -> AsyncIterator[Stores]:
    opened = create_stores(settings, FixedClock(), embedder)
    yield opened
    await opened.close()


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


LIBRARY = [
    ("pet", "The kitten sleeps all day."),
    ("drive", "He parked the automobile outside."),
    ("sky", "A storm is coming."),
    ("pay", "Her wage was raised."),
]


@pytest.fixture
async def library(stores: Stores) -> Stores:
    await stores.artifacts.add([artifact(n, t, at=i) for i, (n, t) in enumerate(LIBRARY)])
    await filled(stores)
    return stores


@pytest.mark.parametrize(
    ("text", "best"),
    [("where is the cat", "pet"), ("which vehicle", "drive"), ("給料は？", "pay")],
)
async def test_what_is_said_in_other_words_is_found(library: Stores, text: str, best: str) -> None:
    recall = await library.artifacts.recall(asking(text))
    assert ids(recall)[0] == best
    assert recall.candidates[0].why[0].startswith("meaning: ")
    assert recall.warnings == []


async def test_what_was_just_stored_is_found_by_its_words_before_it_has_vectors(
    stores: Stores, embedder: TopicEmbedder
) -> None:
    embedder.broken = "away"
    await stores.artifacts.add([artifact("pet", "The kitten sleeps.")])
    embedder.broken = ""
    assert ids(await stores.artifacts.recall(asking("kitten"))) == ["pet"]


async def test_a_dead_embedder_costs_meaning_and_a_warning_not_the_turn(
    library: Stores, embedder: TopicEmbedder
) -> None:
    embedder.broken = "away"
    recall = await library.artifacts.recall(asking("the kitten of the cat"))
    assert ids(recall) == ["pet"]
    assert recall.warnings == ["lexical recall only: embedder test/topics is away"]


async def test_a_text_without_letters_is_not_embedded(
    library: Stores, embedder: TopicEmbedder
) -> None:
    recall = await library.artifacts.recall(asking("?! 。"))
    assert embedder.asked == []
    assert recall.warnings == []


async def test_a_weight_of_zero_switches_meaning_off(
    settings: Settings, embedder: TopicEmbedder
) -> None:
    off = settings.model_copy(update={"recall": RecallWeights(dense=0)})
    stores = create_stores(off, FixedClock(), embedder)
    await stores.artifacts.add([artifact("pet", "The kitten sleeps.")])
    assert ids(await stores.artifacts.recall(asking("cat"))) == []
    assert embedder.asked == embedder.embedded == []
    await stores.close()


async def test_nobody_is_near_to_others(library: Stores) -> None:
    assert ids(await library.artifacts.recall(asking("cat", key=OTHER_USER))) == []
    await library.artifacts.add([artifact("theirs", "a car", tenant=OTHER_USER.tenant)])
    await filled(library)
    found = await library.artifacts.recall(asking("feline", key=OTHER_USER))
    assert ids(found) == ["theirs"]


async def test_before_leaves_out_what_is_newer(library: Stores) -> None:
    found = ids(await library.artifacts.recall(asking("wage", before=START)))
    assert found == []


async def test_what_is_near_and_old_enough_is_found_behind_much_that_is_newer(
    stores: Stores,
) -> None:
    old = [artifact(f"old-{n}", "A kitten in a storm.", at=n) for n in range(2)]
    new = [artifact(f"new-{n}", "A kitten.", at=1000 + n) for n in range(250)]
    await stores.artifacts.add([*old, *new])
    await filled(stores)
    query = asking("feline", before=START + timedelta(seconds=500))
    assert sorted(ids(await stores.artifacts.recall(query))) == ["old-0", "old-1"]


async def test_the_first_question_of_a_process_finds_what_later_ones_find(
    library: Stores, settings: Settings
) -> None:
    embedder = TopicEmbedder()
    other = create_stores(settings, FixedClock(), embedder)
    assert embedder.dimension is None
    # Words for all of them, so that vectors of what has the words are looked for too.
    query = asking("a cat, a wage, a storm or an automobile")
    first = await other.artifacts.recall(query)
    assert embedder.dimension is not None
    assert sorted(ids(first)) == sorted(name for name, _ in LIBRARY)
    later = await other.artifacts.recall(query)
    assert ids(later) == ids(first)
    assert [item.score for item in later.candidates] == pytest.approx(
        [item.score for item in first.candidates], abs=1e-5
    )
    await other.close()


async def test_a_replaced_artifact_is_near_by_its_new_text_alone(library: Stores) -> None:
    await library.artifacts.add([artifact("pet", "A storm with heavy rain.")])
    await filled(library)
    assert ids(await library.artifacts.recall(asking("weather")))[0] in {"pet", "sky"}
    assert ids(await library.artifacts.recall(asking("feline")))[0] != "pet"


async def test_retired_turns_are_not_near(stores: Stores) -> None:
    await stores.artifacts.add([turn(1, "a cat"), turn(2, "a kitten")])
    await filled(stores)
    await stores.artifacts.retire(KEY, 1)
    assert ids(await stores.artifacts.recall(asking("feline"))) == ["s-1-t1"]


async def test_erasing_leaves_no_vector_to_find(library: Stores) -> None:
    await library.artifacts.recall(asking("feline"))
    await library.artifacts.erase(KEY.tenant)
    assert ids(await library.artifacts.recall(asking("feline"))) == []
    await library.artifacts.add([artifact("new", "His salary.")])
    await filled(library)
    assert ids(await library.artifacts.recall(asking("money cat"))) == ["new"]


async def test_a_turn_is_near_by_what_was_said_before_it_too(
    stores: Stores, embedder: TopicEmbedder
) -> None:
    await stores.artifacts.add([turn(1, "Is it the cat?"), turn(2, "Yes, since May!")])
    await filled(stores)
    assert "Is it the cat?\nYes, since May!" in embedder.embedded


async def test_an_end_of_a_long_text_is_near_too(stores: Stores) -> None:
    filler = "Nothing happened on that day. " * 100
    await stores.artifacts.add([artifact("long", f"{filler} A kitten came."), artifact("x", "car")])
    await filled(stores)
    assert ids(await stores.artifacts.recall(asking("feline")))[0] == "long"


async def test_another_process_sees_new_vectors(
    library: Stores, settings: Settings, embedder: TopicEmbedder
) -> None:
    other = create_stores(settings, FixedClock(), embedder)
    await other.artifacts.recall(asking("feline"))
    await library.artifacts.add([artifact("second", "Another feline."), artifact("third", "rain")])
    await filled(library)
    assert set(ids(await other.artifacts.recall(asking("a cat")))[:2]) == {"pet", "second"}
    await other.close()


async def test_another_model_has_everything_embedded_again(
    library: Stores, settings: Settings
) -> None:
    newer = TopicEmbedder(model="test/newer", dimension=96)
    other = create_stores(settings, FixedClock(), newer)
    before = await other.artifacts.recall(asking("the kitten"))
    assert (ids(before)[0], before.warnings) == ("pet", [])
    await filled(other)
    assert sorted(newer.embedded) == sorted(text for _, text in LIBRARY)
    assert ids(await other.artifacts.recall(asking("vehicle")))[0] == "drive"
    await other.close()


async def test_another_dimension_under_the_same_name_is_told_and_embedded_again(
    library: Stores, embedder: TopicEmbedder
) -> None:
    embedder.embedded.clear()
    embedder.change_dimension(128)
    recall = await library.artifacts.recall(asking("the kitten"))
    assert ids(recall)[0] == "pet"
    assert recall.warnings == [
        "embedder test/topics has dimension 128 now, 64 before; stored artifacts are being "
        "embedded again, and found by lexical search until then"
    ]
    await filled(library)
    assert sorted(embedder.embedded) == sorted(text for _, text in LIBRARY)
    after = await library.artifacts.recall(asking("vehicle"))
    assert (ids(after)[0], after.warnings) == ("drive", [])


class _Tiring(TopicEmbedder):
    """Gives vectors for one call, then no more."""

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.embedded:
            self.broken = "tired"
        return await super().passages(texts)


async def test_vectors_of_two_dimensions_are_never_compared(
    stores: Stores, settings: Settings, embedder: TopicEmbedder
) -> None:
    """Half of the store was embedded anew elsewhere, and this process learns of it only now."""
    await stores.artifacts.add([artifact("old", "The kitten sleeps.", at=0)])
    await stores.artifacts.add([artifact(f"car {i}", "a vehicle", at=1 + i) for i in range(16)])
    await filled(stores)
    elsewhere = create_stores(settings, FixedClock(), _Tiring(dimension=128))
    await elsewhere.artifacts.recall(asking("the weather"))
    with pytest.raises(EmbedderError, match="tired"):
        await filled(elsewhere)
    await elsewhere.close()
    embedder.change_dimension(128, reported=False)
    # The vectors of what the words found are read meanwhile.
    embedder.takes_s = 0.1
    recall = await stores.artifacts.recall(asking("the kitten"))
    assert ids(recall)[0] == "old"
    assert recall.candidates[0].why[-1] == "words: kitten"


async def test_a_text_that_is_refused_is_found_by_its_words_and_holds_nobody_up(
    stores: Stores, embedder: TopicEmbedder
) -> None:
    embedder.refuses = "secret"
    await stores.artifacts.add(
        [
            artifact("odd", "a secret kitten"),
            artifact("car", "my car", at=1),
            artifact("pet", "cat"),
        ]
    )
    await filled(stores)
    assert ids(await stores.artifacts.recall(asking("secret")))[0] == "odd"
    assert ids(await stores.artifacts.recall(asking("vehicle")))[0] == "car"
    count = len(embedder.embedded)
    await filled(stores)
    assert len(embedder.embedded) == count
