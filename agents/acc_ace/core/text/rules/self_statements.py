"""What a user says of themself, as a profile keeps it; and whether a message asks about that.

A profile has no statement of anybody else: one in quotation marks, or behind a colon, is whoever's
the words before it say, and no number or quote of a model makes it the user's.
"""

import re
from collections.abc import Sequence
from itertools import islice

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.rules.own_words import OwnWords, by_speaker
from acc_ace.core.text.similarity import content_words

JOINTS = lazy_pattern(r"[,;、，；]\s*(?:(?:and|but|so) )?| (?:and|but|so) ", re.IGNORECASE)
"""Between the parts of a sentence, each of which may say something of its own."""
_HANDED_OVER = lazy_pattern(
    r"\S+[\s\u3000]\S+.*?[:：]\s*(?:['\"‘“].*?|(?:\w+,? ){0,2})\b(?:i|we|my|our)\b"
    r"|\S{4,}[:：][「『]?(?:私|僕|俺|うち)",
    re.IGNORECASE,
)
"""Words of two or more before a colon and a first person: a letter "says: I am …"."""
_ABOUT_USER = lazy_pattern(
    r"\b(?:(?:about|on|know) (?:me|us)|myself|(?:who|what(?: \w+){0,3})(?: do you think)? "
    r"(?:am i|i am|i['’]m))\b"
    r"|(?:私|わたし|僕|ぼく|俺|わし|自分)(?:に(?:ついて|関して)|の(?:こと|話)|って|とは|は(?:誰|だれ|どんな))",
    re.IGNORECASE,
)
_A_NAME = 2
"""Most content words in quotation marks that may be a name; more of them are a statement."""

_MOST_CUTS = 8


def concerns_user(text: str) -> bool:
    """Whether a message asks about its user, or for something that is about them."""
    return _ABOUT_USER.search(text) is not None


def self_statement(own: OwnWords, number: int | None, quote: str, rules: Sequence[str] = ()) -> str:
    """What a sentence's number and a quote point at, verbatim, or ''.

    A quote narrows the sentence to its parts between commas and joining words, unless that would
    turn what it says round; one that the sentence does not have is as none. Of a sentence that
    goes on to a rule (one of `rules` is in force), only what comes before it: a rule may be lifted,
    and must not come back as a fact.
    """
    sentence = next((each.sentence for each in own.pointed(number, quote)), "")
    if not sentence or sentence.endswith(("?", "？")) or _HANDED_OVER.search(sentence):
        return ""
    speakers = by_speaker(sentence)
    if len(content_words(speakers.quoted)) <= _A_NAME:
        part = _narrowed(sentence, quote)
    else:
        # Beside a statement in quotation marks, only what is pointed at by its words is meant.
        part = _narrowed(speakers.own, quote)
        part = part if part != speakers.own.strip() else ""
    cuts = [*islice(JOINTS.finditer(part), _MOST_CUTS)]
    parts = (part[:end] for end in (len(part), *(cut.start() for cut in reversed(cuts))))
    return next((each for each in parts if not _has_rule(each, rules)), "")


def _has_rule(text: str, rules: Sequence[str]) -> bool:
    return bool(rules_in(text)) or any(rule in text for rule in rules)


def _narrowed(sentence: str, quote: str) -> str:
    """The parts of a sentence that hold the quote."""
    start = sentence.casefold().find(quote.casefold().strip()) if quote.strip() else -1
    if start < 0:
        return sentence.strip()
    end, cuts = start + len(quote.strip()), [*JOINTS.finditer(sentence)]
    first = max((each.end() for each in cuts if each.end() <= start), default=0)
    last = min((each.start() for each in cuts if each.start() >= end), default=len(sentence))
    part = sentence[first:last].strip()
    return part if negated(part) == negated(sentence) else sentence.strip()
