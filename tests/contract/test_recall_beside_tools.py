"""Turns that used many tools: what was said in and beside them is still found."""

from collections.abc import Sequence

import pytest

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, Recall
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_SESSION, artifact, asking, turn

ANSWERED = {
    5: "user: go on\nagent: Which colour has the gazebo?",
    6: "user: It is ultramarine\nagent: noted",
}


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


def results(number: int, count: int) -> list[Artifact]:
    """What tools gave in a turn."""
    return [
        artifact(
            f"tool-{number}-{at}",
            f"row {at} of output",
            at=number,
            kind=ArtifactKind.TOOL_RESULT,
            session=KEY.session,
            turn=number,
        )
        for at in range(count)
    ]


def talk(tools: Sequence[int]) -> list[Artifact]:
    """Ten turns with so many tool results each; a turn is stored before its results."""
    stored: list[Artifact] = []
    for number, count in enumerate(tools, start=1):
        stored.append(turn(number, ANSWERED.get(number, f"user: step {number}\nagent: done")))
        stored += results(number, count)
    return stored


@pytest.mark.parametrize(
    "tools",
    [(0,) * 10, (0,) * 5 + (8,) + (0,) * 4, (6,) * 10, (0, 0, 15, 15, *(0,) * 6)],
    ids=["none", "8 behind the question", "6 a turn", "15 in two turns before"],
)
async def test_the_answer_behind_a_question_is_found_beside_tool_results(
    stores: Stores, tools: Sequence[int]
) -> None:
    await stores.artifacts.add(talk(tools))
    query = asking("gazebo colour", key=OTHER_SESSION, limit=20)
    assert ids(await stores.artifacts.recall(query))[:2] == ["s-1-t5", "s-1-t6"]


async def test_results_of_the_turn_that_matches_are_found_too(stores: Stores) -> None:
    await stores.artifacts.add(talk((0, 0, 0, 0, 3)))
    query = asking("gazebo colour", key=OTHER_SESSION, limit=20)
    assert {f"tool-5-{at}" for at in range(3)} <= set(ids(await stores.artifacts.recall(query)))
