"""The door of the language room for the commit gate: x_t, and what a CCM's reply says of it.

Two readers: the CCM points at sentences and says what they are; the trained reader gives a second
opinion on each. How far the CCM is heeded depends on whether it has earned it (`Trust`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from acc_ace.core.schemas.commit import (
    ChangeKind,
    CompressorReply,
    ConstraintPin,
    OpenQuestion,
    RuleChange,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.user_words import Loosening, OwnQuote, Unkept, UserWords, WhyUnkept
from acc_ace.core.text.normalize import normalise, same_wording
from acc_ace.core.text.patterns import any_of
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.rules.consent import (
    MOST_ANSWERED,
    bare_reply,
    consents,
    names_question,
    seems_to_answer,
)
from acc_ace.core.text.rules.contradiction import against
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.loosening import loosens_by_form
from acc_ace.core.text.rules.mentions import (
    goal_in,
    is_about,
    meant,
    names_a_rule,
    readings,
    seems_to_loosen,
)
from acc_ace.core.text.rules.own_words import OwnWords, is_rewording, own_words
from acc_ace.core.text.rules.reader import HEEDED, SentenceReading, Trust, knows, read_sentence
from acc_ace.core.text.sentences import split_clauses, split_sentences
from acc_ace.core.text.similarity import content_words

_NOT_COPIED = "it names no sentence of the user's own; give the number of the sentence"
_MOST_PROPOSALS = 400
_PASSED_OVER: Final = {
    Trust.BELIEVED: ("never", "very_sure", "never"),
    Trust.UNPROVED: ("very_sure", "sure", "half"),
    Trust.DOUBTED: ("sure", "never", "suspect"),
    Trust.ABSENT: ("sure", "suspect", "never"),
}
"""What a CCM passes over binds, is said, and is said once a session, from where the reader is so
sure on."""


def numbered_words(messages: Sequence[TurnInput]) -> list[OwnWords]:
    """The own words of each message; whoever may set no rule has none."""
    return [own_words(each.text if each.authority.may_rule else "") for each in messages]


def read_proposals(
    text: str, *, x_t: TurnInput, inputs: Mapping[str, object], late: Sequence[TurnInput] = ()
) -> CompressorReply:
    """The CCM's reply; proposals that mean words of x_t but do not point at them are unreadable.

    `late` are the user's messages before x_t that it reads too, numbered on from x_t. A quote of
    something else in the `inputs` is left to the gate, as is one of nothing at all: the user has
    not said it. Raises ModelOutputError.
    """
    reply = read_reply(CompressorReply, text)
    said, *earlier = numbered_words([x_t, *late])
    own = said.with_others(earlier)
    if not reply.rule_changes or not own.sentences:
        return reply
    others = [value for name, value in inputs.items() if name != "current_input"]
    attached = [each.text for each in x_t.attachments]
    shown = same_wording(json.dumps([others, attached], ensure_ascii=False, default=str))
    wording = same_wording(own.message)
    changes, entries = list[RuleChange](), list[str]()
    for change in reply.rule_changes:
        number, quote = change.number, same_wording(change.quote)
        if quote and quote in shown and quote not in wording:
            # Somebody else's: a likeness to words of x_t makes them nobody's rule.
            changes += [] if own.find_all(change.quote) else [change]
        elif own.pointed(number, change.quote) or not (number or own.about(change.quote)):
            changes.append(change)
        else:
            entries.append(f"{change.model_dump_json(exclude_defaults=True)}: {_NOT_COPIED}")
    unreadable = [*reply.unreadable, *entries]
    return reply.model_copy(update={"rule_changes": changes, "unreadable": unreadable})


def shared_out(
    reply: CompressorReply, x_t: TurnInput, late: Sequence[TurnInput]
) -> list[CompressorReply]:
    """The reply as one to each message alone: x_t's first, then those of `late`.

    What it points at by a quote, alone or beside the number of another message, belongs to the
    first message that says it, as others' words where it is in nobody's own.
    """
    if not late:
        return [reply]
    owns = numbered_words([x_t, *late])
    spoken = [*range(1, len(owns)), 0]
    changes: list[list[RuleChange]] = [[] for _ in owns]
    for change in reply.rule_changes or ():
        at, number = message_of(change.number, owns)
        own = [each for each in spoken if owns[each].find_all(change.quote)]
        others = (each for each in spoken if owns[each].names_others(change.quote))
        if not number or (own and at not in own):
            at, number = next(iter(own), next(others, 0)), None
        changes[at].append(change.model_copy(update={"sentence": number}))
    entries: list[list[str]] = [[] for _ in owns]
    for entry in reply.unreadable:
        entries[next((each for each in spoken if owns[each].about(entry)), 0)].append(entry)
    is_silent = reply.rule_changes is None
    return [
        reply.model_copy(
            update={"rule_changes": None if is_silent else own, "unreadable": unreadable}
        )
        for own, unreadable in zip(changes, entries, strict=True)
    ]


def message_of(number: int | None, owns: Sequence[OwnWords]) -> tuple[int, int | None]:
    """Which message a sentence's number is of, and its number there; None for no sentence."""
    left = number or 0
    for at, own in enumerate(owns):
        if 0 < left <= len(own.sentences):
            return at, left
        left -= len(own.sentences)
    return 0, None


def read_user_words(
    x_t: TurnInput,
    reply: CompressorReply | None,
    pins: Sequence[ConstraintPin],
    *,
    trust: Trust = Trust.BELIEVED,
    questions: Sequence[OpenQuestion] = (),
    has_goal: bool = True,
) -> UserWords:
    """All that the commit gate wants to know of the words of x_t, with the rules in force.

    None is a reply that could not be used. What the CCM points at comes in its direction, unless
    code or the reader sees that it loosens; what it passes over and sounds like a rule is said not
    kept, or in force where no CCM has earned belief.
    """
    if not x_t.authority.may_rule:
        return UserWords(against)
    trust = Trust.ABSENT if reply is None or reply.rule_changes is None else trust
    own = own_words(x_t.text)
    unreadable = reply.unreadable if reply else ()
    words = _Notes(own, pins, trust).read(_proposals(reply, own, pins), unreadable)
    if words.goal is None and trust is Trust.ABSENT and not has_goal:
        words = words._replace(goal=goal_in(x_t.text))
    return _with_consent(words, x_t.text, pins, questions)


def _with_consent(
    words: UserWords, text: str, pins: Sequence[ConstraintPin], questions: Sequence[OpenQuestion]
) -> UserWords:
    """Besides, what x_t as a whole says to the open questions."""
    is_bare = bare_reply(text) is not None
    if not questions:
        return words._replace(is_bare_reply=is_bare)
    rules = {pin.id: pin.text for pin in pins}
    about = [(each, rules.get(each.rule_id or "", "")) for each in questions]
    yes = consents(text, *about[0]) if len(about) == 1 else None
    consent = None if yes is None else (questions[0].id, yes)
    sentences = split_sentences(text[:MOST_ANSWERED])
    parts = [*sentences, *(part for each in sentences for part in split_clauses(each))]
    answers = [
        part
        for part in parts
        if names_question(part) or any(consents(part, *each) is not None for each in about)
    ]
    return words._replace(
        consent=consent,
        answered=tuple(each.id for each, rule in about if seems_to_answer(text, each, rule)),
        is_bare_reply=is_bare,
        is_part_consent=consent is None and bool(answers),
        unkept=tuple(each for each in words.unkept if each.words not in answers),
    )


def _proposals(
    reply: CompressorReply | None, own: OwnWords, pins: Sequence[ConstraintPin]
) -> list[RuleChange]:
    """What the reply proposes, with new entries of its list of constraints that are the user's."""
    if reply is None:
        return []
    known = {same_wording(pin.text) for pin in pins}
    written = (rule for rule in reply.constraints or () if same_wording(rule) not in known)
    added = [RuleChange(kind=ChangeKind.ADD, quote=rule) for rule in written if own.find(rule)]
    return [*(reply.rule_changes or ()), *added][:_MOST_PROPOSALS]


class _Notes:
    """Unit of work: what of one message binds, loosens, or is not kept, in the order said."""

    def __init__(self, own: OwnWords, pins: Sequence[ConstraintPin], trust: Trust) -> None:
        self.own, self._pins, self._trust = own, pins, trust
        self._binds, self._is_said, self._is_listed = _PASSED_OVER[trust]
        self._heard = dict(readings(own))
        self._binding = dict[OwnQuote, None]()
        self._loosening = list[Loosening]()
        self._goal: OwnQuote | None = None
        self._unkept = list[Unkept]()
        self._again = list[str]()
        self._misquoted = list[str]()
        self._settled = {rule.text for rule in own.labelled_rules()}

    def read(self, changes: Sequence[RuleChange], unreadable: Sequence[str]) -> UserWords:
        """What was read, of the proposals first; one without a quote takes its sentence whole."""
        permits = [each.quote for each in changes if each.kind is ChangeKind.PERMIT and each.quote]
        for change in changes:
            self._take(change, permits)
        for entry in unreadable:
            self._take_unreadable(entry)
        self._read_the_rest()
        return self._words()

    def _take(self, change: RuleChange, permits: Sequence[str]) -> None:
        """Sort a proposal of the CCM by direction; `permits` are the clauses that permit."""
        quotes = self.own.pointed(change.number, change.quote)
        if not quotes:
            self._misquoted.append(change.quote)
            self._say_foreign([change.quote] if self.own.names_others(change.quote) else [])
        for whole in quotes:
            quote = _without(whole, permits) if change.kind is ChangeKind.ADD else whole
            reading = self._read(quote)
            if not self._is_heeded(change.kind, reading):
                continue
            self._settled.add(quote.text)
            match change.kind:
                case ChangeKind.GOAL:
                    self._goal = self._goal or quote
                case ChangeKind.ADD if not self._loosens(quote, reading):
                    self._binding[quote] = None
                case ChangeKind.ADD | ChangeKind.PERMIT if not self._known(quote.text):
                    self._loosening.append(Loosening(ChangeKind.PERMIT, quote))
                case ChangeKind.RELEASE | ChangeKind.AMEND:
                    self._change(change, quote, reading)

    def _take_unreadable(self, entry: str) -> None:
        """Of an entry that cannot be used: the sentence that it is about."""
        sole = self.own.sentences[0].text if len(self.own.sentences) == 1 else ""
        sentence = self.own.about(entry) or sole
        if not sentence or self._is_settled(sentence):
            return
        if self._heard[sentence].reaches("sure"):
            self._binding[OwnQuote(sentence, sentence)] = None
        else:
            listed = self._trust is Trust.DOUBTED
            self._unkept.append(Unkept(sentence, WhyUnkept.UNREADABLE, is_listed=listed))
        self._settled.add(sentence)

    def _read_the_rest(self) -> None:
        """What the CCM passed over, as far as the reader is sure of it."""
        if self._trust not in HEEDED and not knows(self.own.message):
            rest = [each.text for each in self.own.sentences if not self._is_settled(each.text)]
            self._unkept += [Unkept(text, WhyUnkept.LANGUAGE) for text in rest[:1]]
            return
        for sentence in self.own.sentences:
            if not self._is_settled(sentence.text):
                self._read_alone(OwnQuote(sentence.text, sentence.text))
        limit = "very_sure" if self._trust in HEEDED else "sure"
        read = ((text, read_sentence(text)) for text in self.own.of_others_by_guess())
        self._say_foreign([text for text, each in read if each.reaches(limit)])

    def _say_foreign(self, words: Sequence[str]) -> None:
        """What is not taken over, as it stands where others' words do."""
        unsaid = [text for text in words if not self._is_settled(text)]
        self._settled.update(unsaid)
        self._unkept += [Unkept(text, WhyUnkept.OTHERS) for text in unsaid]

    def _words(self) -> UserWords:
        """What was read."""
        goal = self.own.labelled_goal()
        return UserWords(
            against,
            rules=self.own.labelled_rules(),
            binding=tuple(self._new()),
            loosening=tuple(self._loosening),
            goal=goal or self._goal,
            is_goal_stated=goal is not None,
            again=tuple(dict.fromkeys(self._again)),
            unkept=tuple(dict.fromkeys(self._unkept)),
            misquoted=tuple(self._misquoted),
        )

    def _read_alone(self, quote: OwnQuote) -> None:
        reading = self._heard[quote.sentence]
        alone = self._trust not in HEEDED
        if seems_to_loosen(quote.text, reading):
            pin = meant(quote.text, self._pins)
            if alone and pin is None and names_a_rule(quote.text):
                self._unkept.append(Unkept(quote.text, WhyUnkept.NO_RULE))
            elif alone:
                kind = ChangeKind.PERMIT if pin is None else ChangeKind.RELEASE
                self._loosening.append(Loosening(kind, quote, pin.id if pin else None))
            elif pin is not None:
                self._unkept.append(Unkept(quote.text, WhyUnkept.NO_WORDING, pin.id))
            elif loosens_by_form(quote.text):
                self._unkept.append(Unkept(quote.text, WhyUnkept.UNSURE))
        elif reading.reaches(self._binds) and not self._loosens(quote, reading):
            self._binding[quote] = None
        else:
            self._say_unsure(quote, reading)

    def _say_unsure(self, quote: OwnQuote, reading: SentenceReading) -> None:
        """Say that a sentence that was passed over may be a rule; a misquote may mean it."""
        is_misquoted = bool(self._misquoted) and not reading.is_certainly_none
        is_doubtful = reading.reaches("sure") and loosens_by_form(quote.text)
        is_said = is_misquoted or is_doubtful or reading.reaches(self._is_said)
        is_news = reading.reaches("sure") or not is_correction(quote.text)
        may_be = is_said or reading.reaches(self._is_listed)
        if may_be and is_news and not self._known(quote.text):
            self._unkept.append(Unkept(quote.text, WhyUnkept.UNSURE, is_listed=not is_said))

    def _is_heeded(self, kind: ChangeKind, reading: SentenceReading) -> bool:
        """Whether a proposal counts: always of a CCM that is heeded, else if half believed."""
        is_half = kind is ChangeKind.ADD and reading.reaches("half")
        return self._trust in HEEDED or kind is ChangeKind.GOAL or is_half or reading.loosens_alone

    def _loosens(self, quote: OwnQuote, reading: SentenceReading) -> bool:
        """Whether it loosens, whatever the CCM calls it."""
        is_heeded = self._trust in HEEDED
        is_sure = reading.loosens_though_believed if is_heeded else reading.loosens_alone
        return loosens_by_form(quote.text) or (is_sure and reading.loosens > reading.binds)

    def _change(self, change: RuleChange, quote: OwnQuote, reading: SentenceReading) -> None:
        """The end or change of a rule; of another matter it is none, but may bind or permit."""
        named = next((pin for pin in self._pins if pin.id == change.rule_id), None)
        said = f"{quote.sentence} {change.text or ''}"
        is_related = named is not None and is_about(said, named)
        if not is_related and reading.reaches("sure") and not self._loosens(quote, reading):
            # Another matter than the rule's: an addition, never a change of it.
            self._binding[quote] = None
            return
        is_believed = self._trust in HEEDED and not reading.reaches("half")
        pin = named if is_related or is_believed else meant(quote.text, self._pins)
        if pin is None:
            self._unkept.append(Unkept(quote.text, WhyUnkept.NO_RULE))
            return
        wording = _wording(change.text, quote, pin) if change.kind is ChangeKind.AMEND else ""
        self._loosening.append(Loosening(change.kind, quote, pin.id, wording))

    def _new(self) -> Iterator[OwnQuote]:
        """What binds and no rule in force says yet."""
        for quote in self._joined():
            pin = self._known(quote.text)
            if pin is None:
                yield quote
            elif same_wording(pin.text) != same_wording(quote.text):
                self._again.append(pin.id)

    def _joined(self) -> Iterator[OwnQuote]:
        """What binds; a sentence that only goes on with the one before joins it."""
        before: OwnQuote | None = None
        order = {sentence.text: at for at, sentence in enumerate(self.own.sentences)}
        for quote in sorted(self._binding, key=lambda each: order.get(each.sentence, 0)):
            gaps = (f"{before.text}{gap}{quote.text}" for gap in (" ", "")) if before else ()
            together = next((text for text in gaps if text in self.own.message), "")
            is_short = len(content_words(quote.text)) < _FEWEST_WORDS
            is_none = is_short and self._read(quote).is_certainly_none
            leans = is_none or _LEANS.match(normalise(quote.text))
            if leans and together:
                before = OwnQuote(together, together)
                continue
            if before:
                yield before
            before = quote
        if before:
            yield before

    def _known(self, text: str) -> ConstraintPin | None:
        """The rule in force that says it already."""
        return next((pin for pin in self._pins if is_rewording(text, pin.text)), None)

    def _is_settled(self, sentence: str) -> bool:
        return any(words in sentence or sentence in words for words in self._settled if words)

    def _read(self, quote: OwnQuote) -> SentenceReading:
        return self._heard.get(quote.sentence) or read_sentence(quote.sentence)


_WORDING_NEW = 0.5
"""Share of a new wording's content words that neither the rule nor the message has, at most."""


def _wording(text: str | None, quote: OwnQuote, pin: ConstraintPin) -> str:
    """The proposed new wording, if it is one: of the rule's matter and of the user's words.

    A fragment of the message in place of the rule is none, nor is what nobody said.
    """
    wanted = content_words(text or "")
    if not text or not wanted:
        return ""
    rule, message = content_words(pin.text), content_words(quote.sentence)
    is_new = len(wanted - rule - message) > _WORDING_NEW * len(wanted)
    said = same_wording(quote.sentence)
    is_fragment = same_wording(text) in said and len(wanted & rule) < _WORDING_NEW * len(rule)
    # The whole message is a rule's wording only if it sounds like a rule.
    is_order = same_wording(text) == said and not read_sentence(quote.sentence).reaches("half")
    return "" if is_new or is_fragment or is_order else text


def _without(quote: OwnQuote, permits: Sequence[str]) -> OwnQuote:
    """A binding clause without the clause of its sentence that permits something."""
    for permit in permits:
        before, part, after = quote.text.partition(permit)
        rest = max(before, after, key=len)
        edges = before[-1:] + after[:1]
        is_clause = len(content_words(permit)) >= _FEWEST_WORDS and not edges.strip(_EDGES)
        rest = rest.strip(" ,、;　")
        if part and is_clause and len(content_words(rest)) >= _FEWEST_WORDS:
            return quote._replace(text=rest)
    return quote


_FEWEST_WORDS = 2
_EDGES = " ,、;。.　"
_LEANS: Final = any_of(
    r"(?:and |but |so |also |otherwise |then )*(?:that|this|these|those|it|they|same|nights?"
    r"|the rest|everything else|anything else|no exceptions?|without exceptions?|not even|even"
    r"|neither|nor)\b",
    r"(?:これ|それ|その|この|例外|ただし|ほか|他|以外|あと|\S{1,8}も\S{1,8}も(?:なし|だめ|禁止))",
)
"""How a sentence begins that says nothing alone."""
