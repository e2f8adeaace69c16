"""Public contract: the survivor's plan and snapshot. Defined in `acc_ace.ext.survivor.survival`.

The survivor is an extension: its names are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acc_ace.ext.survivor.survival import LoopSnapshot, Plan

__all__ = ["LoopSnapshot", "Plan"]


def __getattr__(name: str) -> object:
    """One of the two names, from the extension."""
    if name in __all__:
        return getattr(import_module("acc_ace.ext.survivor.survival"), name)
    raise AttributeError(f"module 'schemas.survival' has no attribute {name!r}")
