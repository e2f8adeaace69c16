"""The index of signs finds what exact cosines find, whatever the size of its blocks."""

import numpy as np
import pytest

from acc_ace.ext.semantic.sign_index import SignIndex, bytes_per_vector, centred_cosines, drawn_mean

pytestmark = pytest.mark.filterwarnings("error")


def cone(count: int, dimension: int, seed: int = 1) -> np.ndarray:
    """Unit vectors that all point about the same way, as a model's do."""
    random = np.random.default_rng(seed)
    axis = 3 * random.standard_normal(dimension)
    # Twenty subjects, so that some are near to each other.
    subjects = random.standard_normal((20, dimension))
    rows = axis + 2 * subjects[np.arange(count) % 20] + random.standard_normal((count, dimension))
    unit: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def filled(vectors: np.ndarray, step: int) -> SignIndex:
    index = SignIndex(drawn_mean(vectors.sum(axis=0, dtype=np.float64), len(vectors)))
    for first in range(0, len(vectors), step):
        rows = vectors[first : first + step]
        index.add(np.arange(first, first + len(rows)), rows)
    return index


@pytest.mark.parametrize("dimension", [8, 64, 100, 384])
def test_the_nearest_by_angle_are_among_the_nearest_by_sign(dimension: int) -> None:
    vectors = cone(2_000, dimension)
    index = filled(vectors, 700)
    query = vectors[42]
    near = index.nearest(query, 400)
    exact = np.argsort(-centred_cosines(query, vectors, index.mean))[:10]
    assert near[0] in range(2_000)
    assert len(set(exact.tolist()) & set(near)) >= 8


def test_how_vectors_are_added_changes_nothing() -> None:
    vectors = cone(20_000, 64)
    query = vectors[7]
    found = [sorted(filled(vectors, step).nearest(query, 50)) for step in (20_000, 8_192, 333)]
    assert found[0] == found[1] == found[2]


def test_an_owner_of_many_vectors_is_found_once() -> None:
    vectors = cone(100, 64)
    index = SignIndex(np.zeros(64, dtype=np.float32))
    index.add(np.zeros(100, dtype=np.int64), vectors)
    assert index.nearest(vectors[0], 50) == [0]


@pytest.mark.parametrize("limit", [1, 5, 6, 12, 20, 21])
def test_of_vectors_as_near_the_last_are_taken(limit: int) -> None:
    index = SignIndex(np.zeros(64, dtype=np.float32))
    nearest, farthest = np.ones((1, 64), dtype=np.float32), -np.ones((1, 64), dtype=np.float32)
    middle = np.concatenate([nearest[:, :32], farthest[:, :32]], axis=1)
    rows = np.concatenate([nearest] * 5 + [middle] * 10 + [farthest] * 6)
    index.add(np.arange(21), rows)
    expected = sorted([*range(5)[-limit:], *_last(range(5, 15), limit - 5)])
    assert sorted(index.nearest(nearest[0], limit)) == [
        *expected,
        *_last(range(15, 21), limit - 15),
    ]


def _last(owners: range, count: int) -> list[int]:
    return list(owners)[max(0, len(owners) - count) :] if count > 0 else []


def test_an_empty_index_finds_nothing() -> None:
    assert SignIndex(np.zeros(64, dtype=np.float32)).nearest(np.ones(64, dtype=np.float32), 5) == []


def test_memory_is_what_is_said() -> None:
    index = filled(cone(9_000, 384), 9_000)
    assert bytes_per_vector(384) == 56
    assert index.nbytes == 2 * 8_192 * 56
