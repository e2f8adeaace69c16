"""Match what a change speaks of with the one rule it means."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.language.normal import normalise
from core.domain.language.patterns import words_of
from core.domain.language.words import content_words
from schemas.commit import ConstraintPin

_MARGIN = 0.7
"""The runner-up may share at most this part of what the best pin shares."""

_CUE_WORDS = words_of(
    """rule ban freez restrict restriction constraint limit cap embargo requir prohibition polic policy
    lift drop remov cancel revok rescind waiv scrap releas forget abolish withdraw end suspend allow
    permit free fine feel longer any anymor applie apply lifted over gone book rais increas lower reduc
    chang extend mov updat set instead now authoriz need hereby today forward directly onward goe
    ahead well count amend adjust bump cut shorten switch
    解除 撤廃 撤回 廃止 取消 消 許可 解禁 不要 適用 制約 忘 変更 引 上 下 構 必要 話 終 禁止 用 規則 制限 延長""".strip()
)
"""Words that make the change and do not say of what, unless the rule itself has them."""

_CUE_PHRASES = re.compile(r"(?:ルール|リール|オーケー)")
_IDENTIFIER = re.compile(r"^(?=.*\d)(?=.*[a-z])[\w./:-]+$|^[a-z]+(?:[-_.][a-z0-9]+)+$")
"""A name such as 'db-01': a change of one never touches a rule about another."""


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
        cues = frozenset(word for word in words if word in _CUE_WORDS)
        return cls(words - cues, cues)

    def shared_with(self, rule: "Topic") -> int:
        """How many topic words the rule has too."""
        return len(self.words & rule.words)

    def fits(self, rule: "Topic", *, share: float) -> bool:
        """Whether the rule holds enough of this topic, and no other named thing is meant."""
        if not self.words or not self.shared_with(rule):
            return False
        if self._names() - rule._names() and rule._names():
            return False
        return self.shared_with(rule) / len(self.words) >= share

    def weight(self, rule: "Topic") -> float:
        """How strongly this topic points to the rule; cue words that the rule has count half."""
        return self.shared_with(rule) + 0.5 * len(self.cues & rule.words)

    def _names(self) -> frozenset[str]:
        return frozenset(word for word in self.words if _IDENTIFIER.match(word))


def only_match(
    topic: Topic, pins: Sequence[ConstraintPin], *, share: float
) -> ConstraintPin | None:
    """The pin that fits best and by a margin; None when none fits or two come close."""
    rules = [(pin, Topic.of_rule(pin.text)) for pin in pins]
    fitting = [(pin, rule) for pin, rule in rules if topic.fits(rule, share=share)]
    if not fitting:
        return None
    ranked = sorted(fitting, key=lambda item: topic.weight(item[1]), reverse=True)
    best, *others = ranked
    if others and topic.weight(others[0][1]) > _MARGIN * topic.weight(best[1]):
        return None
    return best[0]
