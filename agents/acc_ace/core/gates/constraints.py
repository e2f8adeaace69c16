"""Rule 2 of the commit gate: constraints survive until the user consents to lift them.

Two directions, two defaults. What binds the agent more is in force as soon as it is read; what
loosens waits until the user consents to it by name. Commands and consents are all the language that
the gate knows: `core.text.rules` reads x_t.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from acc_ace.core.gates.commands import (
    Amend,
    AnswerQuestion,
    Command,
    Erase,
    Forget,
    Pin,
    parse_command,
)
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    ConstraintPin,
    OpenQuestion,
    Release,
    Repair,
    RuleScope,
    ToolCheck,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.user_words import Late, Loosening, Unkept, UserWords, WhyUnkept
from acc_ace.core.text.normalize import has_words, one_line, same_wording
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens

CONSTRAINT_RESTORED = "constraint_restored"
NOT_OWN_WORDS = "not_own_words"
MOST_BINDING = 400
"""Maximum new rules of one message that are looked at; the others are not kept."""

MOST_RULE_CHARS = 900
"""A longer sentence may have been cut, and half a rule is none; a command takes it whole."""

MOST_QUESTIONS = 8
QUESTION_TURNS = 3
"""Turns after which a question lapses."""

_QUOTE_TOKENS = 200
_QUOTE_CHARS = 2_000
_DETAIL_TOKENS = 32
_PREFIX = {RuleScope.SESSION: "c", RuleScope.USER: "u"}


class WhyNoChange(StrEnum):
    """Why a command changed nothing."""

    NO_RULE = "no_rule"
    """No such rule is in force."""
    NO_QUESTION = "no_question"
    """The question was answered, or has lapsed."""
    SYSTEM = "system"
    """The rule is of higher authority."""


class NoChange(NamedTuple):
    """The rule or question of a command that changed nothing."""

    id: str
    why: WhyNoChange


@dataclass
class ConstraintSet:
    """Unit of work on the constraints and open questions of one turn."""

    pins: list[ConstraintPin]
    next_pin: int
    turn: int
    questions: list[OpenQuestion] = field(default_factory=list)
    next_question: int = 1
    next_user_pin: int = 1
    added: list[ConstraintPin] = field(default_factory=list)
    released: list[Release] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    no_changes: list[NoChange] = field(default_factory=list)
    unkept: list[Unkept] = field(default_factory=list)
    """Words of x_t that may be rules and are neither in force nor waiting."""
    again: list[ConstraintPin] = field(default_factory=list)
    """Rules in force that x_t says again in other words."""
    lapsed: list[OpenQuestion] = field(default_factory=list)
    refused: list[OpenQuestion] = field(default_factory=list)
    """Questions that the user answered with no."""
    answered: list[OpenQuestion] = field(default_factory=list)
    """Questions that x_t seems to answer and does not settle."""
    is_bare_reply: bool = False
    """Whether x_t only says yes or no, which settles and states nothing."""
    is_part_consent: bool = False
    """Whether some of x_t answers an open question, which settles nothing."""
    is_command: bool = False
    """Whether x_t as a whole is a command or a consent, so that proposals are ignored."""
    heard_late: Late | None = None
    """Set where this was said in an earlier turn."""
    agreed_goal: OpenQuestion | None = None
    """The question about the goal that x_t accepts."""

    @classmethod
    def of(cls, state: CommittedState, *, turn: int) -> "ConstraintSet":
        """The constraints of a state, before this turn's changes."""
        return cls(
            pins=list(state.pins),
            next_pin=state.next_pin,
            turn=turn,
            questions=list(state.questions),
            next_question=state.next_question,
            next_user_pin=state.next_user_pin,
        )

    def pin(
        self,
        text: str,
        quote: str,
        authority: Authority,
        *,
        tentative: bool = False,
        scope: RuleScope = RuleScope.SESSION,
    ) -> str | None:
        """Add a constraint unless it is already active; its id, or None."""
        plain = one_line(text)
        if not has_words(plain) or self.active(plain) is not None:
            return None
        pin = ConstraintPin(
            id=self._next_id(scope),
            text=plain,
            authority=authority,
            origin_turn=self.turn,
            quote=clip_tokens(one_line(quote), _QUOTE_TOKENS),
            scope=scope,
            tentative=tentative,
        )
        self.pins.append(pin)
        self.added.append(pin)
        return pin.id

    def active(self, text: str) -> str | None:
        """The id of the active constraint with this wording, or None."""
        wanted = same_wording(text)
        return next((pin.id for pin in self.pins if same_wording(pin.text) == wanted), None)

    def find(self, rule_id: str | None) -> ConstraintPin | None:
        """The active constraint with an id, or None."""
        return next((pin for pin in self.pins if pin.id == rule_id), None)

    def release(self, pin: ConstraintPin, quote: str, *, replaced_by: str | None = None) -> None:
        """Remove a constraint and the questions about it; record the words that released it."""
        self.pins.remove(pin)
        line = one_line(quote[:_QUOTE_CHARS])
        self.released.append(Release(id=pin.id, text=pin.text, quote=line, replaced_by=replaced_by))
        self.questions = [question for question in self.questions if question.rule_id != pin.id]
        self.lapsed = [question for question in self.lapsed if question.rule_id != pin.id]

    def ask(
        self,
        kind: ChangeKind,
        quote: str,
        *,
        rule_id: str | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        """Add a question; replaces one about the same matter; if full, the oldest lapses."""
        number = self.next_question
        self.next_question += 1
        question = OpenQuestion(
            id=f"q-{number:04d}",
            kind=kind,
            rule_id=rule_id,
            quote=clip_tokens(one_line(quote), _QUOTE_TOKENS),
            texts=[one_line(text) for text in texts],
            asked_turn=self.turn,
        )
        others = [each for each in self.questions if not _same_matter(each, question)]
        self.lapsed += others[: max(0, len(others) - MOST_QUESTIONS + 1)]
        self.questions = [*others, question][-MOST_QUESTIONS:]

    def lapse(self) -> None:
        """Drop the lapsed questions."""
        oldest = self.turn - QUESTION_TURNS
        self.lapsed = [question for question in self.questions if question.asked_turn < oldest]
        self.questions = [question for question in self.questions if question.asked_turn >= oldest]

    def settle_tentative(self) -> None:
        """Confirm tentative rules of earlier turns, to which the user did not object."""
        self.pins = [
            pin.model_copy(update={"tentative": False})
            if pin.tentative and pin.origin_turn < self.turn
            else pin
            for pin in self.pins
        ]

    @property
    def tokens(self) -> int:
        """What the active constraints need."""
        return sum(estimate_tokens(pin.text) for pin in self.pins)

    @property
    def shrinks(self) -> bool:
        """Whether the turn releases constraints and adds no more tokens than that frees."""
        freed = sum(estimate_tokens(release.text) for release in self.released)
        return freed > 0 and sum(estimate_tokens(pin.text) for pin in self.added) <= freed

    def asked_now(self) -> list[OpenQuestion]:
        """The questions of this turn."""
        return [question for question in self.questions if question.asked_turn == self.turn]

    def _next_id(self, scope: RuleScope) -> str:
        if scope is RuleScope.USER:
            number = self.next_user_pin
            self.next_user_pin += 1
        else:
            number = self.next_pin
            self.next_pin += 1
        return f"{_PREFIX[scope]}-{number:04d}"


def _same_matter(first: OpenQuestion, second: OpenQuestion) -> bool:
    same_rule = first.rule_id == second.rule_id
    return first.kind is second.kind and same_rule and (bool(first.rule_id) or first == second)


def rule_2_constraints_survive(
    previous: CommittedState,
    written: Sequence[str] | None,
    words: UserWords,
    turn_input: TurnInput,
    *,
    turn: int,
    budget: int,
) -> ConstraintSet:
    """Rule 2: constraints come only from the user's own words and are lifted only by consent.

    `written` is the CCM's list, or None: nothing is pinned from here, as its new quotes come with
    `words`, and its missing constraints are logged as restored. `words` are the user's own as they
    were read. Commands pin at any length, for the caller to refuse; what else binds takes at most
    half of `budget` tokens, and no more than is free.
    """
    rules = ConstraintSet.of(previous, turn=turn)
    rules.lapse()
    if written is not None:
        _note_restored(rules, written)
    if not turn_input.authority.may_rule:
        return rules
    rules.settle_tentative()
    # Beside text of others, or in one of several parts, nothing is a command.
    asked = len(rules.asked_now())
    is_free = bool(turn_input.attachments) or words.late is not None
    command = None if is_free else _command(rules, turn_input.text, words)
    rules.is_command = command is not None
    before = deepcopy(rules) if command else rules
    match command:
        case Forget(rule_ids):
            forget_rules(rules, rule_ids, turn_input.text, turn_input.authority)
        case Amend(rule_id, text):
            amend_rule(rules, rule_id, text, turn_input.text, turn_input.authority)
        case Pin(text, scope):
            make_rule(rules, text, turn_input.text, turn_input.authority, scope)
        case AnswerQuestion(yes, question_id):
            settle_question(rules, question_id, yes=yes, authority=turn_input.authority)
        case Erase():
            pass  # Done when the turn was opened, and no matter of rules.
        case None:
            rules.is_bare_reply = words.is_bare_reply
            rules.is_part_consent = words.is_part_consent
            rules.answered = [each for each in rules.questions if each.id in words.answered]
            if not rules.is_bare_reply:
                # A bare yes is no rule, whatever the CCM makes of it.
                _take_words(rules, words, turn_input.authority, budget=budget)
    if rules.added or rules.unkept or len(rules.asked_now()) > asked:
        rules.heard_late = None if words.late is Late.PIECE else words.late
    if command and rules.added and not rules.shrinks and rules.tokens > budget:
        before.unkept.append(Unkept(rules.added[-1].text, WhyUnkept.NO_ROOM))
        return before
    return rules


def _command(rules: ConstraintSet, text: str, words: UserWords) -> Command | None:
    """The command that x_t is as a whole; a consent that names the one open change is one."""
    command = parse_command(text)
    if command is not None or words.consent is None:
        return command
    open_ids = [question.id for question in rules.questions]
    question_id, yes = words.consent
    return AnswerQuestion(yes, question_id) if open_ids == [question_id] else None


def make_rule(
    rules: ConstraintSet, text: str, quote: str, authority: Authority, scope: RuleScope
) -> None:
    """Pin a rule; a session rule with the same wording is widened to the requested scope."""
    pin = rules.find(rules.active(text))
    widens = pin is not None and pin.scope is not scope and scope is RuleScope.USER
    if pin is None or not widens:
        rules.pin(text, quote, authority, scope=scope)
    elif _may_change(rules, pin, authority):
        rules.release(pin, quote)
        successor = rules.pin(text, quote, authority, scope=scope)
        rules.released[-1] = rules.released[-1].model_copy(update={"replaced_by": successor})


def forget_rules(
    rules: ConstraintSet, rule_ids: Sequence[str], quote: str, authority: Authority
) -> None:
    """Lift the named rules; warn about each that is not active or has higher authority."""
    for rule_id in rule_ids:
        pin = rules.find(rule_id)
        if pin is None:
            rules.no_changes.append(NoChange(rule_id, WhyNoChange.NO_RULE))
        elif _may_change(rules, pin, authority):
            rules.release(pin, quote)


def amend_rule(
    rules: ConstraintSet, rule_id: str, text: str, quote: str, authority: Authority
) -> None:
    """Replace a rule by a new one; warn if it is not active or may not be changed."""
    pin = rules.find(rule_id)
    if pin is None:
        rules.no_changes.append(NoChange(rule_id, WhyNoChange.NO_RULE))
    elif same_wording(text) != same_wording(pin.text) and _may_change(rules, pin, authority):
        successor = rules.pin(text, quote, authority, scope=pin.scope) or rules.active(text)
        if successor is not None:
            rules.release(pin, quote, replaced_by=successor)


def set_checks(
    rules: ConstraintSet,
    rule_id: str,
    checks: Sequence[ToolCheck],
    quote: str,
    authority: Authority,
) -> None:
    """Set what a person wants of a rule at tools; note if it is not active or not theirs."""
    pin = rules.find(rule_id)
    if pin is None:
        rules.no_changes.append(NoChange(rule_id, WhyNoChange.NO_RULE))
    elif list(checks) != pin.checks and _may_change(rules, pin, authority):
        new = pin.model_copy(update={"checks": list(checks)})
        rules.pins[rules.pins.index(pin)] = new
        rules.added.append(new)
        rules.released.append(Release(id=pin.id, text=pin.text, quote=quote, replaced_by=pin.id))


def settle_question(
    rules: ConstraintSet, question_id: str, *, yes: bool, authority: Authority
) -> None:
    """Apply or drop an open question; warn if it is no longer open."""
    question = next((each for each in rules.questions if each.id == question_id), None)
    if question is None:
        rules.no_changes.append(NoChange(question_id, WhyNoChange.NO_QUESTION))
        return
    rules.questions.remove(question)
    if not yes:
        rules.refused.append(question)
        return
    match question.kind:
        case ChangeKind.ADD | ChangeKind.PERMIT:
            for text in question.texts:
                rules.pin(text, question.quote, authority)
        case ChangeKind.RELEASE:
            forget_rules(rules, [question.rule_id or ""], question.quote, authority)
        case ChangeKind.AMEND:
            for text in question.texts[:1]:
                amend_rule(rules, question.rule_id or "", text, question.quote, authority)
        case ChangeKind.GOAL:
            rules.agreed_goal = question


def _take_words(
    rules: ConstraintSet, words: UserWords, authority: Authority, *, budget: int
) -> None:
    """Pin what binds; ask about what loosens; note what is not kept."""
    rules.repairs += [_repair(NOT_OWN_WORDS, quote) for quote in words.misquoted]
    _pin_binding(rules, words, authority, budget=budget)
    for loosening in words.loosening:
        _ask_to_loosen(rules, loosening)
    rules.again += [pin for pin in map(rules.find, words.again) if pin is not None]
    rules.unkept += words.unkept


def _pin_binding(
    rules: ConstraintSet, words: UserWords, authority: Authority, *, budget: int
) -> None:
    """Pin what fits, what the user calls a rule first, in the order said; the rest is not kept."""
    quotes = [*words.rules, *words.binding]
    left = min(budget - rules.tokens, budget // 2)
    for quote in quotes[:MOST_BINDING]:
        cost = estimate_tokens(one_line(quote.text))
        if rules.active(one_line(quote.text)) is not None:
            continue
        if cost > left or len(quote.text) > MOST_RULE_CHARS:
            rules.unkept.append(Unkept(quote.text, WhyUnkept.NO_ROOM))
        else:
            is_labelled = quote in words.rules
            rules.pin(quote.text, quote.sentence, authority, tentative=not is_labelled)
            left -= cost
    rules.unkept += [Unkept(quote.text, WhyUnkept.NO_ROOM) for quote in quotes[MOST_BINDING:]]


def _ask_to_loosen(rules: ConstraintSet, loosening: Loosening) -> None:
    """Ask for consent; a change of no rule in force, or without a wording, cannot wait for it."""
    kind, words = loosening.kind, loosening.quote.text
    if kind is ChangeKind.PERMIT:
        if rules.active(one_line(words)) is None:
            rules.ask(kind, loosening.quote.sentence, texts=[words])
        return
    pin = rules.find(loosening.rule_id)
    if pin is None:
        rules.unkept.append(Unkept(words, WhyUnkept.NO_RULE))
    elif kind is ChangeKind.RELEASE:
        rules.ask(kind, loosening.quote.sentence, rule_id=pin.id)
    elif not loosening.wording:
        rules.unkept.append(Unkept(words, WhyUnkept.NO_WORDING, pin.id))
    elif same_wording(loosening.wording) != same_wording(pin.text):
        texts = [loosening.wording]
        rules.ask(kind, loosening.quote.sentence, rule_id=pin.id, texts=texts)


def _may_change(rules: ConstraintSet, pin: ConstraintPin, authority: Authority) -> bool:
    if authority.rank >= pin.authority.rank:
        return True
    rules.no_changes.append(NoChange(pin.id, WhyNoChange.SYSTEM))
    return False


def _note_restored(rules: ConstraintSet, written: Sequence[str]) -> None:
    if not written:
        return  # As the prompt asks: rules are carried over without the CCM.
    texts = {one_line(text[:_QUOTE_CHARS]) for text in written[: len(rules.pins) + MOST_BINDING]}
    rules.repairs.extend(
        Repair(field="constraints", reason=CONSTRAINT_RESTORED, detail=pin.id)
        for pin in rules.pins
        if pin.text not in texts
    )


def _repair(reason: str, text: str) -> Repair:
    detail = clip_tokens(one_line(text[:_QUOTE_CHARS]), _DETAIL_TOKENS)
    return Repair(field="constraints", reason=reason, detail=detail)
