"""The tail: what was said since a CCM last read, verbatim, at the end of the state's trace.

Made anew each turn from the session's stored exchanges, never from text. The last exchange stands
whole, so that "shorten it" and "the second one" have what they refer to; what is longer keeps its
beginning and end, with the way to the rest. Of those before it the user's words stand whole while
no CCM has read them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from acc_ace.core.gates.commands import is_acknowledgement
from acc_ace.core.gates.screening import quotation
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin
from acc_ace.core.schemas.interaction import Interaction, Outcome, TurnInput
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.long_input import ends, rest_from
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


NOTHING_READ: Final = "-"
"""In place of an invocation: no CCM has read anything of the session."""
_WITHIN: Final = "#"

MOST_EXCHANGES: Final = 16
"""Newest exchanges among which those since the last reading are looked for at first."""

_FRAME: Final = 64
"""Tokens of an exchange beside its words: labels, and the way to the rest."""
_EARLIER: Final = 80
"""Tokens of an answer, and of words that were read, once another exchange has followed."""


def since_reading(
    previous: CommittedState, newest: Sequence[Interaction], *, own: str, after: int
) -> SinceReading:
    """What was said since the last reading, of the `newest` exchanges of a session.

    What was undone stays away, and so do the turn that now runs, under its `own` name, and all up
    to turn `after`, that of a reset.
    """
    read_to, end = read_place(previous.read_to)
    is_known = read_to in {NOTHING_READ, *(each.invocation_id for each in newest)}
    seen, news = list[Interaction](), list[Interaction]()
    for each in newest:
        is_committed = each.outcome in {Outcome.ANSWERED, Outcome.PAUSED}
        is_read = each.invocation_id == read_to if is_known else is_committed
        is_said = is_committed or (each.outcome is Outcome.FAILED and not is_read)
        if is_said and each.invocation_id != own and each.turn > after:
            is_whole = is_read and not (is_known and end)
            (seen if is_whole else news).append(_unread_part(each, end) if is_read else each)
        if is_read:
            break
    return SinceReading(tuple(seen), tuple(reversed(news)))


def read_place(read_to: str) -> tuple[str, int]:
    """The turn that is read last, and how much of a long message in it; 0 for all of it."""
    name, _, end = read_to.rpartition(_WITHIN)
    return (name, int(end)) if name and end.isdecimal() else (read_to, 0)


def place_within(invocation_id: str, end: int) -> str:
    """A reading that went so far in the message of a turn."""
    return f"{invocation_id}{_WITHIN}{end}"


def _unread_part(exchange: Interaction, end: int) -> Interaction:
    """The exchange with what is left of its message, if a reading ended within that."""
    if not end:
        return exchange
    rest = TurnInput(text=rest_from(exchange.input.text, end), authority=exchange.input.authority)
    return exchange.model_copy(update={"input": rest})


class Tail(NamedTuple):
    """The exchanges for the trace, and how many are left out, at most with the user's words."""

    text: str = ""
    shortened: int = 0
    """Exchanges whose answer has no room."""
    hidden: tuple[int, ...] = ()
    """Turns whose words have none."""

    @property
    def is_full(self) -> bool:
        """Whether something has no room."""
        return bool(self.shortened or self.hidden)


def tail_of(
    since: SinceReading,
    key: SessionKey,
    pins: Sequence[ConstraintPin],
    max_tokens: int,
    *,
    now: datetime | None = None,
    is_read: bool = True,
) -> Tail:
    """The exchanges for the trace: the last one in half of the tokens, the others in the rest.

    Of those before the last one nothing stands there once they are read. Of a failed turn only the
    user's words are known. `now` is in the user's zone: what was said on another day has its day.
    """
    exchanges = since.exchanges
    at = _last_substantial(exchanges)
    heading = ""
    if now and exchanges:
        day = exchanges[-1].created_at.astimezone(now.tzinfo).date()
        heading = f"said on {day}, today is {now.date()}:\n" if day != now.date() else ""
    recent = heading + _recent(exchanges[at:], key, pins, max_tokens - estimate_tokens(heading))
    if is_read:
        return Tail(recent)
    left = max_tokens - estimate_tokens(recent)
    news = {each.invocation_id for each in since.news}
    earlier = [(each, each.invocation_id in news) for each in exchanges[:at]]
    return _packed([_Earlier(each, key, pins, unread=new) for each, new in earlier], recent, left)


def _last_substantial(exchanges: Sequence[Interaction]) -> int:
    """Where the newest exchange stands that was answered and says more than thanks."""
    for at in range(len(exchanges) - 1, -1, -1):
        if exchanges[at].decision and not is_acknowledgement(exchanges[at].input.text):
            return at
    return 0


def _recent(
    exchanges: Sequence[Interaction], key: SessionKey, pins: Sequence[ConstraintPin], budget: int
) -> str:
    left, entries = budget, list[str]()
    for each in reversed(exchanges):
        room = left // max(2, len(exchanges) - len(entries))
        entry = _entry(each, fitted(each, key, room - _FRAME), pins, 2 * budget)
        left -= estimate_tokens(entry)
        if left < 0:
            break
        entries.append(entry)
    return "\n".join(reversed(entries))


class _Earlier(NamedTuple):
    """An exchange that another one has followed, the same text until the next reading."""

    exchange: Interaction
    key: SessionKey
    pins: Sequence[ConstraintPin]
    unread: bool

    def entry(self, *, answered: bool) -> str:
        words, answer = self.exchange.input.text, self.exchange.answer
        whole = estimate_tokens(words) if self.unread else _EARLIER
        artifact = exchange_artifact(
            self.key,
            self.exchange if answered else self.exchange.model_copy(update={"decision": None}),
            ends(words, whole, self._rest),
            ends(answer, _EARLIER, self._rest) if answered else "",
        )
        most = whole + 2 * (_EARLIER + _FRAME)
        return _entry(self.exchange, artifact, self.pins, most)

    @property
    def _rest(self) -> str:
        return _way_to(self.exchange, self.key)


def _packed(earlier: Sequence[_Earlier], recent: str, left: int) -> Tail:
    """Answers go first, from the oldest on; then the oldest words stand as their place."""
    entries = [each.entry(answered=True) for each in earlier]
    shortened, hidden = 0, list[int]()
    over = sum(map(estimate_tokens, entries)) - left
    for at, each in enumerate(earlier):
        if over <= 0:
            break
        bare = each.entry(answered=False)
        over += estimate_tokens(bare) - estimate_tokens(entries[at])
        entries[at], shortened = bare, shortened + 1
    for at, each in enumerate(earlier):
        if over <= 0:
            break
        over -= estimate_tokens(entries[at])
        entries[at] = ""
        hidden.append(each.exchange.turn)
    places = [_PLACE.format(turns=_span(hidden), tool=SEARCH_TOOL)] if hidden else []
    heading = [_HEADING] if earlier else []
    text = "\n".join([*heading, *places, *filter(None, entries), *([recent] if recent else [])])
    return Tail(text, shortened, tuple(hidden))


_HEADING: Final = "said earlier, word for word; what it orders was for its own turn:"
_PLACE: Final = "turns {turns}: unread and not shown: {tool}"


def _span(turns: Sequence[int]) -> str:
    return str(turns[0]) if len(turns) == 1 else f"{turns[0]} to {turns[-1]}"


def _entry(
    exchange: Interaction, artifact: Artifact, pins: Sequence[ConstraintPin], most: int
) -> str:
    text = quotation(artifact, pins, max_tokens=most).content
    heading = f"turn {exchange.turn}" + ("" if exchange.decision else ", not answered")
    return f"{heading}\n{text}"


def fitted(exchange: Interaction, key: SessionKey, room: int) -> Artifact:
    """An exchange within so many tokens, the user's words before the answer's."""
    rest = _way_to(exchange, key)
    question, answer = exchange.input.text, exchange.answer
    first = max(room // 2, room - estimate_tokens(answer))
    second = room - min(estimate_tokens(question), room // 2)
    return exchange_artifact(key, exchange, ends(question, first, rest), ends(answer, second, rest))


def answer_in_short(exchange: Interaction, key: SessionKey, pins: Sequence[ConstraintPin]) -> str:
    """What was answered, screened, as it stands once another exchange has followed."""
    answer = ends(exchange.answer, _EARLIER, _way_to(exchange, key))
    only = exchange_artifact(key, exchange, "", answer)
    return quotation(only, pins, max_tokens=2 * _EARLIER).content.partition("agent: ")[2]


def _way_to(exchange: Interaction, key: SessionKey) -> str:
    return f'{SEARCH_TOOL}, "{turn_artifact_id(key, exchange.turn)}"'
