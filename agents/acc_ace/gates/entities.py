"""Carry focal entities from turn to turn: the latest facts first, the longest unmentioned out."""

import unicodedata
from collections.abc import Sequence

from acc_ace.gates.ccs_budget import append_fitting
from acc_ace.text.normalize import visible
from acc_ace.text.patterns import lazy_pattern

_FACT = lazy_pattern(r"\s*[(（=＝\[【].*$|\s+[-–—]\s.*$")
"""What follows the name of an entity: 'server:db-01 (down)', 'server:db-01 = down'."""


def merge_entities(
    kept: Sequence[str], previous: Sequence[str], said: str, *, budget: int, max_items: int
) -> list[str]:
    """The CCM's entities, then the earlier ones that still fit.

    Earlier ones that x_t mentions stand before the others. An earlier fact about an entity that
    the CCM lists again is replaced by the CCM's.
    """
    known = {_identity(item) for item in kept}
    earlier = [item for item in previous if _identity(item) not in known]
    heard = _folded(said)
    earlier.sort(key=lambda item: _name(item) not in heard)
    return append_fitting(list(kept), earlier, budget=budget, max_items=max_items)


def _identity(item: str) -> str:
    return _FACT.sub("", _folded(item)).strip()


def _name(item: str) -> str:
    """The name without its type."""
    identity = _identity(item)
    return identity.partition(":")[2].strip() or identity


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", visible(text)).casefold()
