"""Find the vectors nearest to one, by their signs: one bit for each number.

The signs of vectors, after the mean of all is subtracted, differ in about as many places as the
vectors differ in angle (Charikar, "Similarity estimation techniques from rounding algorithms",
2002). So a scan of the bits finds a few hundred good candidates, of which the exact vectors are
then read: 16-bit floats at rest, 32-bit ones in numpy. Without the mean it would not work: texts
of one model all point into the same cone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acc_ace.core.text.duplicates import Vector

Floats = NDArray[np.float32]

_BLOCK = 8_192
"""Vectors of a block; a block is filled once and never moved."""

_WORD = 64

_PRIOR = 8.0
"""Vectors at zero that the mean is drawn towards, so that a few vectors are not all of it."""


def bytes_per_vector(dimension: int) -> int:
    """Memory of one vector in the index: its signs and the number of its owner."""
    return 8 * _words(dimension) + 8


def drawn_mean(total: NDArray[np.float64], count: int) -> Floats:
    """The mean of `count` vectors that add up to `total`, a little nearer to zero for a few."""
    return (total / (count + _PRIOR)).astype(np.float32)


def centred_cosines(query: Floats, vectors: Floats, mean: Floats) -> Floats:
    """The cosine of the query with each row, the mean taken off of both; -1..1."""
    wanted, others = query - mean, vectors - mean
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(wanted)
    cosines: Floats = (others @ wanted) / np.maximum(lengths, 1e-9)
    return cosines


class SignIndex:
    """The signs of many vectors, taken against `centre`, with the number of the owner of each.

    Not for use by two threads at once.
    """

    def __init__(self, centre: Floats) -> None:
        self.dimension = len(centre)
        self.size = 0
        self._centre = centre
        self._sum = np.zeros(self.dimension, dtype=np.float64)
        self._signs: list[NDArray[np.uint64]] = []
        self._owners: list[NDArray[np.int64]] = []

    @property
    def nbytes(self) -> int:
        """Memory that is set aside, in bytes."""
        return len(self._signs) * _BLOCK * bytes_per_vector(self.dimension)

    @property
    def mean(self) -> Floats:
        """The mean of all vectors, a little nearer to zero while there are few."""
        return drawn_mean(self._sum, self.size)

    def add(self, owners: NDArray[np.int64], vectors: Floats) -> None:
        """Add vectors, a row each, with their owners."""
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        signs = self._signs_of(vectors)
        done = 0
        while done < len(owners):
            at = self.size % _BLOCK
            if at == 0:
                self._signs.append(np.empty((_words(self.dimension), _BLOCK), dtype=np.uint64))
                self._owners.append(np.empty(_BLOCK, dtype=np.int64))
            count = min(_BLOCK - at, len(owners) - done)
            self._signs[-1][:, at : at + count] = signs[:, done : done + count]
            self._owners[-1][at : at + count] = owners[done : done + count]
            self.size += count
            done += count

    def nearest(self, query: Floats, limit: int) -> list[int]:
        """Owners of the `limit` vectors whose signs differ least from the query's; each once.

        Of those that differ as much, the ones added last are taken.
        """
        if not self.size:
            return []
        wanted = self._signs_of(query[None, :])
        distances = np.concatenate(
            [_differences(block, wanted) for block in self._signs], dtype=np.uint16
        )[: self.size]
        owners = np.concatenate(self._owners)[: self.size]
        if limit < self.size:
            owners = owners[_least(distances, limit)]
        return list(dict.fromkeys(owners.tolist()))

    def _signs_of(self, vectors: Floats) -> NDArray[np.uint64]:
        """The signs of each row, 64 in a word; (words, rows), so that a scan reads in order."""
        room = _words(self.dimension) * _WORD
        bits = np.zeros((len(vectors), room), dtype=np.bool_)
        bits[:, : self.dimension] = vectors > self._centre
        packed: NDArray[np.uint64] = np.packbits(bits, axis=1).view(np.uint64)
        return np.ascontiguousarray(packed.T)


def _least(distances: NDArray[np.uint16], limit: int) -> NDArray[np.intp]:
    """Positions of the `limit` least distances; of equal ones, the last."""
    # numpy partitions 16-bit numbers fifty times as fast as it does their positions.
    most = np.partition(distances, limit - 1)[limit - 1]
    nearer = np.flatnonzero(distances < most)
    as_near = np.flatnonzero(distances == most)
    return np.concatenate([nearer, as_near[len(as_near) + len(nearer) - limit :]])


def _words(dimension: int) -> int:
    return -(-dimension // _WORD)


def _differences(signs: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many places each column differs from the wanted one."""
    total = np.zeros(signs.shape[1], dtype=np.uint16)
    for word, other in zip(signs, wanted[:, 0], strict=True):
        total += np.bitwise_count(word ^ other)
    return total


def encode_float16(vector: Vector) -> bytes:
    """A vector as 16-bit floats, little-endian: of unit vectors exact to about 0.0005."""
    return np.frombuffer(vector, dtype=np.float32).astype("<f2").tobytes()


def decode_float16(blobs: Sequence[bytes], dimension: int) -> Floats:
    """Stored vectors as a matrix, a row each. Raises ValueError when one is of another length."""
    joined = np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float32)
    return joined.reshape(len(blobs), dimension)


def floats(vector: Vector) -> Floats:
    """A vector for numpy, without a copy."""
    return np.frombuffer(vector, dtype=np.float32)
