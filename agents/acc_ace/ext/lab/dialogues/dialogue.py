"""A dialogue as it was recorded or generated, with questions about it."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from pydantic import Field

from acc_ace.core.schemas.base import Value

_WORD: Final = r"\d+(?:[.,]\d+)+|[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
"""A number with its signs, a sign of Japanese or Chinese, or a word in other writing."""

_SENTENCE_END: Final = r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+"


class Exchange(Value):
    """What a user said, and what was answered."""

    user: str
    agent: str = ""


class Inquiry(Value):
    """A question about what was said before it."""

    name: str
    kind: str = Field(description="What the question is about, in its set's own words.")
    ask: str
    facts: tuple[str, ...] = Field(
        default=(), description="What it takes to answer, word for word; none: code cannot judge."
    )
    is_kept: bool = Field(default=False, description="The facts are to be kept to, not to be said.")
    outdated: tuple[str, ...] = Field(default=(), description="Earlier values of the fact.")
    rubric: tuple[str, ...] = Field(default=(), description="What a judge looks for.")


class Dialogue(Value):
    """Exchanges and inquiries in order."""

    name: str
    steps: tuple[Exchange | Inquiry, ...]


def words(text: str) -> str:
    """The words of a text with spaces around each, so that no number is a part of another."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return f" {' '.join(re.findall(_WORD, folded))} "


def has_fact(text: str, fact: str) -> bool:
    """Whether a text has the words of a fact, in order."""
    return words(fact) in words(text)


def verbatim(facts: Sequence[str], ask: str, texts: Sequence[str]) -> tuple[str, ...]:
    """All facts if each stands in some text, and not already in the question; else none.

    A fact of one short word, such as "yes" or "2", stands somewhere by chance.
    """
    spoken = [words(text) for text in texts]
    stands = all(
        _tells(words(fact).strip()) and any(words(fact) in each for each in spoken)
        for fact in facts
    )
    return tuple(facts) if stands and not any(has_fact(ask, fact) for fact in facts) else ()


def _tells(fact: str) -> bool:
    return len(fact) > 3 or sum(map(str.isdigit, fact)) > 1 or not fact.isascii()


def closest_sentence(description: str, texts: Sequence[str]) -> str:
    """The sentence of some texts that shares most groups of three letters with a description."""
    sought = _threes(description)
    sentences = [sentence for text in texts for sentence in sentences_of(text)]
    return max(sentences, key=lambda each: len(sought & _threes(each)), default="")


def _threes(text: str) -> set[str]:
    spaced = words(text)
    return {spaced[at : at + 3] for at in range(len(spaced) - 2)}


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a text that have words."""
    return tuple(each for each in re.split(_SENTENCE_END, text) if words(each).strip())
