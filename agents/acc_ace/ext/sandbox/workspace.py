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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground import MOST_BYTES
from acc_ace.ext.sandbox.review import objection
from acc_ace.ext.sandbox.rights import RIGHTS, Grant, NotDone, Right, WorkAct, WorkEnd, WorkLog
from acc_ace.ext.sandbox.windows import Windows
from acc_ace.ext.survivor.world import Observation, Touch, World
from acc_ace.ext.survivor.world_rules import KINDS, WorldRules

MOST_FILES: Final = 1_000
"""Files of the folder that count."""

OWN: Final = tuple(f"survivor-{number}.txt" for number in range(8))
"""The files that it writes, and no others but the picture."""

PICTURE, MOST_PICTURE = "survivor-window.img", 32 * 1024 * 1024
"""Where what the window shows is saved, and the bytes of it that are."""

_LINE: Final = 80
"""Characters that are shown of a file or of what a script printed."""

_WORDS: Final[Mapping[Right, str]] = {
    "observe": "list folder files",
    "read": "read open file",
    "write": "write save change modify overwrite file disk",
    "run": "run execute start script program code スクリプト プログラム 実行",
    "gui": "click type open window mouse screen screenshot picture クリック 入力 画面 ウィンドウ",
}
"""What an act does, for rules that forbid it."""


def rights_of(seed: int) -> dict[str, Right]:
    """The right that each kind takes in the world of a seed; each is that of two kinds."""
    kinds = random.Random(seed).sample(KINDS, len(KINDS))  # noqa: S311 - a world, no secret
    return dict(zip(kinds, RIGHTS * 2, strict=True))


class Workspace(World):
    """The world of a seed with acts for things; `info['signs']` has what the last one showed."""

    def __init__(self, seed: int, log: WorkLog, box: Box) -> None:
        super().__init__(WorldRules.drawn(seed))
        self._log, self._box, self._rights = log, box, rights_of(seed)
        self.acts = {kind: _WORDS[right] for kind, right in self._rights.items()}
        self._texts = list[str]()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Lay out the world; `seed`, and when it was `born` by the options, name the life."""
        self._life = f"{seed} {(options or {}).get('born') or ''}".strip()
        self._log.tidy()
        return super().reset(seed=seed, options=options)

    def use(self) -> Touch | None:
        """Act as the kind of the thing here does. Raises StoreError, also without the folder."""
        code = int(self._things[self._at])
        if not code:
            return None
        kind, number = KINDS[code - 1], self._at[0] * self.sizes.side + self._at[1]
        if is_cancelled():
            raise asyncio.CancelledError
        act = WorkAct(self._life, self._step, kind, self._rights[kind])
        if self.is_relived:
            outcome, text = self._log.once(act, str, is_relived=True)
        else:
            with (grant := self._log.grant()).opened() as folder:
                do = partial(self._act, grant, act.right, folder, number)
                outcome, text = self._log.once(act, do, is_relived=False)
        self._texts = [f"{kind} ({act.right}) {outcome}: {text}"]
        if outcome is WorkEnd.DONE:
            return super().use()
        self._taken(self._at)
        return Touch(kind, self._change(life=-self.sizes.harm * (outcome is WorkEnd.FAILED))[0])

    def _act(self, grant: Grant, right: Right, folder: int, number: int) -> str:
        """Do what a right is of; `number` chooses among the files. Returns what it showed."""
        if not grant.covers(right):
            raise NotDone(f"the right to {right} is not granted", WorkEnd.REFUSED)
        try:
            return self._done(grant, right, folder, number)
        except (NotDone, OSError) as error:
            ended = WorkEnd.CUT_OFF if is_cancelled() else WorkEnd.FAILED
            raise NotDone(str(error), ended) from error

    def _done(self, grant: Grant, right: Right, folder: int, number: int) -> str:
        names = _files(folder)
        match right:
            case "observe":
                return f"{len(names)} files: {' '.join(names[number % max(len(names), 1) :][:8])}"
            case "read":
                name, content = _content(folder, names, number)
                return f"{name}: {content[:_LINE].decode('utf-8', 'replace')}"
            case "write":
                _put(
                    folder,
                    name := OWN[number % len(OWN)],
                    f"{datetime.now(UTC)} {number}\n".encode(),
                )
                return f"wrote {name}"
            case "run":
                name, source = _content(
                    folder, [each for each in names if each[-3:] == ".py"], number
                )
                return f"{name} printed {_printed(name, source, names, self._box)[:_LINE]}"
            case "gui":
                windows, picture = (
                    Windows(grant.window, cancel=is_cancelled),
                    self._log.path.with_suffix(".img"),
                )
                titles = windows.titles()
                # No tool writes into the folder, where a link may lie.
                windows.screenshot(picture)
                with picture.open("rb") as file:
                    _put(folder, PICTURE, file.read(MOST_PICTURE))
                windows.click()
                windows.type(f"survivor {number}")
                return f"windows: {' | '.join(titles)}"

    def _info(self, touch: Touch | None, hits: tuple[Touch, ...]) -> dict[str, Any]:
        info, texts = super()._info(touch, hits), self._texts
        self._texts = []
        return info | {"signs": (*info["signs"], *texts)}


def _printed(name: str, source: bytes, names: list[str], box: Box) -> str:
    """What a script printed; it is told the names of the files."""
    why = objection(name, source, (), datetime.now(UTC))
    text = ""
    if not why:
        text, why = box.run_now(source, json.dumps(names).encode(), is_cancelled)
    if why:
        raise NotDone(f"{name}: {why}")
    return text


def is_cancelled() -> bool:
    """Whether the run is to end: a step is no coroutine, and what it waits for has to be told."""
    with suppress(RuntimeError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return False


def _files(folder: int) -> list[str]:
    """The names of plain files but hidden ones and the picture, sorted; no links."""
    with os.scandir(folder) as items:
        files = (item.name for item in items if item.is_file(follow_symlinks=False))
        return sorted(name for name in files if name[0] != "." and name != PICTURE)[:MOST_FILES]


def _content(folder: int, names: Sequence[str], number: int) -> tuple[str, bytes]:
    """A file of some, never through a link. Raises NotDone for none, or a long one."""
    if not names:
        raise NotDone("the folder has no such file")
    name = names[number % len(names)]
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(opened, "rb") as file:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise NotDone(f"{name} is no plain file of its own")
        if len(content := file.read(MOST_BYTES + 1)) > MOST_BYTES:
            raise NotDone(f"{name} has more than {MOST_BYTES:,} bytes")
        return name, content


def _put(folder: int, name: str, content: bytes) -> None:
    """Write a file whole, in place of what stood there, also of a link."""
    new = f".{name}.new"
    with suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with open(opened, "wb") as file:
            file.write(content)
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(new, dir_fd=folder)
        raise
