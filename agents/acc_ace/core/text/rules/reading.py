"""The door of the language room for the commit gate: x_t, and what a CCM's reply says of it."""

import json
from collections.abc import Iterator, Mapping, Sequence

from acc_ace.core.schemas.commit import ChangeKind, CompressorReply, ConstraintPin, RuleChange
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.user_words import OwnQuote, QuotedChange, UserWords
from acc_ace.core.text.normalize import normalise, same_wording
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.rules.contradiction import against
from acc_ace.core.text.rules.goal_detection import detect_goal
from acc_ace.core.text.rules.own_words import is_rewording, own_words
from acc_ace.core.text.rules.possible_changes import may_loosen, possible_changes, unmatched_end
from acc_ace.core.text.rules.possible_rules import (
    is_bound_to_once,
    is_stated,
    may_be_rule,
    tells_of_others,
)
from acc_ace.core.text.rules.quoted_spans import mask_quotations
from acc_ace.core.text.rules.rule_changes import detect_changes
from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.sentences import split_clauses

_NOT_COPIED = "`quote` is not in the user's own words of current_input; copy the whole sentence"


def read_proposals(text: str, *, x_t: TurnInput, inputs: Mapping[str, object]) -> CompressorReply:
    """The CCM's reply; proposals that mean words of x_t but do not quote them are unreadable.

    A quote of something else in the `inputs` is left to the gate, as is one of nothing at all: the
    user has not said it. Raises ModelOutputError.
    """
    reply = read_reply(CompressorReply, text)
    if not reply.rule_changes or not x_t.authority.may_rule:
        return reply
    own = own_words(x_t.text)
    others = [value for name, value in inputs.items() if name != "current_input"]
    attached = [each.text for each in x_t.attachments]
    shown = same_wording(json.dumps([others, attached], ensure_ascii=False, default=str))
    wording = same_wording(x_t.text)
    changes, entries = list[RuleChange](), list[str]()
    for change in reply.rule_changes:
        quote = same_wording(change.quote)
        if quote in shown and quote not in wording:
            # Somebody else's: a likeness to words of x_t makes them nobody's rule.
            changes += [] if own.find_all(change.quote) else [change]
        elif own.find_all(change.quote) or not own.about(change.quote):
            changes.append(change)
        else:
            entries.append(f"{change.model_dump_json(exclude_defaults=True)}: {_NOT_COPIED}")
    unreadable = [*reply.unreadable, *entries]
    return reply.model_copy(update={"rule_changes": changes, "unreadable": unreadable})


def read_user_words(
    x_t: TurnInput, reply: CompressorReply | None, pins: Sequence[ConstraintPin]
) -> UserWords:
    """All that the commit gate wants to know of the words of x_t, with the rules in force.

    None is a reply that could not be used. Where a reply says nothing of rules, or what it says
    cannot be used, the plain rules of x_t stand in. Of what it passes over, a sure prohibition is
    proposed and one that may loosen is said not kept; other rules are left to the CCM.
    """
    if not x_t.authority.may_rule:
        return UserWords(against)
    if reply is None:
        return user_words(x_t, fallback_changes(x_t.text, pins))
    own = own_words(x_t.text)
    known = {same_wording(pin.text) for pin in pins}
    written = [
        RuleChange(kind=ChangeKind.ADD, quote=rule)
        for rule in reply.constraints or ()
        if same_wording(rule) not in known and own.find(rule)
    ]
    changes = [*(reply.rule_changes or ()), *written]
    if reply.rule_changes is None:
        return user_words(x_t, [*changes, *fallback_changes(x_t.text, pins)], reply.unreadable)
    unread = {own.about(entry) for entry in reply.unreadable} - {""}
    plain = fallback_changes(x_t.text, pins) if unread else []
    changes += [each for each in plain if any(each.quote in line for line in unread)]
    return _with_passed_over(user_words(x_t, changes, reply.unreadable), x_t, pins)


def _with_passed_over(words: UserWords, x_t: TurnInput, pins: Sequence[ConstraintPin]) -> UserWords:
    """Besides, what x_t surely says of rules in words of its own that no proposal points at.

    The end of a rule names none, so that it ends nothing and is said to.
    """
    own = [*words.rules, *(quote for each in words.changes for quote in each.quotes)]
    texts = [quote.text for quote in own]
    more, unread = list[RuleChange](), list[str]()
    for change in detect_changes(x_t.text, pins):
        if not _is_of(change.quote, texts):
            more.append(RuleChange(kind=ChangeKind.RELEASE, quote=change.quote))
            texts.append(change.quote)
    for rule in detect_rules(x_t.text):
        if not (negated(rule.text) and _is_sure(rule)) or _is_of(rule.text, texts):
            continue
        if any(is_rewording(rule.text, pin.text) for pin in pins):
            continue
        if words.mixed or may_loosen(rule.text, pins):
            unread.append(rule.sentence)
        else:
            more.append(RuleChange(kind=ChangeKind.ADD, quote=rule.text))
    quoted = user_words(x_t, more).changes if more else ()
    return words._replace(changes=words.changes + quoted, unread=(*words.unread, *unread))


def _is_of(words: str, others: Sequence[str]) -> bool:
    """Whether one of the others holds the words, or is a part of them."""
    return any(words in other or other in words for other in others)


def user_words(
    x_t: TurnInput, changes: Sequence[RuleChange], unread: Sequence[str] = ()
) -> UserWords:
    """x_t, and where each proposal stands in it; `unread` ones cannot be used."""
    own = own_words(x_t.text)
    return UserWords(
        against,
        mixed=own.mixed or bool(x_t.attachments),
        rules=own.labelled_rules(),
        goal=own.labelled_goal(),
        changes=tuple(
            QuotedChange(each, tuple(own.find_all(each.quote)), own.find(each.text or ""))
            for each in changes
        ),
        unread=tuple(map(own.about, unread)),
    )


def proposed_changes(
    text: str, pins: Sequence[ConstraintPin], *, has_goal: bool
) -> list[RuleChange]:
    """The rules, releases, amendments and goal that a text seems to state, each with its quote.

    What only may be a rule is proposed as unsure, so that the user is asked.
    """
    changes = possible_changes(text, pins)
    if not changes and (unmatched := unmatched_end(text)):
        changes = [RuleChange(kind=ChangeKind.RELEASE, quote=unmatched)]
    ending = [change.quote for change in changes]
    rules = [
        RuleChange(kind=ChangeKind.ADD, quote=rule.text, sure=_is_sure(rule))
        for rule in detect_rules(text)
        if not any(rule.text in quote or quote in rule.text for quote in ending)
    ]
    taken = [*ending, *(rule.quote for rule in rules)]
    rules += [
        RuleChange(kind=ChangeKind.ADD, quote=clause, sure=False)
        for clause in _possible_rules(text)
        if not any(clause in quote or quote in clause for quote in taken)
    ]
    goal = detect_goal(text)
    stated = goal is not None and (goal.explicit or not has_goal)
    goals = [RuleChange(kind=ChangeKind.GOAL, quote=goal.text)] if goal and stated else []
    return [*changes, *rules, *goals]


def _is_sure(rule: OwnQuote) -> bool:
    """Whether a rule that the detector found is one beyond reasonable doubt."""
    text = normalise(rule.sentence)
    return not (tells_of_others(text) or is_bound_to_once(text))


def _possible_rules(text: str) -> Iterator[str]:
    """The clauses that may be rules."""
    for sentence in own_words(text).sentences:
        if is_stated(normalise(mask_quotations(sentence.text))):
            for clause in split_clauses(sentence.text):
                if may_be_rule(normalise(mask_quotations(clause))):
                    yield clause


def fallback_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """Proposals without a usable reply: prohibitions, and changes that become questions."""
    return [
        change
        for change in proposed_changes(text, pins, has_goal=True)
        if change.kind in {ChangeKind.RELEASE, ChangeKind.AMEND}
        or (change.kind is ChangeKind.ADD and negated(change.quote))
    ]
