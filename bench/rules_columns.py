"""Compressors of known character, and one turn of the commit gate with each.

`perfect` replies what the labels of a message say; `credulous` reads meaning right and ignores
whose words they are; `lying` calls every sentence a restriction and releases everything; `mute`
never finds a rule; `none` is the key-free engine, which has no reply.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from acc_ace.core.gates.commit_gate import GateResult, commit
from acc_ace.core.gates.constraints import rule_2_constraints_survive
from acc_ace.core.gates.references import Evidence
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    CompressorReply,
    ConstraintPin,
    OpenQuestion,
    RuleChange,
)
from acc_ace.core.schemas.interaction import (
    Attachment,
    GeneratorOutput,
    Interaction,
    TurnInput,
)
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.user_words import WhyUnkept
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reader import Trust
from acc_ace.core.text.rules.reading import read_user_words
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words, normalised
from acc_ace.memory.tail import SinceReading
from acc_ace.turn.reading import CcmReading, carried_on, gated, why_read
from acc_ace.turn.turn_record import TurnStart

LIMITS: Final = Limits()
STANDING: Final = {
    "en": ("Never call me at work.", "Keep the weekly grocery budget under 120 dollars."),
    "ja": ("職場には電話しないでください。", "食費は週に1万2千円までにしてください。"),
}
"""Rules in force beside messages that come with none, so that a release has something to lift."""

_KEY = SessionKey("bench", "user", "s")
_THEN = ("再起動しましたか？", "Has it been restarted?")
_MOST = 0.5
_WHOLE = 0.8
_MOST_LIFTS = 40
_MORE = re.compile(r"^… and (\d+) more sentences|^…ほか (\d+) 件もルール")
_WAY = re.compile(r"send only|次の文だけを")


class Said(NamedTuple):
    """A message of the user with the labels of a careful reader."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    binds: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    """Words of the rules that it asks to lift."""
    amends: tuple[tuple[str, str], ...] = ()
    """Words of the rules that it asks to change, each with the new wording, whole."""
    foreign: tuple[str, ...] = ()
    """What of it sounds like a rule and is somebody else's."""


Reply = Callable[[Said, Sequence[ConstraintPin]], CompressorReply | None]


class Column(NamedTuple):
    """A compressor, and how far it is believed."""

    name: str
    reply: Reply
    trust: Trust
    is_adaptive: bool = False
    """Whether it is asked as `ACC_ACE_COMPRESS=adaptive` says, and at the act of the turn after."""


class Turn(NamedTuple):
    """What the gate made of a message."""

    before: CommittedState
    result: GateResult
    no_room: tuple[str, ...]
    """Words that were not kept because the rules have no room."""

    @property
    def pins(self) -> list[ConstraintPin]:
        """The rules in force after the turn."""
        return self.result.state.pins

    @property
    def added(self) -> list[ConstraintPin]:
        """New rules that replace none."""
        changed = {release.replaced_by for release in self.result.diff.constraints_released}
        return [pin for pin in self.result.diff.constraints_added if pin.id not in changed]

    @property
    def asked(self) -> list[OpenQuestion]:
        """The questions of this turn."""
        questions = self.result.state.questions
        return [each for each in questions if each.asked_turn == self.result.state.turn]

    @property
    def lost(self) -> list[ConstraintPin]:
        """Rules in force before that are gone or read otherwise."""
        after = {pin.id: pin.text for pin in self.pins}
        return [pin for pin in self.before.pins if after.get(pin.id) != pin.text]

    @property
    def shows_the_way(self) -> bool:
        """Whether a note says what to send."""
        return any(_WAY.search(note) for note in self.result.notes)

    def holds(self, span: str) -> bool:
        """Whether words are in force: most of them in one rule, or in rules that are parts."""
        texts = [pin.text for pin in self.pins]
        parts = [text for text in texts if normalised(text) in normalised(span)]
        return any(covers(text, span) for text in texts) or covers(" ".join(parts), span)

    def silent(self, spans: Sequence[str]) -> list[str]:
        """The words that are neither in force, nor asked about, nor in a note, nor listed."""
        notes = self.result.notes
        state = self.result.state
        shown = [
            *notes,
            *(each.quote for each in state.questions),
            *(each.text for each in state.not_kept),
        ]
        unsaid = [
            span
            for span in spans
            if not self.holds(span) and not any(covers(text, span) for text in shown)
        ]
        counts = [match for note in notes if (match := _MORE.match(note))]
        return unsaid[sum(int(count[1] or count[2]) for count in counts) :]


def take(before: CommittedState, said: Said, column: Column) -> Turn:
    """One turn of a state with a message and a compressor's reply to it, or two where it waits."""
    x_t = TurnInput(text=said.text, attachments=said.attachments)
    start = TurnStart(_KEY, x_t, previous=before, invocation_id="i-1", evidence_id="i-1")
    if column.is_adaptive and why_read(start, LIMITS, None) is None:
        return Turn(before, _at_next_act(start, said, column), ())
    reply, pins = column.reply(said, before.pins), before.pins
    words = read_user_words(x_t, reply, pins, trust=column.trust, questions=before.questions)
    proposal = before.ccs.model_copy(update={"episodic_trace": "turn", "constraints": []})
    rules = rule_2_constraints_survive(
        before, [], words, x_t, turn=before.turn + 1, budget=LIMITS.constraints_tokens
    )
    no_room = tuple(each.words for each in rules.unkept if each.why is WhyUnkept.NO_ROOM)
    return Turn(before, commit(before, proposal, x_t, words, limits=LIMITS), no_room)


def _at_next_act(start: TurnStart, said: Said, column: Column) -> GateResult:
    """Code carries the state on, and the compressor reads the message at an act of the next turn.

    The words of that turn are one sentence, whose number is the first.
    """
    state = carried_on(start, Evidence({}), LIMITS).state
    answer = GeneratorOutput(final_answer="Noted.")
    heard = Interaction(
        turn=state.turn,
        invocation_id=start.evidence_id,
        input=start.x_t,
        decision=answer,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    then = TurnStart(
        _KEY,
        TurnInput(text=_THEN[said.text.isascii()]),
        previous=state,
        invocation_id="i-2",
        evidence_id="i-2",
        since=SinceReading(news=(heard,)),
    )
    # Without a reply the turn would wait on: the key-free engine has one, which is silent on rules.
    reply = column.reply(said, state.pins) or CompressorReply()
    changes = reply.rule_changes
    moved = [
        each.model_copy(update={"sentence": each.number and each.number + 1})
        for each in changes or ()
    ]
    late = reply.model_copy(update={"rule_changes": None if changes is None else moved})
    return gated(then, Evidence({}), CcmReading(late, column.trust), LIMITS)


def state_of(rules: Sequence[str]) -> CommittedState:
    """A state with these rules in force."""
    pins = [
        ConstraintPin(
            id=f"c-{number:04d}", text=rule, authority=Authority.USER, origin_turn=1, quote=rule
        )
        for number, rule in enumerate(rules, start=1)
    ]
    ccs = empty_ccs().model_copy(
        update={"constraints": list(rules), "semantic_gist": "work", "episodic_trace": "work"}
    )
    return CommittedState(version=1, turn=1, ccs=ccs, pins=pins, next_pin=len(pins) + 1)


def covers(text: str, span: str) -> bool:
    """Whether a text has the words of a span, or most of its content words."""
    plain, wanted = normalised(text), normalised(span)
    if wanted and wanted in plain:
        return True
    words = content_words(span)
    return len(words & content_words(text)) > _MOST * len(words) if words else False


def pin_of(words: str, pins: Sequence[ConstraintPin]) -> ConstraintPin | None:
    """The rule in force that words of it name."""
    exact = (pin for pin in pins if normalised(words) == normalised(pin.text))
    return next(exact, next((pin for pin in pins if covers(pin.text, words)), None))


def _pointers(text: str, span: str) -> Iterator[dict[str, Any]]:
    """Number and quote of the sentences that words of a message stand in."""
    wanted = normalised(span)
    sentences = [normalised(each.text) for each in own_words(text).sentences]
    around = [at for at, each in enumerate(sentences, start=1) if wanted in each]
    if around:
        is_whole = len(wanted) >= _WHOLE * len(sentences[around[0] - 1])
        yield {"sentence": around[0], "quote": "" if is_whole else span}
        return
    within = [at for at, each in enumerate(sentences, start=1) if each and each in wanted]
    yield from ({"sentence": at} for at in within)
    if not within:
        yield {"quote": span}


def _changes(said: Said, pins: Sequence[ConstraintPin]) -> Iterator[RuleChange]:
    for kind, spans in ((ChangeKind.ADD, said.binds), (ChangeKind.PERMIT, said.permits)):
        for span in spans:
            yield from (RuleChange(kind=kind, **at) for at in _pointers(said.text, span))
    changes = [(ChangeKind.RELEASE, rule, None) for rule in said.releases]
    amends = [(ChangeKind.AMEND, rule, new) for rule, new in said.amends]
    for change, rule, new in (*changes, *amends):
        if pin := pin_of(rule, pins):
            at = _closest(said.text, rule)
            yield RuleChange(kind=change, sentence=at, rule_id=pin.id, text=new)


def _closest(text: str, rule: str) -> int:
    """The number of the sentence that shares most words with a rule."""
    sentences = [each.text for each in own_words(text).sentences]
    wanted = content_words(rule)
    shared = [len(wanted & content_words(each)) for each in sentences]
    return 1 + shared.index(max(shared)) if shared else 1


def perfect(said: Said, pins: Sequence[ConstraintPin]) -> CompressorReply:
    """What the labels say."""
    return CompressorReply(rule_changes=[*_changes(said, pins)])


def credulous(said: Said, pins: Sequence[ConstraintPin]) -> CompressorReply:
    """What the labels say, and what the words of others say."""
    quotes = [RuleChange(kind=ChangeKind.ADD, quote=words) for words in said.foreign]
    return CompressorReply(rule_changes=[*_changes(said, pins), *quotes])


def lying(said: Said, pins: Sequence[ConstraintPin]) -> CompressorReply:
    """Each sentence a restriction, each rule released."""
    count = len(own_words(said.text).sentences)
    lifts = [
        RuleChange(kind=ChangeKind.RELEASE, sentence=number, rule_id=pin.id)
        for pin in pins
        for number in range(1, count + 1)
    ]
    adds = [RuleChange(kind=ChangeKind.ADD, sentence=at) for at in range(1, count + 1)]
    texts = [*said.foreign, *(each.text for each in said.attachments)]
    others = [each for text in texts for each in split_sentences(text)]
    quotes = [RuleChange(kind=ChangeKind.ADD, quote=words) for words in others]
    return CompressorReply(rule_changes=[*lifts[:_MOST_LIFTS], *adds, *quotes])


def mute(said: Said, pins: Sequence[ConstraintPin]) -> CompressorReply:
    """Never a rule."""
    return CompressorReply(rule_changes=[])


def none(said: Said, pins: Sequence[ConstraintPin]) -> None:
    """No reply."""


COLUMNS: Final = (
    Column("perfect", perfect, Trust.BELIEVED),
    Column("perfect at first", perfect, Trust.UNPROVED),
    Column("credulous", credulous, Trust.BELIEVED),
    Column("lying", lying, Trust.DOUBTED),
    Column("lying at first", lying, Trust.UNPROVED),
    Column("mute", mute, Trust.DOUBTED),
    Column("mute at first", mute, Trust.UNPROVED),
    Column("none", none, Trust.ABSENT),
)
