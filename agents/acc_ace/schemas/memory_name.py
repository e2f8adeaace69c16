"""The names of the memory strategies."""

from typing import Literal, get_args

MemoryName = Literal["acc", "replay", "window", "summary", "retrieval"]
"""acc: the compressed state. The others are classic strategies over messages."""

MEMORIES: tuple[MemoryName, ...] = get_args(MemoryName)
