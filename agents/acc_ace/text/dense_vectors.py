"""Vectors of texts, without numpy: 32-bit floats that any library can read in place."""

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Vector = array[float]
else:
    # Python 3.11 has no array[float] at run time.
    Vector = array
"""An array of 32-bit floats (typecode 'f')."""

MAX_DIMENSION = 4_000
"""Longest vector that is kept: the most that pgvector can index as half-precision floats."""


def unit_vector(values: Iterable[float]) -> Vector:
    """The values at length 1.

    Raises ValueError for no values, too many, one that is not finite, or nothing but zeros.
    """
    vector = array("f", values)
    if not 0 < len(vector) <= MAX_DIMENSION:
        raise ValueError(f"a vector of {len(vector)} numbers; 1 to {MAX_DIMENSION} are expected")
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or not length:
        raise ValueError("a vector of no length, or with a number that is not finite")
    return array("f", (value / length for value in vector))
