"""Parse a whole message as a rule command; any other text in it makes it an ordinary message.

Only here do ids count: "Cancel C-0002 and refund the customer." is not a command.
"""

import re
import unicodedata
from dataclasses import dataclass

from acc_ace.core.schemas.commit import RuleScope
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.patterns import lazy_pattern, words_of

MAX_COMMAND_CHARS = 4_000

_RULE_ID = r"(?:[cu]-\d{4,}|(?:rule|constraint|制約|ルール) ?\d{1,3})"
_IDS = rf"[\[(]?{_RULE_ID}[\])]?(?:\s*(?:,|、|&|,? and|と|および|及び)\s*[\[(]?{_RULE_ID}[\])]?)*"
_NOUN = r"(?:(?:the )?(?:rules?|constraints?) )?"
_QUESTION = r"(?P<question>q-\d{4,})"

_FORGET = lazy_pattern(
    rf"(?:please )?(?:/forget|/release|release|lift|forget|remove|drop) {_NOUN}(?P<ids>{_IDS})"
    r"(?:,? please)?",
    re.IGNORECASE,
)
_FORGET_JA = lazy_pattern(
    rf"(?:(?:制約|ルール|規則)\s*)?(?P<ids>{_IDS})\s*(?:を|は|の)?\s*(?:解除|撤回|削除|取り?消し)"
    r"(?:して(?:ください|下さい)?|します|する|を?お願いします)?",
    re.IGNORECASE,
)
_AMEND = lazy_pattern(
    rf"(?:please )?(?:change|amend|update) {_NOUN}[\[(]?(?P<ids>{_RULE_ID})[\])]?\s*"
    r"(?:to:?|:)\s*(?P<text>.+)",
    re.IGNORECASE,
)
_AMEND_JA = lazy_pattern(
    rf"(?:(?:制約|ルール|規則)\s*)?(?P<ids>{_RULE_ID})\s*を\s*[「『](?P<text>.+)[」』]\s*に"
    r"(?:変更|修正|更新)(?:して(?:ください|下さい)?|します|する)?",
    re.IGNORECASE,
)
_RULE = lazy_pattern(r"/rule (?P<always>always )?(?P<text>.+)", re.IGNORECASE)
_BY_ID = lazy_pattern(
    rf"(?:(?P<first>\S+?)[ ,:、。]+{_QUESTION}"
    r"|(?P<question_first>q-\d{4,})[ ,:、。]+(?P<last>\S+))",
    re.IGNORECASE,
)
_DIGITS = lazy_pattern(r"\d+")
_FOUND_ID = lazy_pattern(_RULE_ID, re.IGNORECASE)

_YES = words_of("yes y yep yeah yup はい ええ うん si oui ja 네 да") | {
    "yes please",
    "yes, please",
    "yes do",
    "はい、お願いします",
    "はいお願いします",
    "お願いします",
}
_NO = words_of("no n nope nah いいえ いや ううん やめて non nein 아니요 нет") | {
    "no thanks",
    "no, thanks",
    "no thank you",
    "いいえ、結構です",
    "しないで",
}
_ENDS = " .!。！．"


_THANKS = (
    "thanks|thank you|thx|cheers|thanks a lot|many thanks|thank you very much|ありがとう"
    "|ありがとうございます|ありがとうございました|どうも|どうもありがとう|助かります|助かりました"
)
_NOTED = (
    "ok|okay|k|great|perfect|nice|cool|good|noted|understood|fine|got it|sounds good|all good"
    "|good to know|了解|了解です|了解しました|承知しました|わかりました|分かりました|わかった"
    "|オッケー|okです|なるほど"
)
_ACKNOWLEDGEMENT = lazy_pattern(
    rf"(?:(?:{_NOTED})[ ,、。.!]*)?(?:{_THANKS})|{_NOTED}", re.IGNORECASE
)
"""Whole messages that add nothing to the state, where nothing waits for an answer."""


def is_acknowledgement(text: str) -> bool:
    """Whether a whole message only thanks or confirms. English and Japanese, a closed list."""
    if len(text) > MAX_COMMAND_CHARS:
        return False
    line = one_line(unicodedata.normalize("NFKC", text))
    return _ACKNOWLEDGEMENT.fullmatch(line.strip(_ENDS)) is not None


@dataclass(frozen=True)
class Forget:
    """Lift these rules."""

    rule_ids: tuple[str, ...]


@dataclass(frozen=True)
class Amend:
    """Change the text of a rule."""

    rule_id: str
    text: str


@dataclass(frozen=True)
class Pin:
    """Add a rule."""

    text: str
    scope: RuleScope


@dataclass(frozen=True)
class AnswerQuestion:
    """Yes or no, to the question with this id or to the only open one."""

    yes: bool
    question_id: str | None = None


Command = Forget | Amend | Pin | AnswerQuestion


def parse_command(text: str) -> Command | None:
    """Parse a message as a command, or None. English and Japanese; ids are case-insensitive."""
    if len(text) > MAX_COMMAND_CHARS:
        return None
    line = one_line(unicodedata.normalize("NFKC", text))
    plain = line.strip(_ENDS)
    if (pin := _RULE.fullmatch(one_line(text))) and pin["text"].strip().lower() != "always":
        return Pin(pin["text"].strip(), RuleScope.USER if pin["always"] else RuleScope.SESSION)
    if forget := _FORGET.fullmatch(plain) or _FORGET_JA.fullmatch(plain):
        return Forget(tuple(dict.fromkeys(map(_id, _FOUND_ID.findall(forget["ids"])))))
    raw = one_line(text)
    if amend := _AMEND.fullmatch(raw) or _AMEND_JA.fullmatch(raw.strip(_ENDS)):
        return Amend(_id(amend["ids"]), amend["text"].strip().strip('"“”'))
    return _answer(plain)


def _id(named: str) -> str:
    """The canonical id of 'C-0003' or 'rule 3'."""
    folded = named.casefold()
    return folded if folded[1] == "-" else f"c-{int(_DIGITS.findall(folded)[0]):04d}"


def _answer(plain: str) -> AnswerQuestion | None:
    folded = plain.casefold()
    question_id: str | None = None
    if named := _BY_ID.fullmatch(folded):
        question_id = named["question"] or named["question_first"]
        folded = (named["first"] or named["last"]).strip(" ,、。.!")
    if folded in _YES or folded in _NO:
        return AnswerQuestion(folded in _YES, question_id)
    return None
