"""Find explicit releases and amendments of pinned rules.

A false release is the worst error, so each of these must hold: the speaker's own words, in the
indicative, with a lexical cue, about one pin and no other. Everything else releases nothing.

Naming an id is the way that always works, so the form is narrow: the verb governs the id and
nothing else. "Delete row c-0001", "release notes for c-0001", "release c-0001 or c-0002" and
「c-0001を解除する手順」 release nothing.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin, RuleChange
from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules import release_cues
from acc_ace.core.text.rules.quoted_spans import (
    first_quotation,
    mask_quotations,
    own_sentences,
)
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


def detect_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """The explicit releases and amendments of a text, in order, at most one for each pin.

    A change names its pin by id ("release c-0003") or by topic, which must match exactly one pin.
    No release: questions, negations, conditions, guesses, reports, quotations, pasted text, mere
    contradictions, temporary exceptions, and wildcards ("ignore all rules").
    """
    return list(_changes_in(text, tuple(pins)))


@remembered
def _changes_in(text: str, pins: tuple[ConstraintPin, ...]) -> tuple[RuleChange, ...]:
    changes: dict[str, RuleChange] = {}
    for quote in _certain_statements(text):
        for change in _changes_of(quote, pins):
            changes.setdefault(change.rule_id or "", change)
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
        if release_cues.WILDCARD.search(spoken) or release_cues.ENDS_RULE.search(spoken):
            return quote
        if ID.search(spoken) and release_cues.ENDS_BY_NAME.search(spoken):
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
        if not release_cues.TAKES_BACK.search(_spoken(following)):
            yield quote


def _spoken(quote: str) -> str:
    return normalise(mask_quotations(quote))


def _changes_of(quote: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    spoken = _spoken(quote)
    if release_cues.is_unsaid(spoken):
        return []
    if ID.search(spoken):
        return _by_name(quote, spoken, pins)
    if release_cues.WILDCARD.search(spoken):
        return []
    change = _by_topic(quote, spoken, pins)
    return [change] if change else []


def _by_name(quote: str, spoken: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    names = frozenset(ID.findall(spoken))
    named = [pin for pin in pins if pin.id in names]
    if release_cues.AMENDS.search(spoken) and len(named) == 1:
        new_text = new_wording(quote)
        # "Raise c-0003 to $800" says of nothing by itself what the new rule is about.
        return [_amend(quote, named[0], new_text)] if new_text else []
    if release_cues.TEMPORARY.search(spoken):
        return []
    released = ids_released(spoken)
    return [_release(quote, pin) for pin in named if pin.id in released]


def _by_topic(quote: str, spoken: str, pins: Sequence[ConstraintPin]) -> RuleChange | None:
    if release_cues.AMENDS.search(spoken):
        pin = _amended_pin(spoken, pins)
        return _amendment(quote, pin) if pin else None
    if release_cues.TEMPORARY.search(spoken):
        return None
    part = _part_with_cue(spoken)
    if not _has_cue(part):
        return None
    fit = [pin for pin in pins if _may_release(part, pin)]
    # Another subject than the rule's, or a narrower one, releases nothing: "you may restart web-3".
    pin = only_match(Topic.of_change(part), fit, share=_RELEASE_SHARE, whole=True)
    return _release(quote, pin) if pin else None


def _may_release(part: str, pin: ConstraintPin) -> bool:
    """Whether the cue is of the kind that this rule can be released by.

    A permission lifts a prohibition of that very action, an excuse lifts a duty. So "db-01 is
    fine now" is news and leaves "never restart db-01" alone.
    """
    if release_cues.ENDS_RULE.search(part) or release_cues.DENIES.search(part):
        return True
    if release_cues.EXCUSES.search(part):
        return not negated(pin.text)
    if not release_cues.PERMITS.search(part) or not negated(pin.text):
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
    cues = release_cues
    return any(x.search(spoken) for x in (cues.ENDS_RULE, cues.PERMITS, cues.EXCUSES, cues.DENIES))


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


def _amendment(quote: str, pin: ConstraintPin) -> RuleChange:
    # The same words as a detected rule's, so that the amended rule is not pinned twice.
    rules = detect_rules(quote)
    return _amend(quote, pin, rules[0].text if rules else quote)


def _amend(quote: str, pin: ConstraintPin, text: str) -> RuleChange:
    return RuleChange(kind=ChangeKind.AMEND, rule_id=pin.id, quote=quote, text=text)


def _release(quote: str, pin: ConstraintPin) -> RuleChange:
    return RuleChange(kind=ChangeKind.RELEASE, rule_id=pin.id, quote=quote)


def _touches_any(spoken: str, pins: Sequence[ConstraintPin]) -> bool:
    """Whether it could release one of the pins if it were plainer."""
    if not _has_cue(spoken):
        return False
    topic = Topic.of_change(spoken)
    return any(
        _may_release(spoken, pin) and topic.shared_with(Topic.of_rule(pin.text)) for pin in pins
    )


ID = lazy_pattern(r"(?<![a-z0-9-])c-\d{4,}(?![a-z0-9-])")

_IDS = (
    r"c-\d{4,}(?![a-z0-9-])(?:\s*(?:,|、|&|,? and|,? also|,? then|と|および|及び|も)\s*"
    r"(?:constraints? |rules? |制約)?c-\d{4,}(?![a-z0-9-]))*"
)
_NOUN = (
    r"(?:rules?|bans?|freeze|restrictions?|constraints?|limits?|limitations?|caps?|embargo"
    r"|requirements?|prohibitions?|moratorium|polic(?:y|ies)|lockdown|hold|ceiling|quota"
    r"|obligation|numbers?|no\.|id)"
)
_OPENING = (
    r"(?:^|[,;、。]\s*|\s-\s|\b(?:and|so|then|but)\s)(?:(?:please|pls|ok|okay|so|now|then|also"
    r"|and|yes|yeah|right|well|thanks|hereby|finally|actually|just|kindly|you can|you may|let's"
    r"|let us|i|we|i'm|we're|i am|we are|i've|we've|i have|we have|decision|update|release|change"
    r"|note|go ahead and|feel free to)[,:]?\s+)*"
)
_VERB = (
    r"(?:lift|drop|remove|cancel|revoke|rescind|waive|scrap|release|forget(?: about)?|repeal"
    r"|abolish|retire|withdraw|void|suspend|end|undo|delete|discard|ditch|disregard|retract"
    r"|nullify|unpin|clear|get rid of|lifting"
    r"|dropping|removing|releasing|cancell?ing|revoking|waiving"
    r"|lifted|dropped|removed|released|cancell?ed|revoked|waived)"
)
_ENDED = (
    r"(?:lifted|dropped|removed|cancell?ed|revoked|rescinded|waived|scrapped|released|repealed"
    r"|abolished|retired|withdrawn|voided|void|suspended|ended|over|gone|off|off the table"
    r"|history|done|finished|obsolete|no more|retracted|expired|not in (?:force|effect)"
    r"|out of (?:force|effect))"
)
_NAMED = rf"(?:(?:the|this|that|my|our)\s+)?(?:(?:[\w'-]+\s+){{0,5}}{_NOUN}:?\s*)?\(?{_IDS}\)?"
_ASIDE = (
    r"(?:please|now|today|thanks|thank you|immediately|again|entirely|completely|altogether|too"
    r"|for good|from now on|for me|as agreed|as discussed|then|already|hereby)"
)
_TAIL = (
    rf"(?=\s*(?:[.!]*$|{_ASIDE}\b|[,;:、]|\(|\s-\s|because\b|since\b|as\s+(?:we|it|the|they)\b"
    r"|and\s+(?!c-\d)(?!or\b)))(?!.*\bor c-\d)"
    r"(?!\s*[-,]+\s*(?:but (?:not|only|later|wait)\b|if\b|once\b|only\b|later\b"
    r"|no\b|not\b|wait\b|never\b|or\b|don't\b))"
)
"""What may follow: the end, a reason, an aside; no alternative and no second thought."""

_EN_VERB_FIRST = lazy_pattern(rf"{_OPENING}{_VERB}\s+{_NAMED}{_TAIL}")
_EN_ID_FIRST = lazy_pattern(
    rf"(?:^|[,;、]\s*|\b(?:and|so|then|that|the|our)\s){_NAMED}\s+"
    rf"(?:(?:is|are|has been|have been)\s+(?:now |hereby |officially |finally |all |both )*{_ENDED}"
    r"|no longer (?:applies|apply|needed|valid|required|in force|holds?)"
    r"|(?:is|are) no longer (?:needed|valid|required|in force|in effect)"
    r"|(?:isn't|aren't|is not|are not) (?:needed|valid|required|in force|in effect)"
    r" any ?(?:more|longer)"
    rf"|can (?:now |both |all )*(?:go|be {_ENDED}))"
    rf"{_TAIL}"
)

_JA_ENDS = (
    r"(?:を|は|も|の|が|、|については|に関しては)*\s*(?:(?:本日(?:付)?(?:で)?|今日(?:で|から)|今|もう"
    r"|これで|すぐに?|正式に|直ちに|完全に|一旦|では)、?)*\s*"
)
_JA_VERB = (
    r"(?:(?:解除|撤廃|撤回|廃止|取り?消し?|失効|終了|リリース|release)"
    r"(?:です|とします|とする|にします|にしてください|で(?:お願いします|構いません)?"
    r"|(?:を)?お願いします|(?:いた)?します|(?:いた)?しました|した|する|せよ|しろ|しましょう"
    r"|して(?:ください|下さい|おいて(?:ください|下さい)?|よい(?:です)?|いい(?:です)?"
    r"|構いません|ほしい(?:です)?|欲しい(?:です)?)?|されました|された|となりました|になりました"
    r"|済み(?:です)?)?"
    r"|(?:いらない|いりません|要らない|要りません)(?:です|よ|ね)?"
    r"|(?:不要|無効|解禁|なし)(?:です|とします|にします|になりました|となりました|で)?"
    r"|取り消(?:して(?:ください|下さい)?|します|しました|す)"
    r"|外して(?:ください|下さい)?|外します|外しました|忘れて(?:ください|下さい)?)"
)
_JA_TAIL = r"(?=\s*(?:[。.!、,]|$|(?:ので|から)(?:[、,]|$)))"
_JA_OPENING = r"(?:^|[、,。;\s]|(?:ので|から|ため|では|もう|(?<![^\s])制約|ルール))"
_JA_ID_FIRST = lazy_pattern(
    rf"{_JA_OPENING}\s*(?:制約|ルール|規則)?\s*[(]?{_IDS}[)]?\s*"
    rf"(?:(?:の)?(?:制約|ルール|規則|禁止|制限|条件))?{_JA_ENDS}{_JA_VERB}{_JA_TAIL}"
)
_JA_VERB_FIRST = lazy_pattern(rf"(?:^|[、。])(?:解除|撤廃|撤回|廃止)\s*[:は]?\s*{_IDS}[。.]?$")

_FORMS = (_EN_VERB_FIRST, _EN_ID_FIRST, _JA_ID_FIRST, _JA_VERB_FIRST)


def ids_released(spoken: str) -> frozenset[str]:
    """The constraint ids that a normalised sentence releases; empty when it is not plain."""
    return frozenset(
        constraint_id
        for form in _FORMS
        for match in form.finditer(spoken)
        for constraint_id in ID.findall(match.group())
    )


_BEFORE_WORDING = lazy_pattern(
    r"^[\s:：,、)）\-–—]*(?:(?:is now|is|to read|to say|to|so that|with|by|into|を|は|の内容を)"
    r"[\s:：,、\-–—]*)*",
    re.IGNORECASE,
)


def new_wording(quote: str) -> str | None:
    """The rule that a sentence puts in the place of the one it names, verbatim; None without one.

    "Change c-0003 to: the cap is $800" has one; "raise c-0003 to $800" leaves out what is capped.
    """
    named = re.search(ID.pattern, quote, re.IGNORECASE)
    if named is None:
        return None
    rest = quote[named.end() :]
    quoted = first_quotation(rest)
    if quoted is not None and content_words(quoted):
        return quoted
    rules = detect_rules(_BEFORE_WORDING.sub("", rest))
    return rules[0].text if rules else None
