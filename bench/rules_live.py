"""Who makes rules: the labelled messages of `bench.rules` with the Compressor's model of yours.

    python -m bench.rules_live [--sets DIR] [--half odd|even] [--take 2] [-v]

Reads the settings of the environment, of which ACC_ACE_COMPRESSOR decides the model under test;
the other roles have the key-free engine. Each message is a turn of a session of its own, of one
user for each language, so that a model is believed or not as it goes. `--take` is the number of
messages of each kind and language (of restrictions three times as many): each costs a call, or two
where the reply must be asked for again. Prints a line for each turn with -v, then the figures.
"""

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from acc_ace import Conversation, build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.report import TurnReport
from bench.rules_columns import covers

KINDS: Final = ("restriction", "permission", "near_miss", "ordinary", "others_marked")
_OTHERS: Final[dict[str, Any]] = {
    role: {"model": "embedded/rules"} for role in ROLES if role != "compressor"
}

Row = dict[str, Any]
Counts = defaultdict[str, list[int]]


def sampled(folder: Path, half: str, take: int) -> Iterator[Row]:
    """The first rows of each kind of a half, English before Japanese."""
    for lang in ("en", "ja"):
        lines = (folder / f"rows-{lang}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines][half == "even" :: 2]
        for kind in KINDS:
            of_kind = [row for row in rows if row["kind"] == kind]
            yield from of_kind[: take * (3 if kind == "restriction" else 1)]


def counted(row: Row, report: TurnReport, counts: Counts) -> None:
    """What became of the words of a row."""
    rules = [rule.text for rule in report.constraints]
    shown = "\n".join(report.notes)

    def count(figure: str, hit: bool) -> None:
        counts[figure][0] += hit
        counts[figure][1] += 1

    own = [*row.get("binds", ()), *row.get("permits", ())]
    for words in row.get("binds", ()):
        count("own restrictions in force at once", any(covers(rule, words) for rule in rules))
    for words in row.get("permits", ()):
        is_in = any(covers(rule, words) for rule in rules)
        count("permissions or orders in force without consent", is_in)
    for words in own if row["kind"] in ("restriction", "permission") else ():
        is_said = covers(shown, words) or any(covers(rule, words) for rule in rules)
        count("own rules that disappear without a word", not is_said)
    for words in row.get("foreign", ()):
        is_in = any(covers(rule, words) for rule in rules)
        count("marked words of others in force", is_in)
    if row["kind"] == "near_miss":
        count("near misses in force", bool(rules))
        count("near misses told or asked", bool(report.notes) and not rules)
    if row["kind"] == "ordinary":
        count("needless lines, ordinary turns", bool(report.notes))


async def measured(options: argparse.Namespace) -> Counts:
    """All turns, one after another; nothing is stored."""
    settings = Settings(store="memory", compress="every", learning="off", **_OTHERS)
    desk = Conversation(build_container(settings))
    counts: Counts = defaultdict(lambda: [0, 0])
    began = time.monotonic()
    for number, row in enumerate(sampled(Path(options.sets), options.half, options.take), start=1):
        report = await desk.turn(SessionKey(APP_NAME, row["lang"], f"s-{number}"), row["text"])
        counted(row, report, counts)
        if options.v:
            rules = [rule.text for rule in report.constraints]
            print(f"{row['id']} {row['text']!r}\n    {rules=} notes={report.notes}", flush=True)
            print(f"    warnings={report.warnings} {time.monotonic() - began:.0f} s", flush=True)
    await desk.close()
    return counts


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default="bench/data/rules/sets")
    parser.add_argument("--half", choices=("odd", "even"), default="odd")
    parser.add_argument("--take", type=int, default=2)
    parser.add_argument("-v", action="store_true")
    for figure, (hits, among) in asyncio.run(measured(parser.parse_args())).items():
        print(f"{figure:55} {hits}/{among}")


if __name__ == "__main__":
    main()
