"""Find words that try to command the reader of quoted data."""

import re

from acc_ace.text.exfiltration import exfiltration
from acc_ace.text.normalize import skeleton
from acc_ace.text.obfuscation import decoded, spelled_out
from acc_ace.text.patterns import lazy_pattern

_WHAT = (
    r"(?:(?:previous|prior|earlier|above|preceding|existing|former|system|safety|your|these"
    r"|those)\s+)*"
    r"(?:instructions?|rules?|constraints?|prompts?|polic(?:y|ies)|guidelines?|directives?"
    r"|commands?"
    r"|restrictions?|guardrails?|bans?|(?:\w+\s+){1,4}(?:ban|freeze|rule|restriction|policy"
    r"|constraint)s?)"
)
_PATTERNS = lazy_pattern(
    rf"\b(?:ignore|disregard|forget|override|overrule|bypass|circumvent)\s+"
    rf"(?:(?:all|any|every|the|of|my|our|about|everything\s+in)\s+)*{_WHAT}"
    r"|\b(?:ignore|disregard|forget)\s+(?:everything|all|anything)\s+(?:above|before|previous|you)"
    r"|\b(?:ignore|disregard)\s+the\s+(?:above|foregoing)\s*(?:[,.;:!\n]|and\b|$)"
    r"|\bfrom\s+now\s+on,?\s+you\s+are\s+(?:an?\b|the\b|called\b|dan\b|no\s+longer\b)"
    r"|\byou\s+are\s+now\s+(?:an?\b|the\b|in\b|free\b|called\b|dan\b|no\s+longer\b|acting\b)"
    r"|\b(?:pretend|act)\s+(?:to\s+be|as\s+if|as\s+though)\s+you\b"
    r"|\bnew\s+(?:system\s+)?instructions?\s*:"
    r"|^[ \t]*(?:system|assistant|developer)\s*(?:prompt|message)?\s*[:：]"
    r"|\b(?:reveal|print|show|repeat|leak)\s+(?:me\s+)?(?:your|the)\s+(?:system\s+)?(?:prompt"
    r"|instructions)\b"
    r"|\bdo\s+not\s+(?:tell|inform|alert|mention\s+(?:this|it)\s+to)\s+(?:the\s+)?user\b"
    r"|\b(?:developer|jailbreak|dan|god)\s+mode\s+(?:is\s+)?(?:on|enabled|activated)\b"
    r"|(?:以前|これまで|今まで|上記|前|従来|全て|すべて|既存)の?(?:の?(?:全て|すべて|全部))?の?"
    r"(?:指示|命令|ルール|規則|制約|プロンプト|設定)[^。\n]{0,8}?(?:無視|忘れ|破棄|従わ(?:ない"
    r"|ず)|無効)"
    r"|(?:禁止|制約|ルール|規則|凍結|制限|指示)(?:事項)?(?:は|を)(?:すべて|全て|全部)?無視"
    r"|(?:システム|開発者)(?:プロンプト|メッセージ|指示)\s*[:：を]"
    r"|(?:あなた|君|お前)は(?:今から|これから|いまから|もう)",
    re.IGNORECASE | re.MULTILINE,
)

_RUN_TOGETHER = lazy_pattern(
    r"(?:ignore|disregard|forget|override|overrule|bypass)(?:all|any|every|the|of|my|our|your"
    r"|previous|prior|earlier|above|preceding|existing|these|those|system|safety)*"
    r"(?:instruction|rule|constraint|prompt|polic|guideline|directive|restriction|guardrail|ban)"
    r"|youarenow(?:an?|the|in|free|called|dan|nolonger)|(?:reveal|print|show|repeat|leak)(?:me)?"
    r"(?:your|the)(?:system)?(?:prompt|instructions)",
    re.IGNORECASE,
)
"""The plainest orders, of letters that no blank parts into words any more."""

_NEGATED_BEFORE = lazy_pattern(
    r"(?:\b(?:do|must|may|should|shall|can)\s+not|\b(?:don't|mustn't|shouldn't|can't|cannot)"
    r"|\bnever|\b(?:nobody|no\s+one)\s+(?:may|can|must|should|shall)|\bnot\s+allowed\s+to)"
    r"\s+(?:ever\s+|try\s+to\s+|attempt\s+to\s+)?$",
    re.IGNORECASE,
)
_NEGATED_AFTER = lazy_pattern(
    r"(?:に)?し(?:ない(?:こと|よう|で(?:くだ|下|ね|ほし|[。!\s]|$)|[。!\n]|$)"
    r"|ては(?:いけ(?:ない|ません)|なら|だめ)|ません(?!か))"
    r"|するな(?!ら)|(?:は|を|すること(?:は|を)?)?(?:禁止|厳禁|不可)|(?:は)?でき(?:ない|ません)"
)
_MAY_BE_UPHELD = lazy_pattern(
    r"(?:ignore|disregard|override|overrule|bypass|circumvent)\b|.*(?:無視|破棄|無効)$",
    re.IGNORECASE | re.DOTALL,
)
"""Phrases whose negation upholds the rules; that of "forget" does so only by chance."""

_REACH = 40
"""Characters before a phrase in which its negation is looked for."""


def instruction_like(text: str) -> str | None:
    """The first phrase that orders the reader to drop its rules, change its role or hand out
    secrets, or None.

    Ordinary imperatives ("restart the service") are not such phrases, nor are those that uphold
    the rules ("do not bypass the ban"). Width, zero-width and lookalike tricks are folded, spaced
    letters joined, base64 and hexadecimal read; the phrase is returned as it reads then. Looks at
    MAX_ANALYSED characters.
    """
    folded = skeleton(text)
    return _commands(folded) or _spelled(folded) or _encoded(folded)


def _spelled(folded: str) -> str | None:
    spelled = spelled_out(folded)
    if spelled is None:
        return None
    together = filter(None, map(_RUN_TOGETHER.search, spelled.runs))
    return _commands(spelled.text) or next((found.group() for found in together), None)


def _encoded(folded: str) -> str | None:
    for said in decoded(folded):
        seen = skeleton(said)
        # What is encoded twice was so on purpose, too.
        found = _commands(seen) or next(filter(None, map(_commands, decoded(seen))), None)
        if found:
            return found
    return None


def _commands(folded: str) -> str | None:
    found = _PATTERNS.search(folded)
    while found and _upholds(found, folded):
        # From its second character on, for an order that the harmless phrase may hold.
        found = _PATTERNS.search(folded, found.start() + 1)
    return found.group().strip() if found else exfiltration(folded)


def _upholds(found: re.Match[str], text: str) -> bool:
    """Whether the phrase is denied in the same breath, so that it tells to keep the rules."""
    if not _MAY_BE_UPHELD.match(found.group()):
        return False
    before = text[max(0, found.start() - _REACH) : found.start()]
    return bool(_NEGATED_BEFORE.search(before) or _NEGATED_AFTER.match(text, found.end()))
