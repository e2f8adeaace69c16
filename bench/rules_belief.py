"""Whether compressors of known character are believed: alone with a user, and among many.

    python -m bench.rules_belief LABELLED.jsonl [--halves]

`LABELLED.jsonl` holds messages with labelled spans, as `bench/data/rules` does. One user says all
of them; then 20 honest users share them out, beside three hostile ones who make each count look as
wrong as it can for a compressor that reads well, and as right for one that does not. Prints at how
many messages each compressor was believed, from which one on it was not, and by how many honest
users it is believed at the end. With `--halves` it starts with the second half of the file.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.rules.reader import HEEDED
from acc_ace.turn.ccm_record import marks_of, trust_in
from acc_ace.turn.ports import Ccm
from bench.rules_columns import STANDING, Reply, Said, credulous, lying, mute, perfect, state_of

_APP: Final = "bench"
_HONEST, _HOSTILE = 20, 3
_GOALS: Final = {"perfect": "always", "credulous": "always", "lying": "never", "mute": "never"}
_COMPRESSORS: Final[Sequence[Reply]] = (perfect, credulous, lying, mute)
_WRONG, _RIGHT = "NS" * 40, "ns" * 40

Row = dict[str, Any]


class Counted:
    """What the messages of users make of the record of one compressor, in a store of its own."""

    def __init__(self, reply: Reply) -> None:
        self._reply, self._ccm = reply, Ccm(reply.__name__, "bench:1")
        self._container = build_container(Settings(store="memory"))

    async def is_believed(self, user: str) -> bool:
        """Whether the next message of a user is read by a compressor that is believed."""
        records = await self._container.ccm_records.of_app(Tenant(_APP, user))
        return trust_in(self._ccm, user, records) in HEEDED

    async def count(self, user: str, marks: str) -> None:
        """Count marks."""
        work = self._container.unit_of_work()
        work.add(self._container.ccm_records.add_write(Tenant(_APP, user), self._ccm, marks))
        await work.commit()

    async def say(self, user: str, row: Row) -> bool:
        """Count a message; whether the compressor was believed when it was read."""
        was = await self.is_believed(user)
        spans = [(span["label"], span["quote"]) for span in row["spans"]]
        said = Said(
            row["text"],
            binds=tuple(quote for label, quote in spans if label == "binds"),
            permits=tuple(quote for label, quote in spans if label == "permits"),
        )
        reply = self._reply(said, state_of(STANDING[row["lang"]]).pins)
        if reply and (marks := marks_of(TurnInput(text=row["text"]), reply)):
            await self.count(user, marks)
        return was

    async def close(self) -> None:
        """Close its store."""
        await self._container.close()


async def alone(reply: Reply, rows: Sequence[Row]) -> str:
    """One user says all of it."""
    counted = Counted(reply)
    read = [await counted.say("user", row) for row in rows]
    end = await counted.is_believed("user")
    await counted.close()
    first = next((str(at) for at, was in enumerate(read, start=1) if not was), "-")
    return f"{sum(read):>5}/{len(read)}  first not at {first:>4}  at the end {_word(yes=end)}"


async def among(reply: Reply, rows: Sequence[Row]) -> str:
    """Honest users share the messages, beside hostile ones."""
    counted = Counted(reply)
    for number in range(_HOSTILE):
        is_good = _GOALS[reply.__name__] == "always"
        await counted.count(f"hostile-{number}", _WRONG if is_good else _RIGHT)
    users = [f"user-{number:02}" for number in range(_HONEST)]
    read = [await counted.say(users[at % _HONEST], row) for at, row in enumerate(rows)]
    end = [await counted.is_believed(user) for user in users]
    new = await counted.is_believed("newcomer")
    await counted.close()
    return (
        f"{sum(read):>5}/{len(read)}  at the end by {sum(end):>2} of {_HONEST}  "
        f"by a newcomer {_word(yes=new)}"
    )


def _word(*, yes: bool) -> str:
    return "believed" if yes else "not believed"


async def run(rows: Sequence[Row]) -> None:
    """Print both tables."""
    for title, measure in (
        ("one user: messages at which it was believed", alone),
        (f"{_HOSTILE} hostile users among {_HONEST} honest: the same", among),
    ):
        print(title)
        for reply in _COMPRESSORS:
            line = await measure(reply, rows)
            print(f"    {reply.__name__:10} {line}  goal {_GOALS[reply.__name__]}")


def main() -> None:
    """Read the messages and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("labelled", type=Path)
    parser.add_argument("--halves", action="store_true", help="start with the second half")
    options = parser.parse_args()
    lines = options.labelled.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    middle = len(rows) // 2 if options.halves else 0
    asyncio.run(run([*rows[middle:], *rows[:middle]]))


if __name__ == "__main__":
    main()
