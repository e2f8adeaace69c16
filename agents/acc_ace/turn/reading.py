"""Whether a CCM is asked in a turn, and why; which words of the user's it then reads.

With `ACC_ACE_COMPRESS=adaptive` code carries the state on where nothing asks for a CCM, and what
the user said stands in the tail until one has read it. No guarded act and no forgetting before
that: the rule of each reason is in docs/adr/0029-when-a-compressor-is-asked.md.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final, NamedTuple

from acc_ace.core.gates.commands import is_acknowledgement, parse_command
from acc_ace.core.gates.commit_gate import KEPT_MARK, GateResult, commit
from acc_ace.core.gates.consent_notes import invites_reply
from acc_ace.core.gates.references import Evidence
from acc_ace.core.schemas.commit import CcsDiff, CommittedState, CompressorReply
from acc_ace.core.schemas.interaction import Interaction, Outcome, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.user_words import Late, UserWords
from acc_ace.core.text.normalize import same_wording
from acc_ace.core.text.rules.contradiction import against
from acc_ace.core.text.rules.mentions import names_a_rule, readings, seems_to_loosen, states_goal
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reader import Trust, knows
from acc_ace.core.text.rules.reading import read_user_words, shared_out
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.memory.long_input import InputPiece, is_long, pieces
from acc_ace.memory.tail import NOTHING_READ, SinceReading, place_within, read_place, tail_of
from acc_ace.turn.ports import CcmMarks
from acc_ace.turn.turn_record import TurnStart


class Asked(StrEnum):
    """Why a CCM is asked in a turn."""

    EVERY = "every turn"
    """As ACC_ACE_COMPRESS says, or a caller that acts itself."""
    UNSEEN = "an app that acts where no guard sees it"
    ACT = "an act"
    FAILED = "the last reading failed"
    QUESTION = "a question is open"
    COMMAND = "a command"
    TURNS = "the sixth turn"
    FULL = "the tail is full"
    LONG = "a long message, result or attachment"
    LOST = "a call of unknown outcome"
    LANGUAGE = "a language that the reader does not know"
    READER = "words that may be a rule or the goal"
    FORGET = "words that may ask to forget"


ALWAYS: Final = (Asked.EVERY, Asked.UNSEEN)
MOST_UNREAD: Final = 5
"""Turns that may pass before the CCM is asked, which is the sixth then."""
_FORGETS: Final = ("forget", "erase", "memory", "t remember", "忘れ", "記憶", "覚え")
"""Parts of a wish to forget: what memory holds of it is to be said at once, not turns later."""


def unread(since: SinceReading) -> tuple[Interaction, ...]:
    """The exchanges before x_t with words of the user's that no CCM has read."""
    return tuple(each for each in since.news if each.input.authority.may_rule)


def late_messages(start: TurnStart) -> tuple[Interaction, ...]:
    """The messages before x_t that a CCM reads with it; what failed and is said again is x_t.

    A command of a turn that was committed has been obeyed, and is not read again.
    """
    return tuple(
        each
        for each in unread(start.since)
        if (
            each.input.text != start.x_t.text
            if each.outcome is Outcome.FAILED
            else parse_command(each.input.text) is None
        )
    )


def is_acknowledged(start: TurnStart) -> bool:
    """Whether x_t only thanks or confirms, and nothing waits that it could answer."""
    last, x_t = start.previous_turn, start.x_t
    return (
        is_acknowledgement(x_t.text)
        and x_t.authority.may_rule
        and not x_t.attachments
        and not start.previous.questions
        and not any(each.decision is None for each in late_messages(start))
        and not start.lost
        and last is not None
        and last.decision is not None
        and not invites_reply(last.decision.final_answer)
    )


def why_read(start: TurnStart, limits: Limits, reason: Asked | None) -> Asked | None:
    """Why the CCM is asked before this turn is answered; None where code carries the state on.

    `reason` is one that is known without looking at the words.
    """
    if reason is Asked.ACT or (reason in ALWAYS and not is_acknowledged(start)):
        return reason
    return None if reason in ALWAYS else next(_reasons(start, limits), None)


def _reasons(start: TurnStart, limits: Limits) -> Iterator[Asked]:
    x_t, previous, since = start.x_t, start.previous, start.since
    late = late_messages(start)
    if previous.ccs.uncertainty_signal.startswith(KEPT_MARK):
        yield Asked.FAILED
    if previous.questions:
        yield Asked.QUESTION
    if x_t.authority.may_rule and parse_command(x_t.text) is not None:
        yield Asked.COMMAND
    if len(since.news) >= MOST_UNREAD:
        yield Asked.TURNS
    if start.lost:
        yield Asked.LOST
    results = [result for each in since.exchanges for result in each.tool_results]
    inputs = [x_t, *(each.input for each in since.news)]
    if (
        any(_tokens(each) > limits.tail_tokens // 2 for each in inputs)
        or sum(estimate_tokens(each.result) for each in results) > limits.artifact_tokens
        or any(each.input.attachments for each in since.news)
    ):
        yield Asked.LONG
    if tail_of(since, start.key, previous.pins, limits.tail_tokens, is_read=False).is_full:
        yield Asked.FULL
    texts = [each.input.text for each in late] + ([x_t.text] if x_t.authority.may_rule else [])
    if not all(map(knows, texts)):
        yield Asked.LANGUAGE
    has_goal = bool(previous.ccs.goal_orientation)
    if any(_may_rule(text, has_goal=has_goal) for text in texts):
        yield Asked.READER
    if any(cue in text.casefold() for text in texts for cue in _FORGETS):
        yield Asked.FORGET


def _tokens(message: TurnInput) -> int:
    texts = [message.text, *(each.text for each in message.attachments)]
    return sum(map(estimate_tokens, texts))


def _may_rule(text: str, *, has_goal: bool) -> bool:
    """Whether the trained reader suspects a rule, the end of one, or the first goal."""
    own = own_words(text)
    return bool(own.labelled_rules() or own.labelled_goal()) or any(
        reading.reaches("suspect")
        or (seems_to_loosen(sentence, reading) and names_a_rule(sentence))
        or (not has_goal and states_goal(reading))
        for sentence, reading in readings(own)
    )


def read_to(start: TurnStart, reached: str) -> str:
    """The turn whose words a CCM has read last, after this one, which has `reached` so far."""
    if reached:
        return reached
    if start.since.last:
        return start.since.last[0].invocation_id
    return start.previous.read_to or NOTHING_READ


def carried_on(start: TurnStart, evidence: Evidence, limits: Limits) -> GateResult:
    """CCS_{t-1} as CCS_t with this turn's quotations, through the gate like any reply."""
    previous, words = start.before, UserWords(against)
    # Thanks need no quotations; those of the turn before stay.
    content = previous.ccs if is_acknowledged(start) else CompressorReply().onto(previous.ccs)
    return commit(previous, content, start.x_t, words, evidence=evidence, limits=limits)


class Portion(NamedTuple):
    """What one call of a CCM reads."""

    start: TurnStart
    """The turn as if this were all that is new in it."""
    read_to: str
    """How far the session is read behind it."""
    late: Late | None = None
    """Why the newest of it is no message of this turn as a whole."""
    exchange: Interaction | None = None
    """The exchange of the newest of it; None for x_t."""

    @property
    def is_input(self) -> bool:
        """Whether it is of x_t."""
        return self.late in {None, Late.PIECE}


class _Said(NamedTuple):
    """A message that no CCM has read, or a piece of one."""

    input: TurnInput
    read_to: str
    late: Late | None
    exchange: Interaction | None
    """None for x_t."""
    is_own: bool = True


def portions(start: TurnStart, limits: Limits) -> list[Portion]:
    """What is to be read, call by call, in the order said: a long message comes in pieces.

    Pieces without a word of the user's own are not read, but for the beginning of x_t. After an
    outage no call is much longer than it was, as one that was too slow would fail for good.
    """
    brief, most, room = start.brief(limits), limits.input_tokens, 2 * limits.tail_tokens
    late = "\n".join(each.input.text for each in late_messages(start))
    own = brief.text if start.x_t.authority.may_rule else ""
    if not ((late and is_long(late, min(room, most))) or is_long(f"{late}\n{own}", most)):
        return [Portion(replace(start, turn_input=brief), start.evidence_id)]
    groups = list[list[_Said]]()
    for each in _said(start, brief, most):
        opens_input = each.exchange is None and (not groups or groups[-1][-1].exchange is not None)
        if not each.is_own and not opens_input:
            # Whoever reads what comes before has read all of the user's words up to here.
            groups[-1:] = [[*group[:-1], _up_to(group[-1], each)] for group in groups[-1:]]
            continue
        is_room = groups and not is_long(_text([*groups[-1], each]), min(room, most))
        follows = bool(groups) and groups[-1][-1].exchange is not None
        if is_room and follows:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [_portion(start, group) for group in groups]


def _said(start: TurnStart, brief: TurnInput, most: int) -> Iterator[_Said]:
    """All that is unread, in pieces of at most so many tokens; x_t last."""
    name, end = read_place(start.previous.read_to)
    for each in late_messages(start):
        late = Late.UNANSWERED if each.outcome is Outcome.FAILED else Late.UNREAD
        before = end if each.invocation_id == name else 0
        for piece in pieces(each.input.text, most, is_rest=bool(before)):
            message = TurnInput(text=piece.text, authority=each.input.authority)
            place = _place(each.invocation_id, before, piece)
            exchange = each.model_copy(update={"input": message})
            yield _Said(message, place, late, exchange, piece.is_own)
    if not (start.x_t.authority.may_rule and is_long(start.x_t.text, most)):
        yield _Said(brief, start.evidence_id, None, None)
        return
    attached = brief.attachments
    for piece in pieces(start.x_t.text, most):
        message = start.x_t.model_copy(update={"text": piece.text, "attachments": attached})
        place = _place(start.evidence_id, 0, piece)
        yield _Said(message, place, Late.PIECE, None, piece.is_own)
        attached = ()


def _place(name: str, before: int, piece: InputPiece) -> str:
    return name if piece.end is None else place_within(name, before + piece.end)


def _up_to(earlier: _Said, later: _Said) -> _Said:
    return earlier._replace(read_to=later.read_to)


def _text(group: Sequence[_Said]) -> str:
    return "\n".join(each.input.text for each in group)


def _portion(start: TurnStart, group: Sequence[_Said]) -> Portion:
    *before, newest = group
    news = tuple(each.exchange for each in before if each.exchange)
    last = start.since.last if newest.exchange is None else ()
    part = replace(start, turn_input=newest.input, since=SinceReading(last, news))
    return Portion(part, newest.read_to, newest.late, newest.exchange)


def in_turn(unread: Sequence[Portion], calls: int) -> list[Portion]:
    """What a turn reads in so many calls: x_t, or its beginning, and before it what comes first."""
    late = [each for each in unread if not each.is_input]
    first = late if len(unread) <= calls else late[: calls - 1]
    return [*first, *(each for each in unread if each.is_input)][:calls]


class CcmReading(NamedTuple):
    """What a CCM made of x_t and of the messages before it that it read too."""

    reply: CompressorReply | None
    trust: Trust
    lifted: Collection[str] = ()
    """Rules that were lifted since the last reading: older words set them no more."""
    marks: CcmMarks | None = None
    """How well it read them; they count from the next turn on."""


def gated(
    start: TurnStart,
    evidence: Evidence,
    reading: CcmReading,
    limits: Limits,
    *,
    newest: Late | None = None,
) -> GateResult:
    """CCS_t, each message through the gate in the order said, as if it had been read in its turn.

    Where the CCM failed, the reader alone hears x_t and what got no answer since the last commit.
    `newest` says why x_t here is not the turn's own, or not whole: it settles no question then.
    """
    previous, reply, x_t = start.before, reading.reply, start.x_t
    late = late_messages(start)
    if reply is None:
        late = tuple(each for each in late if each.turn > previous.turn)
    inputs = [each.input for each in late]
    parts = shared_out(reply, x_t, inputs) if reply else [None] * (len(late) + 1)
    own, *earlier = parts
    state, results = previous, list[GateResult]()
    for message, its in zip(late, earlier, strict=True):
        results.append(_heard(state, message, its, reading, limits))
        state = _with_rules(previous, results[-1].state)
    words = _words(x_t, own, state, reading, newest)
    proposal = reply.onto(state.ccs) if reply else None
    results.append(commit(state, proposal, x_t, words, evidence=evidence, limits=limits))
    return together(previous, results)


def _words(
    message: TurnInput,
    reply: CompressorReply | None,
    state: CommittedState,
    reading: CcmReading,
    late: Late | None,
) -> UserWords:
    """A message as it was read; what is not all of x_t settles no question."""
    words = read_user_words(
        message,
        reply,
        state.pins,
        trust=reading.trust,
        questions=() if late else state.questions,
        has_goal=bool(state.ccs.goal_orientation),
    )
    if late in {None, Late.PIECE}:
        return words._replace(late=late)
    lifted = {*map(same_wording, reading.lifted)}
    binding = tuple(each for each in words.binding if same_wording(each.text) not in lifted)
    rules = tuple(each for each in words.rules if same_wording(each.text) not in lifted)
    return words._replace(late=late, binding=binding, rules=rules)


def _heard(
    state: CommittedState,
    message: Interaction,
    reply: CompressorReply | None,
    reading: CcmReading,
    limits: Limits,
) -> GateResult:
    """A message of an earlier turn, through the gate; it settles no question."""
    said_of = Late.UNANSWERED if message.outcome is Outcome.FAILED else Late.UNREAD
    late = _words(message.input, reply, state, reading, said_of)
    return commit(state, state.ccs, message.input, late, limits=limits)


def _with_rules(previous: CommittedState, heard: CommittedState) -> CommittedState:
    """What was heard of rules and goal, with the content and the numbers of CCS_{t-1}."""
    ruled = {name: getattr(heard.ccs, name) for name in ("constraints", "goal_orientation")}
    content = previous.ccs.model_copy(update=ruled)
    numbers = {"version": previous.version, "turn": previous.turn, "ccs": content}
    return heard.model_copy(update=numbers)


def together(previous: CommittedState, results: Sequence[GateResult]) -> GateResult:
    """One result of all messages."""
    last = results[-1]
    if len(results) == 1:
        return last
    diffs = [each.diff for each in results]
    of_rules = [each for diff in diffs[:-1] for each in diff.repairs if each.field == _RULES]
    diff = CcsDiff.between(
        previous,
        last.state,
        added=[pin for diff in diffs for pin in diff.constraints_added],
        released=[gone for diff in diffs for gone in diff.constraints_released],
        repairs=[*of_rules, *last.diff.repairs],
    )

    def each(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for each in results for line in getattr(each, name)))

    return GateResult(
        last.state, diff, each("warnings"), last.kept, notes=each("notes"), unkept=each("unkept")
    )


_RULES: Final = "constraints"


def messages(start: TurnStart) -> list[TurnInput]:
    """What a CCM reads: x_t first, as its sentences are numbered first."""
    return [start.x_t, *(each.input for each in late_messages(start))]
