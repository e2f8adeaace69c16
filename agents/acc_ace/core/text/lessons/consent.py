"""Whether a lesson speaks of rules, consent or approvals: English and Japanese."""

from acc_ace.core.text.normalize import skeleton
from acc_ace.core.text.patterns import lazy_pattern

_CONSENT = lazy_pattern(
    r"\b(?:rules?|constraints?|restrictions?|bans?|prohibit\w*|forbid\w*|forbade|permission\w*"
    r"|permit(?:s|ted)?|consent\w*|approv\w+|authori[sz]\w+|sign(?:ed|s)?[- ]?offs?|confirmations?"
    r"|polic(?:y|ies)|standing orders?|allowed|exempt\w*|exceptions?|supervis\w+"
    r"|without (?:first )?(?:a |any )?(?:ask|check|confirm|approv|question|notice)\w*"
    r"|(?:never|not|n't|no need to|stop|skip) ask(?:s|ing)?)\b"
    r"|ルール|規則|規定|決まり|制約|制限|禁[止じ]|許可|承認|承諾|同意|了承|決裁|認可|権限|方針|例外|無断"
    r"|確認(?:は|を)?(?:なし|無し|不要)|相談(?:は|を)?(?:なし|無し|せず|不要|しな)|(?:聞か|尋ね)(?:ず|な)"
)


def speaks_of_consent(text: str) -> bool:
    """Whether a text names a rule, a consent or an approval, or doing without; folded as seen."""
    return _CONSENT.search(skeleton(text).casefold()) is not None
