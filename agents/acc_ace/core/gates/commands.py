"""Parse a whole message as a command; any other text in it makes it an ordinary message.

Only the documented forms are commands: "Remove C-0001" and "Update rule 1 to …" are business.
"""

import re
import unicodedata
from dataclasses import dataclass

from acc_ace.core.schemas.commit import RuleScope
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.patterns import lazy_pattern

MAX_COMMAND_CHARS = 4_000

_RULE_ID = r"[cu]-\d{4,}"
_IDS = rf"{_RULE_ID}(?:(?:\s*[,、]\s*|\s+and\s+|\s*と\s*){_RULE_ID})*"
_QUESTION = r"q-(?P<number>\d{1,6})"

_FORGET = lazy_pattern(
    rf"(?:/forget|lift|release|no) (?P<ids>{_IDS})|(?P<ids_ja>{_IDS})\s*を"
    r"(?:解除|取り?消し)(?:して(?:ください|下さい)|します)?",
)
_AMEND = lazy_pattern(
    rf"change (?P<id>{_RULE_ID}) to: ?(?P<text>.+)"
    rf"|(?P<id_ja>{_RULE_ID})\s*を「(?P<text_ja>.+)」に変更(?:して(?:ください|下さい)|します)?",
)
_RULE = lazy_pattern(r"/rule (?P<always>always )?(?P<text>.+)", re.IGNORECASE)
_ANSWER = lazy_pattern(
    rf"(?P<word>keep|yes|はい|drop|no|いいえ)[ 、,]+{_QUESTION}"
    rf"|{_QUESTION.replace('number', 'number_ja')}\s*を(?P<word_ja>残す|残さない)",
)
_ERASE = lazy_pattern(
    r"/forget (?P<ids>[^\s,、:]+:[^\s,、]+(?:[\s,、]+[^\s,、:]+:[^\s,、]+)*)", re.IGNORECASE
)
_BETWEEN = lazy_pattern(r"[\s,、]+")
_KEEPS = frozenset({"keep", "yes", "はい", "残す"})
_FOUND_ID = lazy_pattern(_RULE_ID)
_TICKET = lazy_pattern(r"[CU]-\d")
_ENDS = " .!。！．"
_SPACES_ENDS = " 。"

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
    """Yes or no to the question with this id."""

    yes: bool
    question_id: str


@dataclass(frozen=True)
class Erase:
    """Delete these artifacts, and what rests on them."""

    artifact_ids: tuple[str, ...]


Command = Forget | Amend | Pin | AnswerQuestion | Erase


def parse_command(text: str) -> Command | None:
    """Parse a message as one of the documented commands, or None.

    Without a slash only the first letter may be a capital: 'Release C-0001' is business.
    """
    if (pin := _RULE.fullmatch(one_line(text))) and pin["text"].strip().lower() != "always":
        return Pin(pin["text"].strip(), RuleScope.USER if pin["always"] else RuleScope.SESSION)
    if len(text) > MAX_COMMAND_CHARS:
        return None
    return _erase(one_line(text)) or _of_rules(text)


def _erase(line: str) -> Erase | None:
    """Ids of artifacts keep their case."""
    erase = _ERASE.fullmatch(line)
    names = _BETWEEN.split(erase["ids"]) if erase else ()
    ids = dict.fromkeys(name.strip("[]") for name in names if name)
    return Erase(tuple(ids)) if ids else None


def _of_rules(text: str) -> Command | None:
    line = one_line(unicodedata.normalize("NFKC", text))
    if line.startswith("/"):
        line = line.lower()
    elif not _TICKET.match(line):
        line = f"{line[:1].lower()}{line[1:]}"
    plain = line.strip(_ENDS)
    if forget := _FORGET.fullmatch(plain):
        ids = _FOUND_ID.findall(forget["ids"] or forget["ids_ja"])
        return Forget(tuple(dict.fromkeys(ids)))
    if amend := _AMEND.fullmatch(line.strip(_SPACES_ENDS)):
        wording = (amend["text"] or amend["text_ja"]).strip().strip('"“”')
        return Amend(amend["id"] or amend["id_ja"], wording)
    if answer := _ANSWER.fullmatch(plain):
        number = int(answer["number"] or answer["number_ja"])
        return AnswerQuestion((answer["word"] or answer["word_ja"]) in _KEEPS, f"q-{number:04d}")
    return None
