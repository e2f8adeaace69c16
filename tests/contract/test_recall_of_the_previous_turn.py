"""The previous turn is told with its reasons, however many artifacts match better."""

import pytest

from acc_ace.storage.create_stores import Stores
from tests.contract.values import asking, turn


@pytest.mark.parametrize("better", [10, 150, 600])
async def test_a_previous_turn_behind_many_better_matches_keeps_its_score_and_words(
    stores: Stores, better: int
) -> None:
    """It may be beyond the places, beyond what any query may ask for, beyond the pool."""
    turns = [turn(n, f"user: the lighthouse {n}\nagent: keeper {n}") for n in range(1, better)]
    filler = "filler words here " * 60
    previous = turn(better, f"user: {filler} lighthouse\nagent: ok")
    await stores.artifacts.add([*turns, previous])
    recall = await stores.artifacts.recall(asking("lighthouse keeper", limit=3))
    found = {item.artifact.artifact_id: item for item in recall.candidates}
    last = found[previous.artifact_id]
    assert len(found) == 3
    assert last.score > 0
    assert last.why[0] == "words: lighthouse"
    assert last.why[-1] == "previous turn"
