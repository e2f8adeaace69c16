"""Find the requests in x_t, and check them against the active constraints."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.sentences import split_clauses, split_sentences
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.entities import find_entities, names_in
from acc_ace.ext.embedded.relations import find_claim
from acc_ace.ext.embedded.speech_acts import is_order, is_question
from acc_ace.ext.embedded.text_match import actions_in

_PERMISSION = re.compile(
    r"^(?:so |and |but |ok(?:ay)?,? |then |now,? |hey,? )*(?:can|may|could|should|shall) (?:we|i)\b"
    r"|\b(?:is it (?:ok|okay|fine|safe|allowed) (?:to|if)|are we allowed to|am i allowed to"
    r"|any (?:problem|objection)s? (?:if|with))\b"
    r"|(?:して|って|んで|いて|えて)も?(?:いい|よい|良い|よろしい|構わない|大丈夫)(?:です|でしょう)?か"
    r"|(?:して|って)(?:いい|よい)(?:です)?か|できますか|可能ですか",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:we|i) (?:really |just |now |urgently )*(?:must|need to|have to|want to|should"
    r"|would like to"
    r"|am going to|are going to|will)\b|\b(?:i'll|we'll|i'm going to|we're going to|let me)\b"
    r"|たいです|たいのですが|したい|させてください|することにし|しないとまずい|する必要があ|しなければ",
    re.IGNORECASE,
)

_FORBIDS = re.compile(
    r"\b(?:never|not?|don't|dont|mustn't|can't|cannot|nobody|no one|forbidden|prohibited|banned|ban"
    r"|off[- ]limits|frozen|freeze|avoid|without|not allowed|out of|keep .{1,40} (?:out|private"
    r"|secret|confidential)|confidential|refrain|stays? (?:up|untouched|as is)|hands off)\b"
    r"|禁止|厳禁|無用|不可|(?:し|さ|せ|え|ら|か|わ|ま)ないで|しないこと|しない(?:ように|よう)|してはいけ|してはなら"
    r"|だめ|ダメ|控えて|凍結|伏せて|触らない|避けて|せずに|極秘|社外秘",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:during|in|within|until|till|before|after|while|unless|outside|between|without|on)\b.*$"
    r"|^.*?(?:営業時間(?:内|中)(?:は|に|の)?|までは?、?|の間は?、?|中は、?|なしに|なしで|以外(?:は|で))",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"^only (?P<who>[A-Z]\w+(?: or [A-Z]\w+| and [A-Z]\w+)*)\b"
    r"|^(?P<ja>.{1,12}?(?:さん|様|部長|課長|店長|のみ))(?:だけ|のみ)?が",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"\b(?:without|unless|only (?:with|after)|needs?|requires?|must be (?:approved|signed))\b"
    r"|なしに|なしで|承認(?:が必要|を得て|を取って)|確認してから",
    re.IGNORECASE,
)
_CAP = re.compile(
    r"\b(?:cap|budget|limit|at most|no more than|under|maximum|up to|below)\b|上限|以内"
    r"|以下|まで|予算",
    re.IGNORECASE,
)
_HOURS = re.compile(
    r"business hours|working hours|office hours|営業時間(?:内|中)|業務時間(?:内|中)", re.I
)
_OUT_OF_HOURS = re.compile(
    r"\b(?:after|outside(?: of)?) (?:business|working|office|\w*\s?)hours|\bonce we(?:'re"
    r"| are) closed"
    r"|\bafter closing|\bovernight\b|\bat midnight\b|営業時間外|営業(?:終了)?後|閉店後"
    r"|業務時間外|夜間に|深夜に"
    r"|終業後",
    re.IGNORECASE,
)
_NEGATED_REQUEST = re.compile(
    r"\b(?:don't|do not|never|without|instead of|not to|avoid)\b|しないで|せずに|禁止|控え",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"\b(?:secrets?|credentials?|passwords?|passphrases?|tokens?|certificates?|cookies?|\.env"
    r"|(?:api|access|private|ssh|signing|staging|prod(?:uction)?|deploy) ?-?keys?"
    r"|keys?(?! (?:findings?|points?|results?|takeaways?|facts?|dates?|figures?|messages?"
    r"|metrics?|people|customers?)))\b"
    r"|秘密|機密|認証情報|資格情報|パスワード|トークン|鍵|キー|シークレット|証明書|クレデンシャル",
    re.IGNORECASE,
)
"""Words for secrets: a rule about one of them covers them all."""

_RECIPIENT = re.compile(r"\b(?:with|to|into|onto|in|on|out of|from)\b", re.IGNORECASE)
"""Prepositions between the object and the recipient."""

_POINTS_BACK = re.compile(
    r"\b(?:it|that|this|them|those|these|everything|all|contents?|whole|file)\b"
    r"|それ|これ|あれ|全部|すべて|中身|内容",
    re.IGNORECASE,
)
"""Words that may refer to a secret mentioned before."""

_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SCALE = {"k": 1_000.0, "M": 1_000_000.0, "万": 10_000.0, "億": 100_000_000.0}


def intents(text: str) -> list[str]:
    """Sentences that request an action now: orders, wishes and requests for permission.

    Rules, reported claims and plain questions are excluded.
    """
    rules = {rule.sentence for rule in rules_in(text)}
    return [
        sentence
        for sentence in split_sentences(text)
        if sentence not in rules and find_claim(sentence) is None and _wants(sentence)
    ]


def asks_permission(sentence: str) -> bool:
    """Whether a sentence asks for permission."""
    return _PERMISSION.search(sentence) is not None


def _wants(sentence: str) -> bool:
    if asks_permission(sentence) or is_order(sentence):
        return True
    return _WISH.search(sentence) is not None and not is_question(sentence)


@dataclass(frozen=True)
class Conflict:
    """A constraint, and the request that would break it."""

    constraint: str
    request: str


def find_conflict(request: str, constraints: Sequence[str]) -> Conflict | None:
    """The oldest constraint that the request would break, or None."""
    for constraint in constraints:
        if breaks(request, constraint):
            return Conflict(constraint=constraint, request=request)
    return None


def breaks(request: str, constraint: str) -> bool:
    """Whether the request would break the constraint, judged by words.

    If the condition of a ban is unclear (is it business hours now?), the ban applies, unless the
    request says 'after hours'.
    """
    if _exceeds(request, constraint):
        return True
    if _FORBIDS.search(constraint) is None and _ONLY.match(constraint) is None:
        return False
    if any(_breaks_clause(request, clause, constraint) for clause in split_clauses(constraint)):
        return True
    return _breaks_clause(request, constraint, constraint)


def _breaks_clause(request: str, clause: str, constraint: str) -> bool:
    only = _ONLY.match(clause.strip())
    if only is not None:
        who = (only["who"] or only["ja"]).replace("のみ", "")
        return who.casefold() not in request.casefold() and _same_act(request, clause)
    if _FORBIDS.search(clause) is None:
        return False
    if _HOURS.search(constraint) and _OUT_OF_HOURS.search(request):
        return False
    if _NEEDS.search(clause) and _approval_given(request, clause):
        return False
    return _same_act(request, clause)


def _same_act(request: str, clause: str) -> bool:
    """Whether the request orders the clause's action on the same objects."""
    core = _CONDITION.sub("", clause).strip() or clause
    banned = actions_in(core)
    acts = frozenset(
        name
        for part in split_clauses(request)
        if not _is_negated(part)
        for name in actions_in(part)
    )
    if _other_things(request, clause) or _no_secret(request, core):
        return False
    if banned & acts:
        return True
    if banned:
        return False
    words, wanted = content_words(core), content_words(request)
    return len(words) >= 2 and len(words & wanted) / len(words) >= 0.6


def _is_negated(part: str) -> bool:
    return _NEGATED_REQUEST.search(part) is not None


def _other_things(request: str, clause: str) -> bool:
    """Whether both name servers, files or services, but none in common."""
    banned = {item for item in find_entities(clause) if item.kind in {"server", "file", "service"}}
    things = {item for item in find_entities(request) if item.kind in {"server", "file", "service"}}
    if not banned or not things:
        return False
    kinds = {item.kind for item in banned} & {item.kind for item in things}
    names = {item.name.casefold() for item in banned}
    return bool(kinds) and not any(item.name.casefold() in names for item in things)


def _no_secret(request: str, core: str) -> bool:
    """Whether the ban is only about secrets, and the request names something else.

    "Never post secrets" does not forbid the release notes. "Post it" may mean one, and is banned.
    """
    banned = _RECIPIENT.split(core, maxsplit=1)[0]
    if not _SECRET.search(banned) or _SECRET.search(request) or _POINTS_BACK.search(request):
        return False
    both = content_words(banned) & content_words(request)
    return all(actions_in(word) for word in both)


def _approval_given(request: str, clause: str) -> bool:
    """Whether the request names a person whose approval the clause requires."""
    people = names_in(clause, "person")
    return any(name.casefold() in request.casefold() for name in people)


def _exceeds(request: str, constraint: str) -> bool:
    if _CAP.search(constraint) is None or not actions_in(request) & {"spend", "approve", "scale"}:
        return False
    caps = [_amount(name) for name in names_in(constraint, "money")]
    wanted = [_amount(name) for name in names_in(request, "money")]
    return bool(caps and wanted) and max(wanted) > max(caps)


def _amount(text: str) -> float:
    match = _AMOUNT.search(text)
    if match is None:
        return 0.0
    scale = next((value for mark, value in _SCALE.items() if mark in text), 1.0)
    return float(match.group().replace(",", "")) * scale
