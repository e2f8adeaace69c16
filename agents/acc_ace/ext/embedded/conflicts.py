"""Find the requests in x_t, and check them by their words against the active constraints."""

import re

from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.sentences import split_clauses
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.speech_acts import is_order, is_question, units_of

_ACTIONS: dict[str, str] = {
    "restart": r"\b(?:restart|reboot|bounc|power[- ]cycl)\w*|再起動|リブート|立ち上げ直",
    "stop": r"\b(?:stop(?:s|ped|ping)?|shut(?:s|ting)? ?down|kill)\w*|停止し|停止を|停止する"
    r"|止め(?:て|る|ろ)|シャットダウン|切断し",
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
    "open": r"\b(?:open(?:s|ed|ing)?|expos)\w*|開放|公開|開け|開い",
    "freeze": r"\bfrozen\b|\bfreez\w*|凍結",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ACTIONS.items()}
_MEANS_TOO = {"freeze": frozenset({"deploy", "change", "rollback"})}
"""A freeze covers every change."""

_MAX_CHARS = 4_000

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
    r"|禁止|厳禁|無用|不可|ないで|しないこと|しない(?:ように|よう)|してはいけ|してはなら"
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
    r"| are) closed|\bafter closing|\bovernight\b|\bat midnight\b|営業時間外|営業(?:終了)?後"
    r"|閉店後|業務時間外|夜間に|深夜に"
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

_THING = re.compile(
    r"(?a)(?<![\w./])(?:[a-zA-Z][\w.]*(?:-[\w.]+)*-\d[\w-]*|[\w-]+\.(?:ya?ml|json|log|md|py|sh|txt)\b)"
)
_PERSON = re.compile(
    r"(?<=[a-z,] )[A-Z][a-z]+\b|[\u4e00-\u9fff\u30a1-\u30faー]{1,6}(?:さん|様|部長|課長|店長)"
)
_MONEY = re.compile(
    r"[$€£¥]\s?\d[\d,.]*\d?\s?[kM万]?|\d[\d,]*\s?[万億]?(?:円|ドル)"
    r"|\d[\d,.]* (?:euros?|dollars?|yen)"
)
_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SCALE = {"k": 1_000.0, "M": 1_000_000.0, "万": 10_000.0, "億": 100_000_000.0}


def things_in(text: str) -> frozenset[str]:
    """Identifiers with a number, such as 'db-01', and names of files."""
    return frozenset(match[0].casefold() for match in _THING.finditer(text[:_MAX_CHARS]))


def actions_in(text: str) -> frozenset[str]:
    """Names of the actions in a text, such as 'restart' for '再起動' and 'reboot'."""
    actions = {name for name, pattern in _COMPILED.items() if pattern.search(text[:_MAX_CHARS])}
    for name in tuple(actions):
        actions |= _MEANS_TOO.get(name, frozenset())
    return frozenset(actions)


def intents(text: str) -> list[str]:
    """Sentences that request an action now: orders, wishes and requests for permission.

    Rules and plain questions are excluded.
    """
    rules = {rule.sentence for rule in rules_in(text)}
    return [sentence for sentence in units_of(text) if sentence not in rules and _wants(sentence)]


def asks_permission(sentence: str) -> bool:
    """Whether a sentence asks for permission."""
    return _PERMISSION.search(sentence) is not None


def _wants(sentence: str) -> bool:
    if asks_permission(sentence) or is_order(sentence):
        return True
    return _WISH.search(sentence) is not None and not is_question(sentence)


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
    """Whether both name servers, versions or files, but none in common."""
    banned, wanted = things_in(clause), things_in(request)
    return bool(banned and wanted) and not banned & wanted


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
    people = (match[0].casefold() for match in _PERSON.finditer(clause))
    return any(name in request.casefold() for name in people)


def _exceeds(request: str, constraint: str) -> bool:
    if _CAP.search(constraint) is None or not actions_in(request) & {"spend", "approve", "scale"}:
        return False
    caps = [_amount(match[0]) for match in _MONEY.finditer(constraint)]
    wanted = [_amount(match[0]) for match in _MONEY.finditer(request)]
    return bool(caps and wanted) and max(wanted) > max(caps)


def _amount(text: str) -> float:
    match = _AMOUNT.search(text)
    if match is None:
        return 0.0
    scale = next((value for mark, value in _SCALE.items() if mark in text), 1.0)
    return float(match.group().replace(",", "")) * scale
