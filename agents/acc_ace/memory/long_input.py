"""A message longer than one request: the pieces in which it is read, and what of it is shown.

Others' words are marked before it is cut, so that a piece out of a code block or a quoted mail is
still nobody's rule.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.normalize import MAX_ANALYSED
from acc_ace.core.text.rules.own_words import marked
from acc_ace.core.text.rules.quoted_spans import QUOTED_LINE
from acc_ace.core.text.tokens import estimate_tokens, token_end
from acc_ace.memory.chunking import part_end
from acc_ace.memory.turn_artifacts import SEARCH_TOOL, attachment_id, turn_artifact_id

_AT_THE_END: Final = 3
"""Of a text that is cut, the end has one part of so many."""
_LEAST: Final = 8
_MARK: Final = "> "


class InputPiece(NamedTuple):
    """A part of a message, and where the next turn would go on; None for the last one."""

    text: str
    end: int | None = None

    @property
    def is_own(self) -> bool:
        """Whether some of it is not marked as others'."""
        return any(line.strip() and not QUOTED_LINE.match(line) for line in self.text.splitlines())


def is_long(text: str, max_tokens: int) -> bool:
    """Whether a text is read in pieces."""
    return len(text) > MAX_ANALYSED or (
        len(text) > max_tokens and estimate_tokens(text) > max_tokens
    )


def pieces(text: str, max_tokens: int, *, is_rest: bool = False) -> Iterator[InputPiece]:
    """The text, in pieces of at most `max_tokens` if it is longer; a rest is marked already."""
    if not is_long(text, max_tokens):
        yield InputPiece(text)
        return
    whole, at = text if is_rest else marked(text), 0
    while at < len(whole):
        end = part_end(whole, at, MAX_ANALYSED - len(_MARK), max_tokens - 1)
        mark = "" if _quoted_line(whole, at) is None else _MARK
        line = _quoted_line(whole, end)
        place = end if line is None else line
        yield InputPiece(mark + whole[at:end], place if end < len(whole) else None)
        at = end


def rest_from(text: str, end: int) -> str:
    """What follows the piece of a text after which a reading goes on there."""
    return marked(text)[end:]


def _quoted_line(whole: str, at: int) -> int | None:
    """Where the line of others' begins that is cut there; None where none is."""
    line = whole.rfind("\n", 0, at) + 1
    return line if QUOTED_LINE.match(whole[line:at]) else None


def brief_input(turn_input: TurnInput, key: SessionKey, turn: int, limits: Limits) -> TurnInput:
    """x_t as requests have it: of what is too long, its ends and the way to the rest."""
    texts = [turn_input.text, *(each.text for each in turn_input.attachments)]
    if not is_long("\n".join(texts), limits.input_tokens):
        return turn_input
    ways = [
        turn_artifact_id(key, turn),
        *(attachment_id(key, turn, number) for number in range(1, len(texts))),
    ]
    left, brief = limits.input_tokens, list[str]()
    for at, (text, way) in enumerate(zip(texts, ways, strict=True)):
        others = sum(min(estimate_tokens(each), left) for each in texts[at + 1 :])
        brief.append(ends(text, max(left - others, left // 2), f'{SEARCH_TOOL}, "{way}"'))
        left = max(0, left - estimate_tokens(brief[-1]))
    attachments = tuple(
        attachment.model_copy(update={"text": text})
        for attachment, text in zip(turn_input.attachments, brief[1:], strict=True)
    )
    return turn_input.model_copy(update={"text": brief[0], "attachments": attachments})


def ends(text: str, budget: int, rest: str) -> str:
    """The text, or its beginning and end with the way to the rest, if that is shorter."""
    tokens, budget = estimate_tokens(text), max(_LEAST, budget)
    if tokens <= budget:
        return text
    at_the_end = budget // _AT_THE_END
    first = token_end(text, budget - at_the_end, start=0, stop=len(text))
    last = token_end(text, tokens - at_the_end, start=0, stop=len(text))
    cut = f"{text[:first].rstrip()}\n[… {tokens - budget} tokens: {rest}]\n{text[last:]}"
    return cut if estimate_tokens(cut) < tokens else text
