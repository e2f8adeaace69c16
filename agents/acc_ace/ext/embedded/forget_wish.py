"""What a user asks to have forgotten, in common wordings, English and Japanese."""

import re

from acc_ace.core.text.sentences import split_sentences

_ASK = (
    r"(?:ok(?:ay)?,? |please |you should |(?:can|could|would|will) you (?:please )?"
    r"|i(?:'d like| want) you to )*"
)
_TOLD = (
    r"(?:(?:what|everything|all|anything)(?: that)? (?:i|we)(?:'ve| have)? "
    r"(?:told|said|wrote|mentioned)(?: to)?(?: you)? )?(?:(?:everything )?(?:about|of|on) )?"
)
_WHAT = r"(?P<what>.+?)(?: (?:from|in|out of) (?:your |the )?memory| any ?more|,? please|, again)*"
_WISH = re.compile(
    rf"{_ASK}(?:forget(?! (?:to|it)\b)|(?:do not|don['’]t) (?:remember|keep)|stop remembering"
    rf"|(?:delete|erase|remove|wipe|drop)(?=.* memory| everything about)) {_TOLD}{_WHAT}[.!?]*",
    re.IGNORECASE,
)
_WISH_JA = re.compile(
    r"(?P<what>.+?)(?:について(?:の(?:こと|話))?は?|の(?:こと|話)[はを]?|[はを])、?(?:もう)?"
    r"(?:忘れて|記憶から(?:消|削除|消去)し?て|覚え(?:てい?)?なくて|覚えないで)"
    r"(?:ください|下さい|ほしい(?:です)?|くれ(?:ますか)?|もらえますか|いただけますか|お願いします"
    r"|いい(?:です)?|ね|よ)*[。！!？?]*"
)


def forget_wish(text: str) -> str | None:
    """What a text asks to have forgotten; None if it asks for no such thing."""
    for sentence in split_sentences(text):
        if wish := wished(sentence):
            return wish
    return None


def wished(sentence: str) -> str | None:
    """What a sentence asks to have forgotten."""
    found = _WISH.fullmatch(sentence.strip()) or _WISH_JA.fullmatch(sentence.strip())
    return found["what"].strip() if found else None
