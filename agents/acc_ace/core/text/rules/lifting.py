"""Whether a lesson speaks of getting rid of rules, whichever they are: English and Japanese."""

from acc_ace.core.text.normalize import skeleton
from acc_ace.core.text.patterns import any_of, lazy_pattern
from acc_ace.core.text.sentences import split_sentences

_RULE = lazy_pattern(
    r"\b(?:rules?|constraints?|restrictions?|bans?|prohibitions?|freezes?|guardrails?|safeguards?"
    r"|embargo(?:es)?|moratoriums?|lockdowns?|obligations?|safety checks?)\b"
    r"|ルール|制約|規制|規則|決まり|禁止|凍結|制限"
)
_ENDS = lazy_pattern(
    r"\b(?:lift(?:s|ed|ing)?|releas(?:e[sd]?|ing)|waiv\w+|overrid\w+|overrul\w+|bypass\w*"
    r"|circumvent\w*|ignor\w+|disregard\w*|skip\w*|drop(?:s|ped|ping)?|remov\w+|revok\w+"
    r"|rescind\w*|suspend\w*|cancel\w*|relax\w*|loosen\w*|forget\w*|evad\w+|sidestep\w*"
    r"|set(?:ting)? aside|(?:work|get|go|talk)(?:s|ed|ing|ting)? (?:\w+ ){0,2}"
    r"(?:around|out of|past)|exceptions?|exempt\w*|no longer|(?:not|n't) (?:apply|bind|hold|count)"
    r"|break(?:s|ing)?|bend\w*|persuad\w+|convinc\w+|unlock\w*|unpin\w*|disabl\w+"
    r"|turn(?:s|ed|ing)? off|void|obsolete)\b"
    r"|解除|外[すしせさ]|無視|撤廃|撤回|緩[めま]|例外|回避|破[るっれらり]|免除|取り?消|適用(?:し|され)ない"
    r"|不要|説得|なくし|やめ|解禁|無効"
)
_LIMIT = lazy_pattern(
    r"\b(?:limits?|caps?|polic(?:y|ies)|ceilings?|quotas?|instructions?)\b|上限|方針|指示"
)
_OVERCOMES = lazy_pattern(
    r"\b(?:waiv\w+|overrid\w+|overrul\w+|bypass\w*|circumvent\w*|ignor\w+|disregard\w*|exempt\w*"
    r"|lift(?:s|ed|ing)?|no longer|(?:not|n't) apply|(?:can|may|could) (?:\w+ )?be (?:raised"
    r"|lowered|exceeded|relaxed|dropped|released|removed|extended))\b"
    r"|無視|解除|撤廃|超えて(?:も)?(?:よ|い|良)|例外|無効|緩[めま]"
)
_FORBIDDEN = lazy_pattern(
    r"\b(?:forbidden|prohibited|banned|disallowed|not allowed|off[- ]limits|forbids?|prohibits?)\b"
    r"|禁じ|許可されていない"
)
_DONE_NONETHELESS = any_of(
    r"\b(?:anyway|regardless|nonetheless|nevertheless|unlock\w*|unblock\w*|go(?:es)? ahead"
    r"|proceed\w*|(?<!not )(?:becomes?|is|are|be) (?:then )?(?:allowed|permitted|fine|ok(?:ay)?)"
    r"|(?:may|can|could) (?:still |then )?(?:be )?"
    r"(?:do|done|run|carried|perform|performed|approved))\b",
    r"それでも|構わず|かまわず|実行して(?:も)?(?:よ|い|良)|できるようにな",
)
_PAIRS = ((_RULE, _ENDS), (_LIMIT, _OVERCOMES), (_FORBIDDEN, _DONE_NONETHELESS))


def speaks_of_lifting(text: str) -> bool:
    """Whether one sentence names a rule and its end, an exception to it or a way around it.

    Sentences that warn of it count, too: what is wanted is a person's look at them. Folds width,
    lookalike letters and invisible characters.
    """
    bare = (skeleton(sentence).casefold() for sentence in split_sentences(text))
    return any(
        rule.search(sentence) and end.search(sentence) for sentence in bare for rule, end in _PAIRS
    )
