"""What loosens by its form, whatever a model calls it: a check less, or an act by itself."""

from typing import Final

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import any_of

_CHECKS = (
    r"(?:ask|ping|check|confirm|log|wait|bother|requir|verif|validat|review|block|limit|restrict"
    r"|enforc|encrypt|protect|monitor|audit)\w*"
)
_CHECK = (
    r"(?:review|approval|check|confirmation|logging|log|audit|verification|validation|backup)s?"
)
_BETWEEN = r"(?:(?:ever|even|again|you|me|to|have|need|bother|bothering|the|any|first) ){0,3}?"
_WATCHES: Final = any_of(
    rf"\b(?:don't|dont|do not|never|stop|needn't|no need to|don't need to|don't have to) {_BETWEEN}"
    rf"{_CHECKS}\b",
    r"\bno (?:more )?(?:asking|checks?|checking|approvals?|confirmations?|reviews?|logging)\b"
    r"(?! (?:\w+ ){0,3}(?:may|can|is|are) (?:be )?(?:skip|bypass|omit))",
    rf"(?<!never )(?<!don't )(?<!not )(?<!no )\b(?:skip|bypass|waive|omit|disable) (?:\w+ ){{0,2}}?"
    rf"{_CHECK}\b",
    r"(?:聞|確認|承認|報告|相談|記録|検証|監視|保護|制限)(?:し|せ|を取ら|は|も|を|か|き)?"
    r"(?:な(?:く|しで|いで|しに)|ずに|不要|いらな|いりませ|要りませ)"
    r"|(?:記録|ログ|履歴)(?:は|を)?(?:残さ|取ら|とら|つけ|付け)(?:な|ず)",
)
"""What is negated here watches over the agent: asking, checking, approving, logging."""
_UNWATCHED: Final = any_of(
    r"\bwithout (?:\w+ ){0,2}?(?:ask|check|confirm|approv|log|wait|review|my ok|my okay)\w*"
)
"""What is done here is done without a check, unless it is not to be done so."""
_NOT_DONE: Final = any_of(
    r"\b(?:don't|dont|do not|never|no|nothing|nobody|no one|none|not|won't|can't|cannot|mustn't"
    r"|must not|isn't|aren't|stop)\b",
)
_NOT_DONE_JA: Final = any_of(
    r"(?:な(?:く|しで|いで|しに|しの)|ずに)"
    r".*(?:な(?:い|いで|さい)|ません|禁止|だめ|ダメ|駄目|るな|すな|厳禁|ng)"
)
_ADDS: Final = any_of(
    r"\b(?:always|every time|each time|automatically|from now on|whenever)\b[^.]*\b(?:b?cc|forward"
    r"|send|post|share|upload|publish|invite|add)\b.*(?:@|https?://|\bto\b)",
    r"\b(?:b?cc|forward|send|post|share|upload|publish)\b.*\b(?:automatically|by yourself"
    r"|on your own)\b",
    r"(?:必ず|毎回|常に|自動で|今後は)[^。]*(?:cc|bcc|転送|送信|送って|共有|投稿|公開|追加)",
)
"""A standing act: something goes out by itself."""


def loosens_by_form(text: str) -> bool:
    """Whether words do away with a check of the agent, or add an act, a recipient or a link."""
    folded = normalise(text)
    if _NOT_DONE_JA.search(folded):
        return False
    unwatched = _UNWATCHED.search(folded) and not _NOT_DONE.search(folded)
    return bool(unwatched or _WATCHES.search(folded) or _ADDS.search(folded))
