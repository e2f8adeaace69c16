"""Detect prompt injection: text that gives the model orders or requests secrets."""

import re

from acc_ace.core.text.normalize import skeleton
from acc_ace.core.text.obfuscation import decoded, spelled_out
from acc_ace.core.text.patterns import lazy_pattern, remembered

_SEND_BY_WIRE = (
    r"send|e-?mail|mail|forward|post|upload|submit|transmit|paste|copy|share|disclose|leak"
    r"|reveal|export|exfiltrate|dm"
)
_SEND = rf"(?:{_SEND_BY_WIRE}|deliver|report|provide|hand\s+over|give|pass\s+on|pass)"
_DIGITAL = (
    r"(?:(?:api|access|secret|private|ssh|signing|encryption|deploy(?:ment)?|admin|root|service"
    r"|staging|production|prod|database|cloud|master|auth(?:entication)?|bearer|session)"
    r"[\s-]+(?:keys?|tokens?|passwords?|credentials?|secrets?|cookies?)"
    r"|passwords?|passphrases?|credentials?|seed\s+phrases?|recovery\s+codes?"
    r"|environment\s+variables|\.env\b(?:\s+file)?|system\s+prompt)"
)
_ANY_SECRET = rf"(?:{_DIGITAL}|(?:secret|confidential)s?|keys?|tokens?|conversation\s+history)"
_BETWEEN = r"(?:[\w'\"/,&.-]+\s+){0,5}?"
_MAIL = r"[A-Za-z0-9.+-]{1,64}@[A-Za-z0-9-]{1,64}\.\w"
_ADDRESS = (
    rf"(?:https?://|www\.|{_MAIL}|(?:[\w'-]+\s+){{0,3}}?(?:webhook|endpoint|url|e-?mail"
    r"|e-?mail\s+address|address|link|server|pastebin|gist|channel|chat)\b)"
)
_ASKED = (
    r"(?:^[\s\-*•>\d.)]*|[.!?;:,]\s+|\b(?:please|kindly|just|also|then|now|and|you\s+(?:must"
    r"|should)|be\s+sure\s+to|make\s+sure\s+(?:to|you)|remember\s+to"
    r"|(?:can|could|would|will)\s+you|don't\s+forget\s+to|do\s+not\s+forget\s+to),?\s+)"
    r"(?:(?:please|kindly|just|also|then|immediately|directly|first|now|next),?\s+){0,2}"
)
"""Start of a request. "I will send" and "to send" are not requests."""

_ENGLISH = lazy_pattern(
    rf"{_ASKED}(?P<order>{_SEND}\s+{_BETWEEN}(?:{_DIGITAL}\s+{_BETWEEN}(?:to|via|at|into|in)\s+\S+"
    rf"|{_ANY_SECRET}\s+{_BETWEEN}(?:to|via|at|into|in)\s+{_ADDRESS}))",
    re.IGNORECASE | re.MULTILINE,
)
_WHOSE = r"(?:(?:me|us)\s+)?(?:the|your|all|any|its|our)\s+"
_POLITE = lazy_pattern(
    rf"\b(?:please|kindly)\s+(?P<order>{_SEND}\s+{_WHOSE}{_DIGITAL}\b"
    rf"|(?:{_SEND_BY_WIRE})\s+{_WHOSE}(?:\w+\s+)?(?:keys?|tokens?|secrets?)\s+to\b)",
    re.IGNORECASE,
)

_HANDS_OVER = (
    r"(?:送っ|送信し|転送し|投稿し|アップロードし|共有し|教え|メールし|貼り付け|貼っ|知らせ|渡し|提出し"
    r"|出力し|開示し|入力し)て"
)
_ASKS = r"(?:ください|下さい|くれ|ほしい|欲しい|もらえ|いただ|頂|おけ|$|[。！!\n])"
_CREDENTIAL = (
    r"(?:(?:API|秘密|SSH|暗号|アクセス|認証|署名|本番の?|ステージングの?|管理者の?|root)\s*(?:キー|鍵"
    r"|トークン|パスワード)|パスワード|認証情報|資格情報|クレデンシャル|シークレット|アクセストークン"
    r"|環境変数|システムプロンプト|会話履歴|暗証番号)"
)
_JAPANESE = lazy_pattern(
    rf"{_CREDENTIAL}[^。\n]{{0,20}}?を[^。\n]{{0,60}}?{_HANDS_OVER}{_ASKS}"
    rf"|(?:https?://|{_MAIL})[^。\n]{{0,40}}?(?:鍵|キー|トークン|機密)[^。\n]{{0,10}}?を"
    rf"[^。\n]{{0,20}}?{_HANDS_OVER}{_ASKS}"
    rf"|(?:鍵|キー|トークン|機密\w{{0,4}})を[^。\n]{{0,20}}?(?:https?://|{_MAIL})"
    rf"[^。\n]{{0,60}}?{_HANDS_OVER}{_ASKS}",
    re.IGNORECASE | re.MULTILINE,
)
_HINTS = (
    *("key", "token", "password", "passphrase", "credential", "secret", ".env", "environment"),
    *("phrase", "recovery", "prompt", "history", "confidential", "cookie", "鍵", "キー"),
    *("パスワード", "トークン", "情報", "クレデンシャル", "シークレット", "環境変数", "プロンプト"),
    *("履歴", "番号", "機密"),
)
"""Prefilter: without one of these words nothing can match; most texts have none."""

_NEVER = lazy_pattern(
    r"\b(?:never|not|don't|nobody|no\s+one|cannot|can't|mustn't|without|instead\s+of)\b[\w\s,']*$",
    re.IGNORECASE,
)
_DENIAL_REACH = 32


def exfiltration(text: str) -> str | None:
    """The first request to reveal a secret, or None. Takes the skeleton of a text.

    "Never send the key to anyone" does not count.
    """
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return None
    for pattern in (_ENGLISH, _POLITE):
        for match in pattern.finditer(text):
            at = match.start("order")
            if not _NEVER.search(text, max(0, at - _DENIAL_REACH), at):
                return match["order"].strip()
    japanese = _JAPANESE.search(text)
    return japanese.group().strip() if japanese else None


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
"""The most direct orders, for spaced-out letters joined without word breaks."""

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
"""Phrases whose negation upholds the rules, unlike that of "forget"."""

_REACH = 40
"""Characters before a phrase that are searched for its negation."""


@remembered
def instruction_like(text: str) -> str | None:
    """The first phrase that orders the model to drop its rules, change its role or reveal
    secrets, or None.

    Ordinary imperatives ("restart the service") do not count, nor do phrases that uphold the
    rules ("do not bypass the ban"). Width, zero-width and lookalike characters are folded, spaced
    letters joined, base64 and hexadecimal decoded; the phrase is returned in that form. Scans
    MAX_ANALYSED characters.
    """
    folded = skeleton(text)
    return _commands(folded) or _spelled(folded) or _encoded(folded)


def _spelled(folded: str) -> str | None:
    spelled = spelled_out(folded)
    if spelled is None:
        return None
    together = filter(None, map(_RUN_TOGETHER.search, spelled.runs))
    return _commands(spelled.text) or next((match.group() for match in together), None)


def _encoded(folded: str) -> str | None:
    for text in decoded(folded):
        seen = skeleton(text)
        # Double encoding is decoded too.
        command = _commands(seen) or next(filter(None, map(_commands, decoded(seen))), None)
        if command:
            return command
    return None


def _commands(folded: str) -> str | None:
    match = _PATTERNS.search(folded)
    while match and _upholds(match, folded):
        # From its second character, for an order inside the harmless phrase.
        match = _PATTERNS.search(folded, match.start() + 1)
    return match.group().strip() if match else exfiltration(folded)


def _upholds(match: re.Match[str], text: str) -> bool:
    """Whether the phrase is negated, so that it says to keep the rules."""
    if not _MAY_BE_UPHELD.match(match.group()):
        return False
    before = text[max(0, match.start() - _REACH) : match.start()]
    return bool(_NEGATED_BEFORE.search(before) or _NEGATED_AFTER.match(text, match.end()))
