"""Find what x_t wants done: orders, wishes, and requests for permission."""

import re

from core.domain.language.rule_detection import detect_rules
from core.domain.language.sentences import split_sentences
from core.models.embedded.relations import find_claim
from core.models.embedded.speech import is_order, is_question

_PERMISSION = re.compile(
    r"^(?:so |and |but |ok(?:ay)?,? |then |now,? |hey,? )*(?:can|may|could|should|shall) (?:we|i)\b"
    r"|\b(?:is it (?:ok|okay|fine|safe|allowed) (?:to|if)|are we allowed to|am i allowed to"
    r"|any (?:problem|objection)s? (?:if|with))\b"
    r"|(?:して|って|んで|いて|えて)も?(?:いい|よい|良い|よろしい|構わない|大丈夫)(?:です|でしょう)?か"
    r"|(?:して|って)(?:いい|よい)(?:です)?か|できますか|可能ですか",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:we|i) (?:really |just |now |urgently )*(?:must|need to|have to|want to|should"
    r"|would like to"
    r"|am going to|are going to|will)\b|\b(?:i'll|we'll|i'm going to|we're going to|let me)\b"
    r"|たいです|たいのですが|したい|させてください|することにし|しないとまずい|する必要があ|しなければ",
    re.IGNORECASE,
)


def intents(text: str) -> list[str]:
    """Sentences that want something done now, by order, wish or question of permission.

    Rules, claims of others and plain questions are none of these.
    """
    rules = {rule.sentence for rule in detect_rules(text)}
    return [
        sentence
        for sentence in split_sentences(text)
        if sentence not in rules and find_claim(sentence) is None and _wants(sentence)
    ]


def asks_permission(sentence: str) -> bool:
    """Whether a sentence asks if something may be done."""
    return _PERMISSION.search(sentence) is not None


def _wants(sentence: str) -> bool:
    if asks_permission(sentence) or is_order(sentence):
        return True
    return _WISH.search(sentence) is not None and not is_question(sentence)
