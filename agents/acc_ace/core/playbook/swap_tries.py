"""Tries of a compare-and-swap on a playbook that many write to at once."""

import asyncio
import random
from collections.abc import AsyncIterator
from time import monotonic
from typing import Final

WAIT_S: Final = 60.0
"""How long, in seconds, a writer tries to come first; a commit takes some milliseconds."""

_PAUSES_S: Final = (0.01, 0.5)
"""The longest first pause, and the longest of all."""


async def swap_tries(wait_s: float = WAIT_S) -> AsyncIterator[bool]:
    """Whether this is the last try, until the caller's loop ends.

    Between tries there is a random pause, so that writers do not meet again in lockstep.
    """
    until, longest = monotonic() + wait_s, _PAUSES_S[0]
    while monotonic() < until:
        yield False
        await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - spreads load
        longest = min(2 * longest, _PAUSES_S[1])
    yield True
