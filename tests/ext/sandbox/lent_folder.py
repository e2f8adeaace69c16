"""A folder that is lent, a body that walks to the things that stand for acts, and what came of it.

The screen of these tests is two executables that note what they are told.
"""

import os
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.rights import RIGHTS, Right, WorkLog
from acc_ace.ext.sandbox.workspace import Workspace, rights_of
from acc_ace.ext.survivor.survival import Cell
from acc_ace.ext.survivor.world import Observation, Touch
from acc_ace.ext.survivor.world_rules import ACTIONS, KINDS, MOVES, TERRAIN, beside
from acc_ace.model_settings import PlaygroundSettings

TITLE = "A small window"
SECRET = "only-the-host-knows-this"
WALKABLE = {TERRAIN.index(name) for name in ("plain", "thicket", "safe")}
MOST_WALK = 600
"""Steps within which every world has a thing of every right."""


class Row(NamedTuple):
    """An act of the log, as it is stored."""

    life: str
    step: int
    kind: str
    right: str
    outcome: str
    shown: str
    ms: float


def rows_of(data: Path) -> list[Row]:
    """The acts of a data directory, the oldest first."""
    path = data / "workspace.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as db:
        found = "select life, step, kind, stage, outcome, shown, ms from acts order by rowid"
        return [Row(*row) for row in db.execute(found)]


def lend(log: WorkLog, folder: Path, right: Right) -> None:
    """Grant every stage up to a right."""
    for stage in RIGHTS[: RIGHTS.index(right) + 1]:
        log.give(folder, stage, TITLE)


def box(seconds: float = 10.0) -> Box:
    return Box(PlaygroundSettings(command="bwrap", seconds=seconds))


class Used(NamedTuple):
    """What a use of a thing came to."""

    kind: str
    touch: Touch
    text: str


class Life:
    """A body in the workspace of a seed, which goes to what it sees."""

    def __init__(
        self, log: WorkLog, *, seed: int = 1, layout: int = 7, in_box: Box | None = None
    ) -> None:
        self.world, self.rights = Workspace(seed, log, in_box or box()), rights_of(seed)
        self.made: list[str] = []
        """The steps so far."""
        self._ground: dict[Cell, int] = {}
        self._things: dict[Cell, str] = {}
        self._look(*self.world.reset(seed=layout))

    def use(self, right: Right) -> Used:
        """Go to a thing that takes a right, and use it."""
        kinds = {kind for kind, its in self.rights.items() if its == right}
        for _ in range(MOST_WALK):
            here = self._things.get(self._at, "")
            self.step(step := self._towards(kinds))
            if step == "use":
                touch = self.info["touch"]
                assert isinstance(touch, Touch)
                return Used(here, touch, self.info["signs"][-1])
        raise AssertionError(f"no thing for {right} was in reach")

    def step(self, step: str) -> None:
        """Make one step, and note it."""
        self.made.append(step)
        observation, _, _, _, info = self.world.step(np.int64(ACTIONS.index(step)))
        self._look(observation, info)

    def _look(self, now: Observation, info: dict[str, Any]) -> None:
        self.body: tuple[int, ...] = tuple(map(int, now["body"]))
        row, column = map(int, now["place"])
        self._at, self.info, sight = (row, column), info, self.world.sizes.sight
        for (south, east), code in np.ndenumerate(now["terrain"]):
            cell = (row + south - sight, column + east - sight)
            if code:
                self._ground[cell] = int(code)
                self._things.pop(cell, None)
                if thing := int(now["things"][south, east]):
                    self._things[cell] = KINDS[thing - 1]

    def _towards(self, kinds: set[str]) -> str:
        """The next step to the nearest thing of the kinds, or to the nearest unknown place."""
        first, queue, unknown = {self._at: ""}, [self._at], ""
        for at in queue:
            if self._things.get(at) in kinds:
                return first[at] or "use"
            for way in MOVES:
                cell = beside(at, way)
                if cell not in self._ground:
                    unknown = unknown or first[at] or way
                elif cell not in first and self._ground[cell] in WALKABLE:
                    first[cell] = first[at] or way
                    queue.append(cell)
        return unknown or "wait"


def seen(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: mode, time of change, and content or where a link leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status, content = path.lstat(), b""
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        at = 0 if path.is_dir() else status.st_mtime_ns
        found[str(path.relative_to(folder))] = (status.st_mode, at, content)
    return found


def without(found: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in set(names)}


def fake_screen(folder: Path) -> str:
    """Executables in place of xdotool and xwd; returns a PATH that finds them first."""
    folder.mkdir(parents=True, exist_ok=True)
    noted = folder / "noted"
    says = f'printf "%s " "$@" >> "{noted}"\necho >> "{noted}"\n'
    tools = {
        "xdotool": f'#!/bin/sh\n{says}[ "$1" = search ] && echo 7 || echo "{TITLE}"\n',
        "xwd": f'#!/bin/sh\n{says}printf "a picture" > "$5"\n',
    }
    for name, text in tools.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
