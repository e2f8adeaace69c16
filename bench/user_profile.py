"""A user says things of themself; in a new session somebody asks what is known of them.

    python -m bench.user_profile [--half held] [--pointer]

The rows are of hands that had not seen the product. What counts is the state that the answering
model is shown in a new session: whether it holds what the user said of themself, and not what
others say of themselves; and after a change, in another session, what is new and not what was
before. The memory's own roles are the key-free engine; with `--pointer` the Compressor points at
every sentence that has a number, whoever's life it tells, and knows what the change is of: what is
shown of others' lives then is what code lets through.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

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


class Pointer(BaseLlm):
    """A Compressor that points at every numbered sentence."""

    model: str = "pointer/bench"
    changing: list[str]
    """Words by which a sentence is of the subject that changes."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Reply with each number and a subject."""
        parts = [part.text or "" for each in llm_request.contents for part in each.parts or []]
        entries = [
            {"sentence": number, "subject": self._subject(sentence, number)}
            for number, sentence in re.findall(r"⟦(\d+)⟧([^⟦]*)", "\n".join(parts))
        ]
        text = json.dumps({"about_user": entries})
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))

    def _subject(self, sentence: str, number: str) -> str:
        is_change = any(words in sentence for words in self.changing)
        return "change" if is_change else f"{sentence[:12]} {number}"


async def misses(
    container: Container, row: Row, user: str, *, is_pointed: bool = False
) -> list[tuple[str, str]]:
    """What a row expects of the states and does not get: the part, and the words."""
    pointer = Pointer(changing=[*row["gone"], *row["after"]]) if is_pointed else None
    ask = partial(shown, container, user=user, compressor=pointer)
    await ask(row["session1"], session="one")
    first = await ask([row["ask"]], session="two")
    await ask([row["update"]], session="three")
    second = await ask([row["ask"]], session="four")
    states = {"about_user": first, "not_user": first, "after": second, "gone": second}
    return [
        (part, words)
        for part, expected in EXPECTED.items()
        for words in row[part]
        if (words.casefold() in states[part].casefold()) is not expected
    ]


async def run(
    chosen: Sequence[Row], *, is_pointed: bool = False
) -> tuple[Counter[str], Counter[str]]:
    """How many words are as expected, and how many there are, by part."""
    engine = AgentSettings(model="embedded/rules")
    settings = Settings(store="memory", learning="off", qualifier=engine, compressor=engine)
    container = build_container(settings)
    right, all_words = Counter[str](), Counter[str]()
    for number, row in enumerate(chosen):
        wrong = await misses(container, row, f"user-{number}", is_pointed=is_pointed)
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
    parser.add_argument("--pointer", action="store_true")
    options = parser.parse_args()
    right, all_words = asyncio.run(run(rows(options.half), is_pointed=options.pointer))
    print(", ".join(f"{part} {right[part]} of {all_words[part]}" for part in EXPECTED))


if __name__ == "__main__":
    main()
