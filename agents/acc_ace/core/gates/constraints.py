"""Rule 2 of the commit gate: constraints survive until the user consents to lift them.

The CCM quotes words that are verified to be the user's own; in a turn only a command or a yes lifts
or changes a constraint. Those commands are all the language it knows: `core.text.rules` reads x_t.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from acc_ace.core.gates.commands import Amend, AnswerQuestion, Forget, Pin, parse_command
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    ConstraintPin,
    OpenQuestion,
    Release,
    Repair,
    RuleScope,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.user_words import OwnQuote, QuotedChange, UserWords
from acc_ace.core.text.normalize import has_words, one_line, same_wording
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens

CONSTRAINT_RESTORED = "constraint_restored"
NOT_OWN_WORDS = "not_own_words"
UNKNOWN_RULE = "unknown_rule"
TOO_MANY_PROPOSALS = "too_many_proposals"

MOST_NEW = 3
"""Maximum rules that the CCM may pin in one turn; the rest become one question."""

MOST_PROPOSALS = 64
"""Maximum proposals used of one reply."""

MOST_ASKED = 12
"""Maximum rules in one question."""

MOST_QUESTIONS = 8
QUESTION_TURNS = 3
"""Turns after which a question lapses."""

_QUOTE_TOKENS = 200
_QUOTE_CHARS = 2_000
_DETAIL_TOKENS = 32
_PREFIX = {RuleScope.SESSION: "c", RuleScope.USER: "u"}


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
    warnings: list[str] = field(default_factory=list)
    unmatched: str = ""
    """Words of x_t that seem to lift an unknown rule."""
    unkept: tuple[str, ...] = ()
    """Sentences of x_t that may be rules and are neither pinned nor asked about."""
    is_command: bool = False
    """Whether x_t as a whole is a command, so that proposals are ignored."""
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

    def ask(
        self,
        kind: ChangeKind,
        quote: str,
        *,
        rule_id: str | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        """Add a question; replaces one about the same matter, and evicts the oldest if full."""
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
        self.questions = [*others, question][-MOST_QUESTIONS:]

    def lapse(self) -> None:
        """Drop the lapsed questions."""
        oldest = self.turn - QUESTION_TURNS
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
    sole_question: str | None = None,
) -> ConstraintSet:
    """Rule 2: constraints come only from the user's own words and are lifted only by consent.

    `written` is the CCM's list, or None: nothing is pinned from here, as its new quotes come with
    `words`, and its missing constraints are logged as restored. `words` are the user's own and what
    the CCM proposes of them; what it says of them in a way that cannot be used is said not kept.
    `sole_question` is what a bare yes or no answers. Labelled rules and commands are pinned at any
    length, for the caller to refuse; proposals only within `budget` tokens.
    """
    rules = ConstraintSet.of(previous, turn=turn)
    rules.lapse()
    if written is not None:
        _note_restored(rules, written)
    if not turn_input.authority.may_rule:
        return rules
    rules.settle_tentative()
    command = parse_command(turn_input.text)
    rules.is_command = command is not None
    match command:
        case Forget(rule_ids):
            forget_rules(rules, rule_ids, turn_input.text, turn_input.authority)
        case Amend(rule_id, text):
            amend_rule(rules, rule_id, text, turn_input.text, turn_input.authority)
        case Pin(text, scope):
            make_rule(rules, text, turn_input.text, turn_input.authority, scope)
        case AnswerQuestion(yes, question_id):
            if answered := question_id or sole_question:
                settle_question(rules, answered, yes=yes, authority=turn_input.authority)
        case None:
            _take_proposals(rules, words, turn_input.authority, budget=budget)
            rules.unkept = _unkept(rules, words.unread)
    return rules


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
            rules.warnings.append(_unknown(rules, rule_id))
        elif _may_change(rules, pin, authority):
            rules.release(pin, quote)


def amend_rule(
    rules: ConstraintSet, rule_id: str, text: str, quote: str, authority: Authority
) -> None:
    """Replace a rule by a new one; warn if it is not active or may not be changed."""
    pin = rules.find(rule_id)
    if pin is None:
        rules.warnings.append(_unknown(rules, rule_id))
    elif same_wording(text) != same_wording(pin.text) and _may_change(rules, pin, authority):
        successor = rules.pin(text, quote, authority, scope=pin.scope) or rules.active(text)
        if successor is not None:
            rules.release(pin, quote, replaced_by=successor)


def settle_question(
    rules: ConstraintSet, question_id: str, *, yes: bool, authority: Authority
) -> None:
    """Apply or drop an open question; warn if it is no longer open."""
    question = next((each for each in rules.questions if each.id == question_id), None)
    if question is None:
        rules.warnings.append(
            f"question {question_id} is not open: it was answered, or lapsed after "
            f"{QUESTION_TURNS} turns; nothing was changed"
        )
        return
    rules.questions.remove(question)
    if not yes:
        return
    match question.kind:
        case ChangeKind.ADD:
            for text in question.texts:
                rules.pin(text, question.quote, authority)
        case ChangeKind.RELEASE:
            forget_rules(rules, [question.rule_id or ""], question.quote, authority)
        case ChangeKind.AMEND:
            for text in question.texts[:1]:
                amend_rule(rules, question.rule_id or "", text, question.quote, authority)
        case ChangeKind.GOAL:
            rules.agreed_goal = question


def _take_proposals(
    rules: ConstraintSet, words: UserWords, authority: Authority, *, budget: int
) -> None:
    """Pin labelled rules, then the CCM's quotes; ask where only the user can decide."""
    new = list[OwnQuote]()
    for label in words.rules:
        if words.mixed:
            new.append(label)
        else:
            rules.pin(label.text, label.sentence, authority)
    if len(words.changes) > MOST_PROPOSALS:
        rules.repairs.append(_repair(TOO_MANY_PROPOSALS, f"{len(words.changes)} proposals"))
    for quoted in words.changes[:MOST_PROPOSALS]:
        change = quoted.change
        if change.kind is ChangeKind.GOAL:
            continue
        if not quoted.quotes:
            rules.repairs.append(_repair(NOT_OWN_WORDS, change.quote))
        elif change.kind is not ChangeKind.ADD:
            _ask_to_change(rules, quoted)
        for quote in quoted.quotes if change.kind is ChangeKind.ADD else ():
            if not _is_said(rules, new, quote):
                new.append(quote if change.sure else quote._replace(doubtful=True))
    sure = [] if words.mixed else [quote for quote in new if not quote.doubtful][:MOST_NEW]
    _pin_proposed(rules, sure, authority, budget=budget)
    texts = [one_line(quote.text) for quote in new if quote not in sure]
    if len(texts) > MOST_ASKED:
        rules.warnings.append(
            f"{len(texts) - MOST_ASKED} more sentences may be rules and were not kept; send each "
            "as '/rule TEXT'"
        )
    texts = texts[:MOST_ASKED]
    if texts:
        rules.ask(ChangeKind.ADD, "; ".join(texts), texts=texts)


def _unkept(rules: ConstraintSet, unread: Sequence[str]) -> tuple[str, ...]:
    """The own sentences that unread proposals are about, but for what was kept or asked."""
    taken = [pin.quote for pin in rules.added]
    taken += [question.quote for question in rules.asked_now()]
    return tuple(
        text
        for text in dict.fromkeys(unread[:MOST_ASKED])
        if text and not any(text in each or each in text for each in taken)
    )


def _pin_proposed(
    rules: ConstraintSet, quotes: Sequence[OwnQuote], authority: Authority, *, budget: int
) -> None:
    left = budget - sum(estimate_tokens(pin.text) for pin in rules.pins)
    for quote in quotes:
        cost = estimate_tokens(quote.text)
        if cost > left:
            rules.warnings.append(_no_room(quote.text))
        elif rules.pin(quote.text, quote.sentence, authority, tentative=True) is not None:
            left -= cost


def _is_said(rules: ConstraintSet, more: Sequence[OwnQuote], quote: OwnQuote) -> bool:
    """Whether a proposal is redundant: a known rule has or contains its words."""
    text = same_wording(quote.text)
    newly = [pin.text for pin in rules.added] + [other.text for other in more]
    return rules.active(quote.text) is not None or any(text in same_wording(new) for new in newly)


def _ask_to_change(rules: ConstraintSet, quoted: QuotedChange) -> None:
    """Turn a proposed release or amendment into a question, or log that the rule is unknown."""
    change, quote = quoted.change, quoted.quotes[0]
    pin = rules.find(change.rule_id)
    if pin is None:
        rules.unmatched = rules.unmatched or quote.text
        rules.repairs.append(_repair(UNKNOWN_RULE, change.rule_id or quote.text))
        return
    texts = [(quoted.wording or quote).text] if change.kind is ChangeKind.AMEND else []
    rules.ask(change.kind, quote.sentence, rule_id=pin.id, texts=texts)


def _may_change(rules: ConstraintSet, pin: ConstraintPin, authority: Authority) -> bool:
    if authority.rank >= pin.authority.rank:
        return True
    rules.warnings.append(
        f"{pin.id} was set with {pin.authority.value} authority and stays active; "
        f"{authority.value} input cannot change it"
    )
    return False


def _note_restored(rules: ConstraintSet, written: Sequence[str]) -> None:
    if not written:
        return  # As the prompt asks: rules are carried over without the CCM.
    texts = {one_line(text[:_QUOTE_CHARS]) for text in written[: len(rules.pins) + MOST_PROPOSALS]}
    rules.repairs.extend(
        Repair(field="constraints", reason=CONSTRAINT_RESTORED, detail=pin.id)
        for pin in rules.pins
        if pin.text not in texts
    )


def _repair(reason: str, text: str) -> Repair:
    detail = clip_tokens(one_line(text[:_QUOTE_CHARS]), _DETAIL_TOKENS)
    return Repair(field="constraints", reason=reason, detail=detail)


def _unknown(rules: ConstraintSet, rule_id: str) -> str:
    active = ", ".join(pin.id for pin in rules.pins[:8]) or "none"
    return f"no active rule has the id {rule_id} (active: {active}); nothing was changed for it"


def _no_room(clause: str) -> str:
    return (
        f"'{clip_tokens(clause, _DETAIL_TOKENS)}' may be a rule, but the constraints' budget has "
        "no room for it; lift another rule, or raise ACC_ACE_LIMITS__CONSTRAINTS_TOKENS"
    )
