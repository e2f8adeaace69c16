"""A world whose things stand for acts in one folder that a person lends: the hybrid phase.

Each kind is dealt a right by the seed. To use a thing is to act: list the folder, read a file,
write one, run a script of it in the sandbox, or look at, click and type in a window. What goes well
does to the body what the kind does; what fails harms it; what has no right does nothing. So fear,
curiosity and lessons form about real acts, and everything that holds in the world holds here.
"""

import asyncio
import json
import os
import random
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from acc_ace.errors import StoreError
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground import MOST_BYTES, replace_file
from acc_ace.ext.sandbox.review import objection
from acc_ace.ext.sandbox.rights import RIGHTS, Grant, NotDone, Outcome, Right, WorkAct, WorkLog
from acc_ace.ext.sandbox.windows import Windows
from acc_ace.ext.survivor.world import Observation, Touch, World
from acc_ace.ext.survivor.world_rules import KINDS, WorldRules

MOST_FILES: Final = 1_000
"""Files of the folder that count."""

OWN: Final = tuple(f"survivor-{number}.txt" for number in range(8))
"""The files that it writes, and no others."""

PICTURE, MOST_PICTURE = "survivor-window.img", 32 * 1024 * 1024
"""Where what the window shows is saved, and the bytes of it that are."""

_LINE: Final = 80
"""Characters that are shown of a file or of what a script printed."""

_THREAD: Final = ThreadPoolExecutor(1, "workspace")
"""Where the sandbox is waited for: a step of a world is no coroutine."""


def rights_of(seed: int) -> dict[str, Right]:
    """The right that each kind takes in the world of a seed; each is that of two kinds."""
    kinds = random.Random(seed).sample(KINDS, len(KINDS))  # noqa: S311 - a world, no secret
    return dict(zip(kinds, RIGHTS * 2, strict=True))


class Workspace(World):
    """The world of a seed with acts for things; `info['signs']` has what the last one showed."""

    def __init__(self, seed: int, log: WorkLog, box: Box) -> None:
        super().__init__(WorldRules.drawn(seed))
        self._log, self._box, self._rights = log, box, rights_of(seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Lay out the world; `seed` names the life in the log."""
        self._life, self._texts = seed or 0, list[str]()
        return super().reset(seed=seed, options=options)

    def use(self) -> Touch | None:
        """Act as the kind of the thing here does. Raises StoreError, also without the folder."""
        code = int(self._things[self._at])
        if not code:
            return None
        kind, number = KINDS[code - 1], self._at[0] * self.sizes.side + self._at[1]
        act = WorkAct(self._life, self._step, kind, self._rights[kind])
        folder = self._log.grant().folder
        if not self.is_relived and not folder.is_dir():
            raise StoreError(f"the workspace {folder} is gone")
        do = partial(self._do, act.right, number)
        outcome, text = self._log.once(act, do, is_relived=self.is_relived)
        self._texts = [f"{kind} ({act.right}) {outcome}: {text}"]
        if outcome is Outcome.DONE:
            return super().use()
        self._taken(self._at)
        return Touch(kind, self._change(life=-self.sizes.harm * (outcome is Outcome.FAILED))[0])

    def _do(self, right: Right, number: int) -> str:
        grant = self._log.grant()
        if not grant.covers(right):
            raise NotDone(f"the right to {right} is not granted", Outcome.REFUSED)
        try:
            return _act(grant, right, number, self._box)
        except (OSError, StoreError) as error:
            raise NotDone(str(error)) from error

    def _info(self, touch: Touch | None, hits: tuple[Touch, ...]) -> dict[str, Any]:
        info, texts = super()._info(touch, hits), self._texts
        self._texts = []
        return info | {"signs": (*info["signs"], *texts)}


def _act(grant: Grant, right: Right, number: int, box: Box) -> str:
    """Do what a right is of; `number` chooses among the files. Returns what it showed."""
    folder, names = grant.folder, sorted(_files(grant.folder))
    match right:
        case "observe":
            return f"{len(names)} files: {' '.join(names[number % max(len(names), 1) :][:8])}"
        case "read":
            name, content = _content(folder, names, number)
            return f"{name}: {content[:_LINE].decode('utf-8', 'replace')}"
        case "write":
            name = OWN[number % len(OWN)]
            replace_file(folder / name, f"{datetime.now(UTC).isoformat()}\n{number}\n".encode())
            return f"wrote {name}"
        case "run":
            name, source = _content(folder, [each for each in names if each[-3:] == ".py"], number)
            return f"{name} printed {_ran(name, source, names, box)[:_LINE]}"
        case "gui":
            return _use_window(grant, number)


def _ran(name: str, source: bytes, names: list[str], box: Box) -> str:
    """What a script printed; it is told the names of the files."""
    if why := objection(name, source, (), datetime.now(UTC)):
        raise NotDone(f"{name}: {why}")
    running = box.run(source, json.dumps(names).encode())
    text, why = _THREAD.submit(asyncio.run, running).result()
    if why:
        raise NotDone(f"{name}: {why}")
    return text


def _use_window(grant: Grant, number: int) -> str:
    windows = Windows(grant.window)
    titles = windows.titles().splitlines()
    with TemporaryDirectory() as private:
        # No tool writes into the folder, where a link may lie.
        windows.screenshot(picture := Path(private, PICTURE))
        with picture.open("rb") as file:
            replace_file(grant.folder / PICTURE, file.read(MOST_PICTURE))
    windows.click()
    windows.type(f"survivor {number}")
    return f"windows: {' | '.join(titles)}"


def _files(folder: Path) -> Iterator[str]:
    """The names of plain files, no links."""
    with os.scandir(folder) as items:
        for item in islice(items, MOST_FILES):
            if item.is_file(follow_symlinks=False):
                yield item.name


def _content(folder: Path, names: list[str], number: int) -> tuple[str, bytes]:
    """A file of some, never through a link. Raises NotDone for none, or a long one."""
    if not names:
        raise NotDone("the folder has no such file")
    name = names[number % len(names)]
    opened = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise NotDone(f"{name} is no plain file")
        if len(content := file.read(MOST_BYTES + 1)) > MOST_BYTES:
            raise NotDone(f"{name} has more than {MOST_BYTES:,} bytes")
        return name, content
