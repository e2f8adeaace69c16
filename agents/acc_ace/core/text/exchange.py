"""One exchange as text: what each speaker said stands under a label of its own, and stays there.

What the user quotes has its own label too, and no text can hold a label: it would hand its words to
somebody else.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.rules.own_words import by_speaker

USER, QUOTED, AGENT = "user", "quoted", "agent"

_WHO = r"(?i:user|system|developer|assistant|tool|retrieved|agent|quoted)"
_AT_START = lazy_pattern(rf"(?m)^(\s*{_WHO})\s?[:：]")
_ANYWHERE = lazy_pattern(rf"\b({_WHO})\s?[:：]")
_LINE: Final = lazy_pattern(r"(?:^|\n)(user|system|tool|retrieved|quoted|agent): ")
_INLINE: Final = lazy_pattern(r"(?:^| )(user|system|tool|retrieved|quoted|agent): ")


class ExchangePart(NamedTuple):
    """What one speaker said; `who` is '' where a cut has taken the label."""

    who: str
    text: str


def parts_of_input(who: str, text: str) -> list[ExchangePart]:
    """What an input says in its speaker's own words, and what it quotes."""
    foreign = by_speaker(text).foreign if who == USER else ""
    if not foreign.strip():
        return [ExchangePart(who, text)]
    # Line by line: what is said beside a quotation keeps its marks and its order.
    others = set(foreign.splitlines())
    lines = [line for line in text.splitlines() if line not in others]
    return [ExchangePart(who, "\n".join(lines).strip()), ExchangePart(QUOTED, foreign.strip())]


def written(parts: Iterable[ExchangePart]) -> str:
    """The parts line by line, each below its label."""
    return "\n".join(f"{who}: " + _AT_START.sub(r"\1-", text) for who, text in parts)


def in_one_line(parts: Iterable[ExchangePart]) -> str:
    """The parts of a quotation behind one another; nothing in them reads as a label."""
    return " ".join(f"{part.who}: {bare(part.text)}" if part.who else part.text for part in parts)


def bare(text: str) -> str:
    """A text in which nothing reads as a label."""
    return _ANYWHERE.sub(r"\1-", text)


def parts_of(text: str, *, in_line: bool = False) -> list[ExchangePart]:
    """The parts of an exchange, as they were written; after the agent nobody else speaks."""
    pieces = (_INLINE if in_line else _LINE).split(text)
    parts = [ExchangePart("", pieces[0])] if pieces[0].strip() else []
    for who, said in zip(pieces[1::2], pieces[2::2], strict=True):
        if parts and parts[-1].who == AGENT:
            parts[-1] = ExchangePart(AGENT, f"{parts[-1].text}\n{bare(f'{who}: ')}{said}")
        else:
            parts.append(ExchangePart(who, said))
    return parts
