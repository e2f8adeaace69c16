"""A user says things of themself; in a new session somebody asks what is known of them.

    python -m bench.user_profile [--half held]

The rows are of hands that had not seen the product. What counts is the state that the answering
model is shown in a new session: whether it holds what the user said of themself, and not what
others say of themselves; and after a change, in another session, what is new and not what was
before. The memory's own roles are the key-free engine.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.model_settings import AgentSettings
from bench.facts_replaced import shown

ROWS = Path(__file__).parent / "data" / "facts" / "profile.jsonl"

EXPECTED = {"about_user": True, "not_user": False, "after": True, "gone": False}
"""The parts of a row, and whether the state should hold them."""

Row = Mapping[str, Any]


def rows(half: str) -> list[Row]:
    """The rows of a half: 'tuned' or 'held'."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["half"] == half]


async def misses(container: Container, row: Row, user: str) -> list[tuple[str, str]]:
    """What a row expects of the states and does not get: the part, and the words."""
    await shown(container, row["session1"], user=user, session="one")
    first = await shown(container, [row["ask"]], user=user, session="two")
    await shown(container, [row["update"]], user=user, session="three")
    second = await shown(container, [row["ask"]], user=user, session="four")
    states = {"about_user": first, "not_user": first, "after": second, "gone": second}
    return [
        (part, words)
        for part, expected in EXPECTED.items()
        for words in row[part]
        if (words.casefold() in states[part].casefold()) is not expected
    ]


async def run(chosen: Sequence[Row]) -> tuple[Counter[str], Counter[str]]:
    """How many words are as expected, and how many there are, by part."""
    engine = AgentSettings(model="embedded/rules")
    settings = Settings(store="memory", learning="off", qualifier=engine, compressor=engine)
    container = build_container(settings)
    right, all_words = Counter[str](), Counter[str]()
    for number, row in enumerate(chosen):
        wrong = await misses(container, row, f"user-{number}")
        all_words.update({part: len(row[part]) for part in EXPECTED})
        right.update({part: len(row[part]) for part in EXPECTED})
        right.subtract(part for part, _ in wrong)
        for part, words in wrong:
            print(f"{part}: {words!r} in a talk that asks {row['ask']!r}")
    await container.close()
    return right, all_words


def main() -> None:
    """Print the counts of a half."""
    parser = argparse.ArgumentParser(prog="python -m bench.user_profile")
    parser.add_argument("--half", choices=("tuned", "held"), default="held")
    right, all_words = asyncio.run(run(rows(parser.parse_args().half)))
    print(", ".join(f"{part} {right[part]} of {all_words[part]}" for part in EXPECTED))


if __name__ == "__main__":
    main()
