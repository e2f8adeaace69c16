"""Tell what kind of thing a question asks for, and whether a text holds one."""

import re

from core.domain.language.words import content_words
from core.models.embedded.entities import find_entities

_ASKED_KINDS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"\bwho\b|\bwhom\b|誰|だれ|どなた|担当者", re.I), frozenset({"person", "team"})),
    (
        re.compile(r"\bwhen\b|\bwhat time\b|\b(?:which|what) day\b|いつ|何時|何日|何曜", re.I),
        frozenset({"time"}),
    ),
    (
        re.compile(r"\bhow much\b|\bcost|\bbudget|いくら|何円|予算|金額|費用", re.I),
        frozenset({"money", "percent"}),
    ),
    (
        re.compile(
            r"\bhow (?:long|fast|quickly)|何分|何時間|何秒|何日間|どのくらい|どれくらい|どれだけ",
            re.I,
        ),
        frozenset({"duration", "time"}),
    ),
    (re.compile(r"\bwhat percent|何[%％]|何パーセント", re.I), frozenset({"percent"})),
    (
        re.compile(r"\bwhich (?:server|host|machine|replica|node)|どのサーバ|どの機", re.I),
        frozenset({"server"}),
    ),
    (re.compile(r"\bwhich (?:version|release)|バージョン", re.I), frozenset({"version"})),
    (
        re.compile(r"\bwhich (?:ticket|incident)|\bticket (?:number|id)|チケット", re.I),
        frozenset({"ticket"}),
    ),
)
_ASKS_WHY = re.compile(
    r"\bwhy\b|\b(?:root )?causes?\b|\breasons?\b|なぜ|どうして|原因|理由", re.IGNORECASE
)


def asked_kinds(question: str) -> frozenset[str]:
    """Kinds of entities that would answer: 'who' asks for a person; empty for an open question."""
    found: frozenset[str] = frozenset()
    for asked, kinds in _ASKED_KINDS:
        if asked.search(question):
            found |= kinds
    return found


def holds_kind(text: str, kinds: frozenset[str]) -> bool:
    """Whether a text names a thing of one of the kinds."""
    return any(entity.kind in kinds for entity in find_entities(text))


def asks_why(question: str) -> bool:
    """Whether a question asks for a cause or reason."""
    return _ASKS_WHY.search(question) is not None


def asks_only_why(question: str) -> bool:
    """Whether a question asks for 'the cause' and names nothing else."""
    return asks_why(question) and not content_words(_ASKS_WHY.sub(" ", question))
