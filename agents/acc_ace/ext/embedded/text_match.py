"""Match texts by shared words, entities and actions, and by the kind of thing asked for."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log

from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.entities import find_entities

_ACTIONS: dict[str, str] = {
    "restart": r"\b(?:restart|reboot|bounc|power[- ]cycl)\w*|再起動|リブート|立ち上げ直",
    "stop": r"\b(?:stop(?:s|ped|ping)?|shut(?:s|ting)? ?down|kill)\w*|停止し|停止を"
    r"|停止する|止め(?:て|る|ろ)"
    r"|シャットダウン|切断し",
    "delete": r"\b(?:delet|drop(?:s|ped|ping)?\b|remov|wip(?:e|ing)|purg|truncat|eras)\w*"
    r"|削除|消去|消し|破棄|抹消",
    "deploy": r"\b(?:deploy|redeploy|releas(?!e c-)|ship(?:s|ped|ping)?\b|roll(?:s|ed"
    r"|ing)? ?out|push(?:es|ed|ing)?\b"
    r"|hotfix)\w*|デプロイ|リリース|本番反映|配備",
    "rollback": r"\b(?:roll(?:s|ed|ing)?[- ]?back|revert)\w*|ロールバック|切り戻|巻き戻",
    "failover": r"\b(?:fail(?:s|ed|ing)?[- ]?over|switch(?:es|ed|ing)? over|promot(?:e|ing))\w*"
    r"|フェイルオーバー|フェールオーバー|切り替え|昇格",
    "change": r"\b(?:chang|modif|edit|alter|migrat|upgrad|patch|merg|updat)\w*"
    r"|変更|修正し|編集|改修|更新し|アップデート|移行|適用",
    "share": r"\b(?:shar(?:e|ing)|disclos|publish|post(?:s|ed|ing)?\b|announc|send|forward|e-?mail"
    r"|paste|pasting|upload|hand(?:s|ed|ing)? over|tell|leak|mention|notif)\w*|口外|公開|投稿|掲載"
    r"|貼り付|貼って|教え|渡し|渡す|共有|送信|送って|送る|伝え|知らせ|連絡し|開示|公表|漏",
    "name": r"\bnames?\b|名前|顧客名|氏名|実名|お名前",
    "approve": r"\b(?:approv|sign(?:s|ed|ing)? off|authori[sz])\w*|承認|許可し|決裁",
    "spend": r"\b(?:spend|buy|purchas|order(?:s|ed|ing)? (?:a|the|more|new|\d)|pay)\w*|購入"
    r"|発注|支払|買っ|買う",
    "scale": r"\b(?:scal|resiz|add(?:s|ed|ing)? (?:capacity|nodes?|replicas?))\w*|増強|増設"
    r"|スケール",
    "disable": r"\b(?:disabl|turn(?:s|ed|ing)? off|mut(?:e|ing)|silenc)\w*|無効化|オフに|切って",
    "open": r"\b(?:open(?:s|ed|ing)?|expos)\w*|開放|公開",
    "contact": r"\b(?:call(?:s|ed|ing)?|page(?:s|d)?|paging|contact|phone)\b|電話|呼び出",
    "freeze": r"\bfrozen\b|\bfreez\w*|凍結",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ACTIONS.items()}
_MEANS_TOO = {"freeze": frozenset({"deploy", "change", "rollback"})}
"""A freeze covers every change."""

_MAX_CHARS = 4_000

_SHORT_CHARS = 400
"""Results for texts up to this length are cached."""

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
_GIVES_WHY = re.compile(r"because|due to|caused|led to|原因|ため|ので|によ", re.IGNORECASE)

_MIN_SCORE = 0.3
_MIN_SHARED = 2
_ALL = 0.95
_BESIDE_BEST = 0.75
"""Facts with at least this share of the best score are quoted too."""

_RIGHT_KIND = 1.2
"""Above this weight a fact has the kind of thing asked for: one shared word is then enough."""
_ASKS_WHY = re.compile(
    r"\bwhy\b|\b(?:root )?causes?\b|\breasons?\b|なぜ|どうして|原因|理由", re.IGNORECASE
)


def actions_in(text: str) -> frozenset[str]:
    """Names of the actions in a text, such as 'restart' for '再起動' and 'reboot'."""
    actions = {name for name, pattern in _COMPILED.items() if pattern.search(text[:_MAX_CHARS])}
    for name in tuple(actions):
        actions |= _MEANS_TOO.get(name, frozenset())
    return frozenset(actions)


@dataclass(frozen=True)
class Fact:
    """A short quotable text, its citation ('' without one), and its turn.

    `turn` is 0 without one, as for a document; a higher turn is newer. `hint` has the older facts
    that this one supersedes: they are matched, but never quoted. `corrects` is true for what was
    said to correct another.
    """

    text: str
    cite: str = ""
    weight: float = 1.0
    turn: int = 0
    hint: str = ""
    corrects: bool = False


@dataclass(frozen=True)
class Match:
    """A fact with its score, and the number of terms shared with the query."""

    fact: Fact
    score: float
    shared: int


def terms_of(text: str) -> frozenset[str]:
    """The terms for matching a text: words, entities and actions."""
    return _short(text) if len(text) <= _SHORT_CHARS else _terms(text)


def _terms(text: str) -> frozenset[str]:
    entities = (f"@{entity.name.casefold()}" for entity in find_entities(text))
    acts = (f"!{name}" for name in actions_in(text))
    return frozenset({*content_words(text), *entities, *acts})


# The same sentences recur in every turn, and are matched against many others.
_short = lru_cache(maxsize=2_048)(_terms)


def rank(query: str, facts: Sequence[Fact]) -> list[Match]:
    """Facts that share terms with the query, best first; ties keep their order.

    Terms are weighted by rarity among the facts; a score is the share of the query's weight that a
    fact covers, times the fact's own weight.
    """
    wanted = terms_of(query)
    term_sets = [terms_of(fact.text) | terms_of(fact.hint) for fact in facts]
    spread = Counter(term for terms in term_sets for term in terms & wanted)
    weight = {term: _rarity(term, spread[term], len(facts)) for term in wanted}
    total = sum(weight.values()) or 1.0
    matches = []
    for fact, terms in zip(facts, term_sets, strict=True):
        shared = terms & wanted
        if shared:
            score = sum(weight[term] for term in sorted(shared)) / total
            matches.append(Match(fact, score * fact.weight, len(shared)))
    return sorted(matches, key=lambda match: -match.score)


def distinct(facts: Iterable[Fact]) -> list[Fact]:
    """Facts without duplicates; a duplicate with a citation passes it on to the kept one."""
    result: list[Fact] = []
    for fact in facts:
        twin = next((at for at, other in enumerate(result) if _same(fact, other)), None)
        if twin is None:
            result.append(fact)
        elif fact.cite and not result[twin].cite:
            result[twin] = replace(result[twin], cite=fact.cite)
    return result


def _same(fact: Fact, earlier: Fact) -> bool:
    """Whether a fact, maybe clipped or restated as a relation, adds nothing to an earlier one."""
    one, other = (item.text.casefold().rstrip(" .。…!！") for item in (fact, earlier))
    return (
        other.startswith(one)
        or one.startswith(other)
        or (not fact.cite and terms_of(fact.text) <= terms_of(earlier.text))
    )


def unique(texts: Iterable[str]) -> list[str]:
    """Texts without duplicates, ignoring case and whitespace; the first is kept."""
    seen: dict[str, str] = {}
    for text in texts:
        key = " ".join(text.casefold().split())
        if key:
            seen.setdefault(key, text)
    return list(seen.values())


def _rarity(term: str, count: int, total: int) -> float:
    # A term in no fact cannot rank facts; it only lowers the covered share.
    base = 1.0 + (log((1 + total) / (1 + count)) if count else 0.0)
    return base * (2.0 if term.startswith("@") else 1.0)


def asked_kinds(question: str) -> frozenset[str]:
    """Kinds of entities asked for: 'who' asks for a person; empty for an open question."""
    kinds_asked: frozenset[str] = frozenset()
    for pattern, kinds in _ASKED_KINDS:
        if pattern.search(question):
            kinds_asked |= kinds
    return kinds_asked


def holds_kind(text: str, kinds: frozenset[str]) -> bool:
    """Whether a text has an entity of one of the kinds."""
    return any(entity.kind in kinds for entity in find_entities(text))


def asks_why(question: str) -> bool:
    """Whether a question asks for a cause or reason."""
    return _ASKS_WHY.search(question) is not None


def asks_only_why(question: str) -> bool:
    """Whether a question asks for 'the cause' without other content words."""
    return asks_why(question) and not content_words(_ASKS_WHY.sub(" ", question))


def best_facts(
    facts: Iterable[Fact], question: str, *, limit: int, whole: bool = False
) -> list[Fact]:
    """The facts that answer a question best, best first.

    `whole` includes weak matches too: the facts are then all from the text asked about.
    """
    ranked = rank(question, [_weighed(fact, question) for fact in facts])
    near = [match for match in ranked if whole or _near_enough(match)][:limit]
    return [match.fact for match in near if match.score >= _BESIDE_BEST * near[0].score]


def _near_enough(match: Match) -> bool:
    """Whether a match is good enough to quote as an answer."""
    covers_all = match.score >= _ALL * match.fact.weight
    fits = match.shared >= _MIN_SHARED or match.fact.weight > _RIGHT_KIND or covers_all
    return match.score >= _MIN_SCORE and fits


def _weighed(fact: Fact, question: str) -> Fact:
    """Reweight a fact: more with the kind of thing asked for, less without."""
    factor = 1.0
    if kinds := asked_kinds(question):
        factor *= 1.5 if holds_kind(fact.text, kinds) else 0.5
    if asks_why(question):
        factor *= 1.5 if _GIVES_WHY.search(fact.text) else 0.7
    return replace(fact, weight=fact.weight * factor)
