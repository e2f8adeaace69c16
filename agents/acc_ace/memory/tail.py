"""The tail: what was said since a CCM last read, verbatim, at the end of the state's trace.

Made anew each turn from the session's stored exchanges, never from text. The last exchange stands
whole, so that "shorten it" and "the second one" have what they refer to; what is longer keeps its
beginning and end, with the way to the rest.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from acc_ace.core.gates.screening import quotation
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.text.tokens import estimate_tokens, token_end
from acc_ace.memory.turn_artifacts import SEARCH_TOOL, exchange_artifact, turn_artifact_id


class SinceReading(NamedTuple):
    """Exchanges of a session, oldest first."""

    last: tuple[Interaction, ...] = ()
    """That whose input a CCM read last, its answer unseen; none after a reset."""
    news: tuple[Interaction, ...] = ()
    """Those that came after it."""

    @property
    def exchanges(self) -> tuple[Interaction, ...]:
        """All of them."""
        return (*self.last, *self.news)


MOST_EXCHANGES: Final = 16
"""Newest exchanges among which those since the last reading are looked for."""

_FRAME: Final = 64
"""Tokens of an exchange beside its words: labels, and the way to the rest."""
_LEAST: Final = 8
_AT_THE_END: Final = 3
"""Of a text that is cut, the end has one part of so many."""


def since_reading(
    previous: CommittedState, newest: Sequence[Interaction], *, own: str, after: int
) -> SinceReading:
    """What was said since the last reading, of the `newest` exchanges of a session.

    What was undone stays away, and so do the turn that now runs, under its `own` name, and all up
    to turn `after`, that of a reset.
    """
    is_there = previous.read_to in {each.invocation_id for each in newest}
    seen, news = list[Interaction](), list[Interaction]()
    for each in newest:
        is_committed = each.outcome in {Outcome.ANSWERED, Outcome.PAUSED}
        is_read = each.invocation_id == previous.read_to if is_there else is_committed
        is_said = is_committed or (each.outcome is Outcome.FAILED and not is_read)
        if is_said and each.invocation_id != own and each.turn > after:
            (seen if is_read else news).append(each)
        if is_read:
            break
    return SinceReading(tuple(seen), tuple(reversed(news)))


def tail_of(
    exchanges: Sequence[Interaction],
    key: SessionKey,
    pins: Sequence[ConstraintPin],
    max_tokens: int,
) -> str:
    """The exchanges for the trace: the last one in half of the tokens, the others in the rest.

    Of a failed turn only the user's words are known.
    """
    left, entries = max_tokens, list[str]()
    for each in reversed(exchanges):
        room = left // max(2, len(exchanges) - len(entries))
        artifact = fitted(each, key, room - _FRAME)
        text = quotation(artifact, pins, max_tokens=2 * max_tokens).content
        heading = f"turn {each.turn}" if each.decision else f"turn {each.turn}, not answered"
        left -= estimate_tokens(entry := f"{heading}\n{text}")
        if left < 0:
            break
        entries.append(entry)
    return "\n".join(reversed(entries))


def fitted(exchange: Interaction, key: SessionKey, room: int) -> Artifact:
    """An exchange within so many tokens, the user's words before the answer's."""
    rest = f'{SEARCH_TOOL}, "{turn_artifact_id(key, exchange.turn)}"'
    question, answer = exchange.input.text, exchange.answer
    first = max(room // 2, room - estimate_tokens(answer))
    second = room - min(estimate_tokens(question), room // 2)
    return exchange_artifact(
        key, exchange, _ends(question, first, rest), _ends(answer, second, rest)
    )


def _ends(text: str, budget: int, rest: str) -> str:
    """The text, or its beginning and end with the way to the rest."""
    tokens, budget = estimate_tokens(text), max(_LEAST, budget)
    if tokens <= budget:
        return text
    at_the_end = budget // _AT_THE_END
    first = token_end(text, budget - at_the_end, start=0, stop=len(text))
    last = token_end(text, tokens - at_the_end, start=0, stop=len(text))
    return f"{text[:first].rstrip()}\n[… {tokens - budget} tokens: {rest}]\n{text[last:]}"
