"""Screen the text of a bullet, independent of the playbook's content."""

import re
from functools import lru_cache

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import skeleton
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.redaction import find_sensitive
from acc_ace.core.text.tokens import estimate_tokens

SHORT_CHARACTERS = 64
"""Results for texts up to this length are cached: headings repeat with every lesson."""

CHARACTERS_PER_TOKEN = 32
"""Characters per token of the budget above which a text is too long without counting tokens."""

_DELIMITER = lazy_pattern(
    r"<\|[^|]{1,40}\|>|</?(?:system|assistant|user|developer|instructions?)\b[^>]{0,40}>"
    r"|\[/?INST\]|^\s*#{0,6}\s*(?:system|assistant|developer)\s*[:：]"
    r"|\bhelpful\s*=\s*\d+\s+harmful\s*=\s*\d+",
    re.IGNORECASE,
)


def rejection_reason(text: str, *, max_tokens: int) -> str | None:
    """Why a one-line text is rejected ('empty', 'too_long', 'secret', ...), or None."""
    return (_cached if len(text) <= SHORT_CHARACTERS else _reason)(text, max_tokens)


def _reason(text: str, max_tokens: int) -> str | None:
    if not text:
        return "empty"
    if len(text) > CHARACTERS_PER_TOKEN * max_tokens or estimate_tokens(text) > max_tokens:
        return "too_long"
    seen = skeleton(text)
    findings = find_sensitive(text) or (find_sensitive(seen) if seen != text else ())
    if findings:
        return findings[0].kind.value
    if _DELIMITER.search(seen) or instruction_like(text):
        return "instruction_like"
    return None


_cached = lru_cache(maxsize=4_096)(_reason)
