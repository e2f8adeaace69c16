"""Read what a sentence does to constraints that it names: "release c-0003", 「c-0005を解除」.

Naming an id is the way that always works, so the form is narrow: the verb governs the id and
nothing else. "Delete row c-0001", "release notes for c-0001", "release c-0001 or c-0002" and
「c-0001を解除する手順」 release nothing. Takes normalised text.
"""

import re

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.quoted_spans import first_quotation
from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.similarity import content_words

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
