"""What a turn calls: files, functions, calls from room to room, and the walk of a delta.

- A function is a code object: lambdas and comprehensions count where Python calls them as such.
- A call goes from room to room when the function that called, or the nearest one of the product
  above it, lies in another folder; all of `core` is one room, each extension is its own.
- The walk of a Curator's delta is the modules of the functions that are given it (an operation, a
  batch, a result, also in a list), in the order of the calls. A stay ends where another module
  gets it; a return is a stay in a module in which it has been before.
"""

import sys
import threading
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

from bench.house_code import AGENTS, name_of, room_of

_ROOT: Final = f"{AGENTS}/"
_DELTA: Final = "Delta"
_LOOKED_AT: Final = 4
"""Items of a list, and levels of nesting, in which a delta is looked for."""


class Calls(NamedTuple):
    """What was called while it was followed."""

    files: int
    functions: int
    crossings: int
    stays: int
    returns: int


class Follower:
    """Follows calls while it is on, in threads that start after `watch`."""

    def __init__(self) -> None:
        self.on = False
        self._functions: set[CodeType] = set()
        self._crossings = 0
        self._walk: list[str] = []

    def watch(self) -> None:
        """Follow this thread and every one that starts from now on."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def calls(self) -> Calls:
        """What was called."""
        places = {*self._walk}
        return Calls(
            len({code.co_filename for code in self._functions}),
            len(self._functions),
            self._crossings,
            len(self._walk),
            len(self._walk) - len(places),
        )

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if not self.on or event != "call" or not code.co_filename.startswith(_ROOT):
            return
        self._functions.add(code)
        caller = _nearest(frame.f_back)
        if caller is not None and _room(caller.co_filename) != _room(code.co_filename):
            self._crossings += 1
        if self._walk[-1:] != [code.co_filename] and _is_given_a_delta(frame):
            self._walk.append(code.co_filename)


def _nearest(frame: FrameType | None) -> CodeType | None:
    while frame is not None and not frame.f_code.co_filename.startswith(_ROOT):
        frame = frame.f_back
    return frame.f_code if frame is not None else None


@cache
def _room(file: str) -> str:
    room = room_of(name_of(Path(file)))
    return "core" if room.startswith("core/") else room


def _is_given_a_delta(frame: FrameType) -> bool:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(_holds_delta(frame.f_locals.get(name), _LOOKED_AT) for name in names)


def _holds_delta(value: object, levels: int) -> bool:
    if type(value).__name__.startswith(_DELTA) and type(value).__module__.startswith("acc_ace"):
        return True
    items: Iterable[object] = ()
    if levels and isinstance(value, list | tuple):
        items = value
    elif levels and isinstance(value, dict):
        items = value.values()
    return any(_holds_delta(item, levels - 1) for item in islice(items, _LOOKED_AT))
