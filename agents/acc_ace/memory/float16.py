"""Vectors as they are stored and computed with: 16-bit floats at rest, 32-bit ones in numpy."""

from collections.abc import Sequence

import numpy as np

from acc_ace.memory.sign_index import Floats
from acc_ace.text.dense_vectors import Vector


def packed(vector: Vector) -> bytes:
    """A vector as 16-bit floats, little-endian: of unit vectors exact to about 0.0005."""
    return np.frombuffer(vector, dtype=np.float32).astype("<f2").tobytes()


def unpacked(blobs: Sequence[bytes], dimension: int) -> Floats:
    """Stored vectors as a matrix, a row each. Raises ValueError when one is of another length."""
    joined = np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float32)
    return joined.reshape(len(blobs), dimension)


def floats(vector: Vector) -> Floats:
    """A vector for numpy, without a copy."""
    return np.frombuffer(vector, dtype=np.float32)
