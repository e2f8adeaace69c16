"""Find words that ask the reader of quoted data to hand out secrets, however politely.

A secret alone, or sending alone, is everyday talk. Found is only an order or a request that sends
a secret somewhere: to an address, or a secret that has no other reading than a credential.
"""

import re

from acc_ace.text.patterns import lazy_pattern

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
"""Where a request begins. "I will send" and "to send" are none."""

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
"""Without one of these nothing can be found; most texts have none."""

_NEVER = lazy_pattern(
    r"\b(?:never|not|don't|nobody|no\s+one|cannot|can't|mustn't|without|instead\s+of)\b[\w\s,']*$",
    re.IGNORECASE,
)
_REACH = 32


def exfiltration(text: str) -> str | None:
    """The first request to hand out a secret, or None. Takes the skeleton of a text.

    "Never send the key to anyone" is none.
    """
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return None
    for pattern in (_ENGLISH, _POLITE):
        for found in pattern.finditer(text):
            at = found.start("order")
            if not _NEVER.search(text, max(0, at - _REACH), at):
                return found["order"].strip()
    japanese = _JAPANESE.search(text)
    return japanese.group().strip() if japanese else None
