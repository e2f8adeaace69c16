"""What a lesson claims, so that two claims that exclude each other can be told apart.

The numbers of a lesson that set something have a unit, or stand beside a word such as 'timeout'.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from acc_ace.text.lessons.lesson_en import word_class
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.polarity import NEGATIVES_EN, NEGATIVES_JA


class Measure(NamedTuple):
    """A number in the base unit of its kind."""

    unit: str
    value: float


_UNITS: Final[dict[str, tuple[str, float]]] = {
    name: (unit, factor)
    for names, unit, factor in (
        ("ms msec millisecond milliseconds ミリ秒", "s", 0.001),
        ("s sec secs second seconds 秒 秒間", "s", 1.0),
        ("min mins minute minutes 分 分間", "s", 60.0),
        ("h hr hrs hour hours 時間", "s", 3_600.0),
        ("d day days 日 日間", "s", 86_400.0),
        ("week weeks 週間", "s", 604_800.0),
        ("b byte bytes バイト", "byte", 1.0),
        ("kb kib", "byte", 1_024.0),
        ("mb mib", "byte", 1_024.0**2),
        ("gb gib", "byte", 1_024.0**3),
        ("tb tib", "byte", 1_024.0**4),
        ("% percent パーセント", "percent", 1.0),
        ("times retries retry attempts attempt tries 回", "count", 1.0),
        ("items results rows records lines requests messages 件 行 個", "item", 1.0),
        ("tokens characters words 文字", "text", 1.0),
        ("yen 円", "yen", 1.0),
        ("dollars usd ドル", "dollar", 1.0),
        ("degrees celsius 度", "degree", 1.0),
    )
    for name in names.split()
}
_NUMBER = r"(?<![a-z0-9_.,第年月-])(?P<value>\d{1,3}(?:,\d{3}){1,4}|\d{1,15}(?:\.\d{1,6})?)"
_MEASURED = lazy_pattern(
    _NUMBER
    + r"[\s-]?(?P<unit>"
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")(?:(?<=[a-z])(?![a-z0-9_])|(?<![a-z])(?!の|目))"
)
_SETTING = lazy_pattern(
    r"(?P<name>\b(?:timeout|limit|max(?:imum)?|min(?:imum)?|threshold|port|temperature|size|delay"
    r"|interval|ttl|depth|budget|ratio|retention|window|concurrency|quota)\b"
    r"|タイムアウト|上限|下限|閾値|しきい値|最大値?|最小値?|ポート|間隔|温度|サイズ)"
    r"(?:\s*(?:=|:|is|of|to|at|be|は|を|が|値))*\s*" + _NUMBER + r"(?![\w,%.-]*[\w%-])"
)
_MARKS = frozenset({"0"} | {f"0{unit}" for unit, _ in _UNITS.values()})
"""What stands for a measure; no text has a word like it but one that begins a number with 0."""


def take_measures(text: str) -> tuple[str, tuple[Measure, ...]]:
    """A casefolded text with a word in place of each measure, and the measures in order."""
    found: list[tuple[int, Measure]] = []

    def unit(match: re.Match[str]) -> str:
        name, factor = _UNITS[match["unit"]]
        found.append((match.start(), Measure(name, _number(match["value"]) * factor)))
        return f" 0{name} "

    def setting(match: re.Match[str]) -> str:
        found.append((match.start(), Measure("", _number(match["value"]))))
        return match["name"] + " 0 "

    # Numbers with a unit first: what is left of "timeout of 30 s" is no bare number.
    without_units = _MEASURED.sub(unit, text)
    bare = _SETTING.sub(setting, without_units)
    return bare, tuple(measure for _, measure in found)


def is_measure(word: str) -> bool:
    """Whether a word of the text stands for a measure."""
    return word in _MARKS


def _number(text: str) -> float:
    """'1,000' and '1000' are one number."""
    return float(text.replace(",", ""))


REMEMBERED = 32_768
"""Lessons whose claim is kept, so that a batch does not read a whole playbook again."""

NO_EN = "not0"
"""What an English negation becomes."""

NO_JA = "否"
"""What a Japanese negation becomes."""

_CONDITIONS = "if unless when whenever while once until before after"
_LIGHT = "use set make keep put choose pick have apply configure"
"""Verbs that a setting may stand with: 'use a timeout of 30 s', 'set the timeout to 30 s'."""

_NEGATING = "avoid refrain"
"""Verbs that negate what follows them."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = lazy_pattern(
    rf"[{_CJK}ー]+|[^\W_{_CJK}]+(?:[._'-][^\W_{_CJK}]+)*"
    # Marks that tell things apart: C and C++, .env and env, x < 5 and x > 5, -1 and 1.
    r"|[<>=+/%$€¥£#&@|~^\\]+|-(?=\d)|(?<!\w)\.(?=\w)"
)
_JAPANESE = lazy_pattern(rf"[{_CJK}]")
_LEADING_CONDITION = lazy_pattern(
    r"^\s*((?:before|after|when|whenever|if|unless|until|while|once)\b[^,.;:]{1,200}),\s*(.+)$",
    re.IGNORECASE | re.DOTALL,
)
_NEGATIVE_EN = lazy_pattern(
    r"\b(?:never|(?:do|does|did|must|should|shall|can|could|may|will|would|is|are|was|were|has|have)"
    r"(?:\s+not|n't)\b(?:\s+ever\b)?|cannot|not)\b",
    re.IGNORECASE,
)
_FILLER_EN = frozenset(
    re.findall(
        r"\w+",
        "a an the please always ever just simply really very carefully kindly also must "
        "should shall need needs to of for on in at is are be been it its that this these "
        "those you your we our i make sure ensure remember",
    )
)
_NEGATIVE_JA = lazy_pattern(
    r"(?:し|を)?(?:ては(?:いけない|いけません|ならない|なりません|だめ|駄目)"
    r"|ないで(?:ください|下さい|くれ)?|ないこと|ません|ない|するな|せず|ずに|禁止(?:する|です|とする)?)"
)
_ENDING_JA = lazy_pattern(
    r"(?:し)?て(?:ください|下さい|おくこと|おく)|しましょう|すること|しなさい|するべき(?:だ|である)?"
    r"|すべき(?:だ|である)?|します|する|せよ|しろ|です|である"
)
_PAUSE_JA = lazy_pattern(rf"(?<=[{_CJK}ー])[、。,\s]+(?=[{_CJK}])")
_FILLER_JA = lazy_pattern(r"必ず|常に|いつも|絶対に|ちゃんと|きちんと|しっかり")
_PARTICLE_JA = lazy_pattern(r"(?<=[\u30a0-\u30ff\u3400-\u9fffー])[はがをもにで](?=.|$)")

_OFF = lazy_pattern(r"\b(?:turn|switch)(?:ed|ing|es|s)?\s+((?:\S{1,40}\s+){0,3}?)off\b")
_ON = lazy_pattern(r"\b(?:turn|switch)(?:ed|ing|es|s)?\s+((?:\S{1,40}\s+){0,3}?)on\b")
_BAN_EN = lazy_pattern(
    r"\b(?:is|are)\s+(?:strictly\s+)?(?:forbidden|prohibited)\b|\bmust be avoided\b"
)
_AVOID_JA = lazy_pattern(r"(?:する)?(?:の|こと)?[をは]?(?:避け|控え)(?:る|て|ましょう|よう)?")
_MAY_JA = lazy_pattern(r"(?:し)?ても?(?:よい|良い|いい|構わない|かまわない)(?:です)?")
_CONDITION_JA = lazy_pattern(r"(?:場合|とき|時|なら|限り|かぎり|うち|と|ため)")
_OKURIGANA = lazy_pattern(r"(?<=[\u4e00-\u9fff])[\u3041-\u3096]{1,2}$")


class Claim(NamedTuple):
    """What a lesson says, in the forms it is compared by."""

    frame: str
    """The lesson without its negations and numbers."""
    negations: frozenset[tuple[int, int]]
    """Where in the frame a negation stood, outside of conditions: word, character of the word."""
    measures: tuple[Measure, ...]
    """Its numbers, in order."""
    subject: tuple[str, ...]
    """The words of the frame without light verbs, sorted: what the numbers are of."""
    found_by: tuple[str, ...]
    """What it shares with every claim it excludes: the frame, or the subject of its numbers."""

    def excludes(self, other: "Claim") -> bool:
        """Whether both cannot be followed."""
        if self.frame == other.frame and self.measures == other.measures:
            return len(self.negations ^ other.negations) == 1
        return (
            bool(self.subject)
            and self.subject == other.subject
            and len(self.negations) == len(other.negations)
            and [item.unit for item in self.measures] == [item.unit for item in other.measures]
            and self.measures != other.measures
        )


@lru_cache(maxsize=REMEMBERED)
def claim_of(text: str) -> Claim:
    """The claim of a lesson, a text of one line."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    unmeasured, measures = take_measures(plain)
    marks: set[tuple[int, int]] = set()
    words: list[str] = []
    bound = False
    for token in _frame_words(_with_plain_negations(unmeasured)):
        if token == NO_EN or token in _classes(_NEGATING):
            if bound:
                words.append(NO_EN)
            else:
                marks ^= {(len(words), 0)}
            continue
        bound = bound or token in _classes(_CONDITIONS)
        word, at = _positive(token)
        if at is not None:
            marks ^= {(len(words), at)}
        if word:
            words.append(word)
    frame, subject = " ".join(words), _subject(words) if measures else ()
    return Claim(
        frame=frame,
        negations=frozenset(marks),
        measures=measures,
        subject=subject,
        found_by=(f"f {frame}", *([f"s {' '.join(subject)}"] if subject else [])),
    )


def _subject(words: list[str]) -> tuple[str, ...]:
    """What the numbers are of; () where only light verbs stand with them."""
    left = set(words) - _classes(_LIGHT)
    return tuple(sorted(left)) if any(not is_measure(word) for word in left) else ()


def _frame_words(plain: str) -> list[str]:
    """The words that carry a casefolded lesson, by their class, negations as NO_EN and NO_JA."""
    plain = _LEADING_CONDITION.sub(r"\2 \1", plain)
    plain = _NEGATIVE_EN.sub(f" {NO_EN} ", plain)
    plain = _PAUSE_JA.sub("", plain)
    tokens = (_normal(token) for token in _TOKEN.findall(plain))
    # A text of marks or filler alone is compared as it stands.
    return [token for token in tokens if token] or plain.split()


def _normal(token: str) -> str:
    """A token by its class; '' for filler."""
    if _JAPANESE.match(token):
        return _normal_ja(token)
    if token == NO_EN:
        return token
    return "" if token in _FILLER_EN else word_class(token)


def _normal_ja(run: str) -> str:
    run = _FILLER_JA.sub("", run)
    run = _NEGATIVE_JA.sub(NO_JA, run)
    run = _ENDING_JA.sub("", run)
    return _PARTICLE_JA.sub("", run)


@cache
def _classes(words: str) -> frozenset[str]:
    return frozenset(map(word_class, words.split()))


@cache
def _positives() -> Mapping[str, str]:
    """Each class of negatives with that of its positive."""
    return {word_class(one): word_class(other) for one, other in NEGATIVES_EN.items()}


def _with_plain_negations(text: str) -> str:
    """The text with words that negate, such as 'turn off' and 「不要」, as plain negations."""
    text = _ON.sub(r"turn \1", _OFF.sub(r"not turn \1", text))
    text = _BAN_EN.sub(" not ", text)
    for negative, positive in NEGATIVES_JA.items():
        text = text.replace(negative, positive)
    return _MAY_JA.sub("", _AVOID_JA.sub("しない", text))


def _positive(token: str) -> tuple[str, int | None]:
    """A token without its negation, and where that stood in it, or None."""
    positive = _positives().get(token)
    if positive is not None:
        return positive, 0
    if NO_JA not in token:
        return _OKURIGANA.sub("", token), None
    head, _, tail = token.rpartition(NO_JA)
    if _CONDITION_JA.match(tail):
        return token, None
    word = _OKURIGANA.sub("", head) + tail
    return word, len(_OKURIGANA.sub("", head))
