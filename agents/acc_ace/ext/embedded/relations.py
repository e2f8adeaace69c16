"""Find causal, temporal and claim relations, and the latest status of things.

Items of a relational map look like 'cause: disk full -> db-01 down', 'after: deploy -> errors',
'status: db-01 = down' and 'claim: Bob -> the ban is lifted'. A claim is reported speech; it is
never read as a fact or a rule.
"""

import re
from collections.abc import Iterable

from acc_ace.core.text.sentences import split_sentences
from acc_ace.ext.embedded.entities import find_entities
from acc_ace.ext.embedded.speech_acts import is_question

_MAX_CHARS = 8_000
_SIDE = 90
"""Maximum characters of one side of a relation."""

_EN_CAUSE = re.compile(
    r"^(?P<b>.{3,200}?),?\s+(?:because(?: of)?|due to|caused by|was caused by|is caused by"
    r"|as a result of|thanks to)\s+(?P<a>.{3,200}?)[.!]?$",
    re.IGNORECASE,
)
_EN_EFFECT = re.compile(
    r"^(?P<a>.{3,200}?),?\s+(?:caused|led to|triggered|broke|resulted in|which caused)\s+"
    r"(?P<b>.{3,200}?)[.!]?$",
    re.IGNORECASE,
)
_EN_AFTER = re.compile(
    r"^(?P<b>.{3,200}?)\s+(?:right after|after|since)\s+(?P<a>.{3,200}?)[.!]?$", re.IGNORECASE
)
_EN_AFTER_FIRST = re.compile(
    r"^(?:After|Once)\s+(?P<a>.{3,200}?),\s+(?P<b>.{3,200}?)[.!]?$", re.IGNORECASE
)
_EN_BEFORE = re.compile(r"^(?P<a>.{3,200}?)\s+before\s+(?P<b>.{3,200}?)[.!]?$", re.IGNORECASE)
_JA_CAUSE = re.compile(
    r"^(?P<a>.{2,100}?)(?:したため|のため|ため|によって|により|のせいで|が原因で|ので)、?"
    r"(?P<b>.{2,100}?)[。！]?$"
)
_JA_CAUSE_IS = re.compile(
    r"^(?P<b>.{2,60}?)の?原因は、?(?P<a>.{2,100}?)(?:です|でした|だ)?[。！]?$"
)
_JA_AFTER = re.compile(
    r"^(?P<a>.{2,100}?)(?:の後に|した後に?|の後、|後に)、?(?P<b>.{2,100}?)[。！]?$"
)
_JA_BEFORE = re.compile(r"^(?P<b>.{2,100}?)(?:の前に|する前に)、?(?P<a>.{2,100}?)[。！]?$")

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cause", _EN_CAUSE),
    ("cause", _EN_EFFECT),
    ("cause", _JA_CAUSE_IS),
    ("cause", _JA_CAUSE),
    ("after", _EN_AFTER_FIRST),
    ("after", _EN_AFTER),
    ("before", _EN_BEFORE),
    ("after", _JA_AFTER),
    ("before", _JA_BEFORE),
)

_CLAIM_EN = re.compile(
    r"\b(?P<who>[A-Z][a-z]{1,20})(?: (?:from|in|of) [\w ]{2,30}?)?,? "
    r"(?:says|said|thinks|claims|claimed|insists|argues|believes|told (?:me|us)|wants us"
    r"|keeps saying)"
    r":? (?:that )?(?P<what>.{3,200})"
)
_CLAIM_JA = re.compile(
    r"(?P<who>[\u4e00-\u9fff\u30a1-\u30fa々ー]{1,8}(?:さん|様|氏|部長|課長|店長|部|チーム))"
    r"(?:は|が|から|によると|いわく)、?「?(?P<what>.{2,120}?)」?"
    r"(?:と(?:言|い)って|と(?:言|い)われ|とのこと|と主張|と述べ|と聞い|そうです|らしい|と言い張)"
)

_GOOD = (
    r"back up|back online|recovered|healthy|fixed|resolved|online|restored|up again|stable"
    r"|back to normal|working again|running|up"
)
_BAD = (
    r"down|failing|dead|broken|unreachable|offline|crashed|degraded|unresponsive|not responding"
    r"|full|stuck|slow|unstable|overloaded|corrupted|returning \d{3}s?|timing out|read-only"
)
_STATUS_EN = re.compile(
    rf"^\W{{0,3}}(?:(?:is|are|was|went|has|looks|seems|stays|got|came|just|still|now|been|again"
    rf"|completely|fully|all|only)\W{{1,2}}){{0,4}}"
    rf"(?P<not>not |n't )?(?P<word>{_GOOD}|{_BAD})\b",
    re.IGNORECASE,
)
_STATUS_JA = re.compile(
    r"^\s*(?:は|が|も|の状態は)、?.{0,12}?(?P<word>復旧|回復|正常|稼働中|解消|再開|停止|停まっ|止まっ|落ち|ダウン|障害"
    r"|異常|遅延|遅い|応答(?:しない|していない|なし|がない)|満杯|一杯)(?P<not>してい?ません|していない)?"
)
_STATUS_KINDS = {"server", "service"}


def find_relations(text: str) -> list[str]:
    """Distinct relations and statuses of a text, in order."""
    relations: dict[str, None] = {}
    for sentence in split_sentences(text[:_MAX_CHARS]):
        if is_question(sentence):
            continue
        claim = find_claim(sentence)
        if claim is not None:
            relations[claim] = None
            continue
        for item in (*_relations_of(sentence), *_statuses_of(sentence)):
            relations[item] = None
    return list(relations)


def find_claim(sentence: str) -> str | None:
    """'claim: who -> what' for reported speech, else None."""
    match = _CLAIM_EN.search(sentence) or _CLAIM_JA.search(sentence)
    if match is None:
        return None
    return f"claim: {match['who']} -> {_side(match['what'])}"


def latest(items: Iterable[str]) -> list[str]:
    """Keep the first item of each subject; given newest first, this drops outdated statuses."""
    seen: set[str] = set()
    newest = []
    for item in items:
        key = _subject(item).casefold()
        if key not in seen:
            seen.add(key)
            newest.append(item)
    return newest


def status_of(item: str) -> tuple[str, str] | None:
    """Subject and value of a 'status: x = y' item, or None."""
    kind, _, rest = item.partition(": ")
    subject, separator, value = rest.partition(" = ")
    return (subject, value) if kind == "status" and separator else None


def _subject(item: str) -> str:
    status = status_of(item)
    return f"status: {status[0]}" if status else item


def _relations_of(sentence: str) -> list[str]:
    for kind, pattern in _RULES:
        if match := pattern.match(sentence.strip()):
            return [f"{kind}: {_side(match['a'])} -> {_side(match['b'])}"]
    return []


def _statuses_of(sentence: str) -> list[str]:
    statuses = []
    for entity in find_entities(sentence):
        if entity.kind not in _STATUS_KINDS:
            continue
        _, _, tail = sentence.partition(entity.name)
        match = _STATUS_EN.match(tail) or _STATUS_JA.match(tail)
        if match is not None:
            word = match["word"].casefold()
            statuses.append(f"status: {entity.name} = {'not ' if match['not'] else ''}{word}")
    return statuses


def _side(text: str) -> str:
    short = " ".join(text.split()).strip(" ,、。.「」\"'")
    return short if len(short) <= _SIDE else short[: _SIDE - 1].rstrip() + "…"
