"""Match what a change speaks of with the one rule it means.

A permission for a moment outside a rule's condition is not the end of the rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.rules.verbs_en import WORK
from acc_ace.core.text.similarity import content_words

_ACTION = lazy_pattern(
    r"\b(?:never|don't|do not|dont|must not|may not|cannot|can't|not allowed to|no)"
    r" (?:ever |directly |again )*(?P<verb>[a-z-]+)"
)

_MARGIN = 0.7
"""The runner-up may share at most this part of what the best pin shares."""

_CUES = """
    rule ban freeze restriction constraint limit cap embargo requirement prohibition policy hold
    lift drop remove cancel revoke rescind waive scrap release forget abolish withdraw end suspend
    allow permit authorize free fine feel longer anymore apply over gone book raise increase lower
    reduce change extend move update set instead hereby today forward directly onward ahead well
    adjust bump cut shorten switch waiver void thanks good please team decide agree pass ship
    finally forbidden prohibit banned thing actually officially lifting welcome valid force effect
    off obsolete rid
"""
"""Words that make the change and do not say of what, unless the rule itself has them."""

_NAMING_CUES = "freeze cap embargo moratorium limit quota ceiling lockdown"

_CUE_PHRASES = lazy_pattern(
    r"ルール|オーケー|制約|規則|制限|解除|撤廃|撤回|廃止|取り?消し?|許可|解禁|不要|必要|適用"
    r"|禁止|変更"
    r"|(?:引き)?[上下]げ|延長|結構|大丈夫|問題|忘れ|[今以]後|構い|終わり|終了|無効|方針|義務"
    r"|要り|要ら"
)
"""The same in Japanese; taken out first, so that they leave no bigrams with their neighbours."""

_IDENTIFIER = lazy_pattern(r"^(?=.*\d)(?=.*[a-z])[\w./:-]+$|^[a-z]+(?:[-_.][a-z0-9]+)+$")
"""A name such as 'db-01': a change of one never touches a rule about another."""


@cache
def _words(table: str) -> frozenset[str]:
    """The content words of a table, read at the first use so that importing stays quick."""
    return content_words(table)


@dataclass(frozen=True)
class Topic:
    """The content words of a statement; `cues` are those that may be mere words of change."""

    words: frozenset[str]
    cues: frozenset[str] = frozenset()

    @classmethod
    def of_rule(cls, text: str) -> "Topic":
        """The topic of a pinned rule."""
        return cls(content_words(text))

    @classmethod
    def of_change(cls, sentence: str) -> "Topic":
        """The topic of a sentence that changes a rule."""
        words = content_words(_CUE_PHRASES.sub(" ", normalise(sentence)))
        cues = words & _words(_CUES)
        # "The freeze is over" speaks of nothing but the freeze.
        return cls(words - cues, cues) if words - cues else cls(cues & _words(_NAMING_CUES), cues)

    def shared_with(self, rule: "Topic") -> int:
        """How many topic words the rule has too."""
        return len(self.words & rule.words)

    def fits(self, rule: "Topic", *, share: float) -> bool:
        """Whether the rule holds enough of this topic, and no other named thing is meant."""
        if not self.shared_with(rule) or (rule._names() and self._names() - rule._names()):
            return False
        return self.shared_with(rule) / len(self.words) >= share

    def within(self, rule: "Topic") -> bool:
        """Whether the rule covers all of this topic, so that nothing else can be meant."""
        known = frozenset("".join(rule.words))
        return all(
            word in rule.words
            or (not word.isascii() and len(word) == 2 and bool(known & set(word)))
            for word in self.words
        )

    def weight(self, rule: "Topic") -> float:
        """How strongly this topic points to the rule; cue words that the rule has count half."""
        return self.shared_with(rule) + 0.5 * len(self.cues & rule.words)

    def _names(self) -> frozenset[str]:
        return frozenset(word for word in self.words if _IDENTIFIER.match(word))


def only_match(
    topic: Topic, pins: Sequence[ConstraintPin], *, share: float, whole: bool = False
) -> ConstraintPin | None:
    """The pin that fits best and by a margin; None when none fits or two come close.

    `share` is the least part of the topic that the pin must hold; `whole` asks for all of it.
    """
    rules = [(pin, Topic.of_rule(pin.text)) for pin in pins]
    fitting = [
        (pin, rule)
        for pin, rule in rules
        if topic.fits(rule, share=share) and (not whole or topic.within(rule))
    ]
    if not fitting:
        return None
    ranked = sorted(fitting, key=lambda item: topic.weight(item[1]), reverse=True)
    best, *others = ranked
    if others and topic.weight(others[0][1]) > _MARGIN * topic.weight(best[1]):
        return None
    return best[0]


def action_of(rule: str) -> str | None:
    """The stem of the action that a prohibition forbids, or None where it names no verb."""
    match = _ACTION.search(normalise(rule))
    if not match or match.group("verb") not in WORK:
        return None
    return next(iter(content_words(match.group("verb"))), None)


_CONDITION_EN = lazy_pattern(
    r"\b(?:during|while|in|on|at|between|outside|inside|within|after|when|whenever)\b"
    r"(?P<condition>.*)$"
)
_CONDITION_JA = lazy_pattern(
    r"(?P<condition>[^、。はがをも]{2,20}?(?:時間内|時間外|時間帯|期間|[中間時際日前後外内]))(?:は|の|に|、)"
)
_FOR_GOOD = lazy_pattern(
    r"\b(?:again|from now on|going forward|any ?more|any ?time|always|whenever)\b"
    r"|今後|これから|以降|いつでも|常に|再び|もう"
)


def words_of_act(rule: str) -> frozenset[str]:
    """The content words of what a rule is about, without its condition of time or place.

    "Never restart db-01 during business hours" is about {restart, db-01}. All words of the rule
    where nothing is left without the condition.
    """
    folded = normalise(rule)
    match = _CONDITION_EN.search(folded) or _CONDITION_JA.search(folded)
    if match is None:
        return content_words(folded)
    act = content_words(f"{folded[: match.start()]} {folded[match.end() :]}")
    return act or content_words(folded)


def permits_without_condition(permission: str, rule: str) -> bool:
    """Whether a rule has a condition of time or place that a permission leaves open."""
    folded = normalise(rule)
    match = _CONDITION_EN.search(folded) or _CONDITION_JA.search(folded)
    if match is None or _FOR_GOOD.search(permission):
        return False
    condition = content_words(match.group("condition"))
    return bool(condition) and not condition & content_words(permission)
