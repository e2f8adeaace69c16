"""Find explicit releases and amendments of pinned rules.

A false release is the worst error, so each of these must hold: the speaker's own words, in the
indicative, with a lexical cue, about one pin and no other. Everything else releases nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.quoted_spans import mask_quotations, own_sentences
from acc_ace.core.text.rules import release_cues
from acc_ace.core.text.rules.named_release import ID, ids_released, new_wording
from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.rules.topic import Topic, action_of, only_match, permits_without_condition
from acc_ace.core.text.sentences import remembered, split_clauses
from acc_ace.core.text.similarity import content_words

_COMMA = lazy_pattern(r"[,、;] ?|: ")

_MAX_STATEMENT = 400
"""Characters; what rambles on for longer releases nothing."""

_RELEASE_SHARE = 0.6
"""Share of a release's topic words that the pin must hold."""

_AMEND_SHARE = 0.4
"""The same for an amendment, which also brings new words."""


class PinChangeKind(StrEnum):
    """What happens to the rule."""

    RELEASE = "release"
    AMEND = "amend"


@dataclass(frozen=True)
class PinChange:
    """One explicit change of one pinned rule.

    `quote` is the verbatim sentence or clause that makes it; `new_text` the verbatim words of the
    rule that replaces it, for an amendment.
    """

    kind: PinChangeKind
    constraint_id: str
    quote: str
    new_text: str | None


def detect_changes(text: str, pins: Sequence[ConstraintPin]) -> list[PinChange]:
    """The explicit releases and amendments of a text, in order, at most one for each pin.

    A change names its pin by id ("release c-0003") or by topic, which must match exactly one pin.
    No release: questions, negations, conditions, guesses, reports, quotations, pasted text, mere
    contradictions, temporary exceptions, and wildcards ("ignore all rules").
    """
    return list(_changes_in(text, tuple(pins)))


@remembered
def _changes_in(text: str, pins: tuple[ConstraintPin, ...]) -> tuple[PinChange, ...]:
    changes: dict[str, PinChange] = {}
    for quote in _certain_statements(text):
        for change in _changes_of(quote, pins):
            changes.setdefault(change.constraint_id, change)
    return tuple(changes.values())


def unmatched_release(text: str, pins: Sequence[ConstraintPin]) -> str | None:
    """The first sentence that means to release a rule but names no single pin, or None.

    Wildcards, ambiguous topics, unknown ids, temporary exceptions and words that may be pasted
    are such; so that the answer can ask for the id.
    """
    return _unmatched_release(text, tuple(pins))


@remembered
def _unmatched_release(text: str, pins: tuple[ConstraintPin, ...]) -> str | None:
    certain = frozenset(_certain_statements(text))
    for quote in _statements(text):
        spoken = _spoken(quote)
        if release_cues.is_unsaid(spoken):
            continue
        if _changes_of(quote, pins):
            if quote in certain:
                continue
            return quote
        if release_cues.is_wildcard(spoken) or release_cues.ends_rule(spoken):
            return quote
        if ID.search(spoken) and release_cues.ends_by_name(spoken):
            return quote
        if _touches_any(spoken, pins):
            return quote
    return None


def _statements(text: str, *, wary: bool = False) -> Iterator[str]:
    """Sentences, and clauses where one sentence makes several statements; none over the bound."""
    for sentence in own_sentences(text, wary=wary):
        yield from (clause for clause in split_clauses(sentence) if len(clause) <= _MAX_STATEMENT)


def _certain_statements(text: str) -> Iterator[str]:
    """The statements that are surely the speaker's own and not taken back by the next one."""
    statements = list(_statements(text, wary=True))
    for quote, following in zip_longest(statements, statements[1:], fillvalue=""):
        if not release_cues.takes_back(_spoken(following)):
            yield quote


def _spoken(quote: str) -> str:
    return normalise(mask_quotations(quote))


def _changes_of(quote: str, pins: Sequence[ConstraintPin]) -> list[PinChange]:
    spoken = _spoken(quote)
    if release_cues.is_unsaid(spoken):
        return []
    if ID.search(spoken):
        return _by_name(quote, spoken, pins)
    if release_cues.is_wildcard(spoken):
        return []
    change = _by_topic(quote, spoken, pins)
    return [change] if change else []


def _by_name(quote: str, spoken: str, pins: Sequence[ConstraintPin]) -> list[PinChange]:
    names = frozenset(ID.findall(spoken))
    named = [pin for pin in pins if pin.id in names]
    if release_cues.amends(spoken) and len(named) == 1:
        new_text = new_wording(quote)
        # "Raise c-0003 to $800" says of nothing by itself what the new rule is about.
        return [PinChange(PinChangeKind.AMEND, named[0].id, quote, new_text)] if new_text else []
    if release_cues.is_temporary(spoken):
        return []
    released = ids_released(spoken)
    return [
        PinChange(PinChangeKind.RELEASE, pin.id, quote, new_text=None)
        for pin in named
        if pin.id in released
    ]


def _by_topic(quote: str, spoken: str, pins: Sequence[ConstraintPin]) -> PinChange | None:
    if release_cues.amends(spoken):
        pin = _amended_pin(spoken, pins)
        return _amendment(quote, pin) if pin else None
    if release_cues.is_temporary(spoken):
        return None
    part = _part_with_cue(spoken)
    if not _has_cue(part):
        return None
    fit = [pin for pin in pins if _may_release(part, pin)]
    # Another subject than the rule's, or a narrower one, releases nothing: "you may restart web-3".
    pin = only_match(Topic.of_change(part), fit, share=_RELEASE_SHARE, whole=True)
    return PinChange(PinChangeKind.RELEASE, pin.id, quote, new_text=None) if pin else None


def _may_release(part: str, pin: ConstraintPin) -> bool:
    """Whether the cue is of the kind that this rule can be released by.

    A permission lifts a prohibition of that very action, an excuse lifts a duty. So "db-01 is
    fine now" is news and leaves "never restart db-01" alone.
    """
    if release_cues.ends_rule(part) or release_cues.denies(part):
        return True
    if release_cues.excuses(part):
        return not negated(pin.text)
    if not release_cues.permits(part) or not negated(pin.text):
        return False
    if permits_without_condition(part, pin.text):
        return False
    action = action_of(pin.text)
    if action:
        return action in content_words(part)
    return _forbids_a_thing(pin) or release_cues.allows_by_word(part)


def _forbids_a_thing(pin: ConstraintPin) -> bool:
    """Whether the rule is "no peanuts", or Japanese, whose permissions always name an action."""
    rule = normalise(pin.text)
    return rule.startswith("no ") or language_of(rule) == "ja"


def _has_cue(spoken: str) -> bool:
    return any(
        cue(spoken)
        for cue in (
            release_cues.ends_rule,
            release_cues.permits,
            release_cues.excuses,
            release_cues.denies,
        )
    )


def _part_with_cue(spoken: str) -> str:
    """The part between commas that makes the release: "we shipped, so *the freeze is over*"."""
    parts = [part.strip() for part in _COMMA.split(spoken)]
    return next((part for part in parts if _has_cue(part)), spoken)


def _amended_pin(spoken: str, pins: Sequence[ConstraintPin]) -> ConstraintPin | None:
    """The pin whose subject or old value the amendment names, with nothing foreign in it."""
    for named in release_cues.amended_parts(spoken):
        pin = only_match(Topic.of_change(named), pins, share=_AMEND_SHARE, whole=True)
        if pin:
            return pin
    return None


def _amendment(quote: str, pin: ConstraintPin) -> PinChange:
    # The same words as a detected rule's, so that the amended rule is not pinned twice.
    rules = detect_rules(quote)
    new_text = rules[0].text if rules else quote
    return PinChange(PinChangeKind.AMEND, pin.id, quote, new_text=new_text)


def _touches_any(spoken: str, pins: Sequence[ConstraintPin]) -> bool:
    """Whether it could release one of the pins if it were plainer."""
    if not _has_cue(spoken):
        return False
    topic = Topic.of_change(spoken)
    return any(
        _may_release(spoken, pin) and topic.shared_with(Topic.of_rule(pin.text)) for pin in pins
    )
