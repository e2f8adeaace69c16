"""Find and redact secrets and personal data in text, and in the parts of a request to a model.

Well-known patterns only (keys of large vendors, tokens, labelled passwords, private keys, e-mail
addresses, phone and card numbers). It screens lessons and does not classify all personal data:
names and postal addresses pass.

Japanese has no spaces, so a number or a key may be next to a letter. With `re.ASCII`, "\\b" and
"\\w" end a word where ASCII ends.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from acc_ace.core.schemas.trace import RequestPart, clipped
from acc_ace.core.text.patterns import lazy_pattern

SCANNED_CHARACTERS = 100_000
"""Maximum characters scanned; `redact` cuts off the rest, so no unscanned text is written."""


class FindingKind(StrEnum):
    """Why a span must not be stored."""

    SECRET = "secret"  # noqa: S105 (a reason code, not a password)
    PII = "pii"


@dataclass(frozen=True)
class Finding:
    """A span of a text that must not be stored: `text[start:end]`."""

    kind: FindingKind
    label: str
    start: int
    end: int


@dataclass(frozen=True)
class _Pattern:
    kind: FindingKind
    label: str
    regex: re.Pattern[str]
    needles: tuple[str, ...] = ("",)
    """Folded texts, one of which every match holds: looking for them first takes a tenth."""


_LABEL = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_ -]?key|access[_ -]?key|auth[_ -]?token|token"
    r"|credentials?|パスワード|暗証番号|秘密鍵|認証情報|トークン|APIキー)"
)
_JAPANESE = r"[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]"
_MAIL = rf"(?:(?!{_JAPANESE})[\w.+-])"
_HOST = rf"(?:(?!{_JAPANESE})[\w-])"
_VALUE = r"[\"'`「]?(?=[^\s\"'`」]*[\d!@#$%^&*_+=/-])[^\s\"'`」、。]{6,}"


# No "i" in what stands for a label: `re.IGNORECASE` knows more forms of it than folding does.
_LABELS = (
    *("pass", "pwd", "secret", "key", "token", "credent"),
    *("パスワード", "暗証番号", "秘密鍵", "認証情報", "トークン", "キー"),
)


def _secret(label: str, regex: str, *needles: str, flags: int = re.ASCII) -> _Pattern:
    return _Pattern(FindingKind.SECRET, label, lazy_pattern(regex, flags), needles)


def _pii(label: str, regex: str, *needles: str, flags: int = 0) -> _Pattern:
    return _Pattern(FindingKind.PII, label, lazy_pattern(regex, flags), needles or ("",))


_PATTERNS: tuple[_Pattern, ...] = (
    _secret(
        "private key",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.{0,8000}?-----END [A-Z ]{0,40}PRIVATE KEY-----"
        r"|.*)",
        "-----begin ",
        flags=re.DOTALL,
    ),
    _secret("google key", r"\bAIza[\w-]{30,}", "aiza"),
    _secret("aws key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "akia", "asia"),
    _secret(
        "api key",
        r"\b(?:sk|pk|rk)[-_](?:[a-z]{2,10}[-_])*[A-Za-z0-9_-]{16,}",
        *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"),
    ),
    _secret("github token", r"\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,})", "gh", "github"),
    _secret("hugging face token", r"\bhf_[A-Za-z0-9]{20,400}", "hf_"),
    _secret("gitlab token", r"\bglpat-[\w-]{16,}", "glpat-"),
    _secret("slack token", r"\bxox[abeprs]-[\w-]{10,}", "xox"),
    _secret("jwt", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", "eyj"),
    _secret(
        "bearer token",
        r"\bbearer\s+[\w.~+/-]{16,}=*",
        "bearer",
        flags=re.ASCII | re.IGNORECASE,
    ),
    _secret(
        "url password",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:[^\s/@]{1,200}@",
        "://",
        flags=re.ASCII | re.IGNORECASE,
    ),
    _secret(
        "password",
        rf"{_LABEL}\s*(?:\bis\b|[:=：＝は])\s*{_VALUE}",
        *_LABELS,
        flags=re.IGNORECASE,
    ),
    _secret(
        "password",
        r"(?:password|passwd|passphrase|pwd|パスワード)\s*[:=：＝]\s*[^\s、。]{4,}",
        *("pass", "pwd", "パスワード"),
        flags=re.IGNORECASE,
    ),
    _pii("e-mail", rf"{_MAIL}{{1,64}}@{_HOST}{{1,63}}(?:\.{_HOST}{{1,63}}){{1,8}}", "@"),
    # A Japanese name before or after the '@'.
    _pii("e-mail", rf"[\w.+-]{{0,63}}{_JAPANESE}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}", "@"),
    _pii(
        "e-mail",
        rf"{_MAIL}{{1,64}}@{_HOST}{{0,62}}{_JAPANESE}[\w-]{{0,62}}(?:\.[\w-]{{1,63}}){{1,8}}",
        "@",
    ),
    _pii("card number", r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])", flags=re.ASCII),
    _pii(
        "phone number",
        r"(?<![\w.-])(?:\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?\d{1,4}(?:[ -]?\d{2,4}){2,3}"
        r"|\(\d{2,4}\)[ -]?\d{2,4}-\d{3,4}"
        r"|0\d{1,4}-\d{1,4}-\d{3,4}"
        r"|0[5789]0\d{8}"
        r"|\d{3}[-. ]\d{3}[-. ]\d{4})(?![\w-])",
        flags=re.ASCII,
    ),
)


def find_sensitive(text: str) -> tuple[Finding, ...]:
    """Secrets and personal data in a text, by position, without overlaps."""
    return _findings(text[:SCANNED_CHARACTERS], _PATTERNS)


def _findings(scanned: str, patterns: Iterable[_Pattern]) -> tuple[Finding, ...]:
    folded = scanned.casefold()
    findings = [
        Finding(pattern.kind, pattern.label, match.start(), match.end())
        for pattern in patterns
        if any(needle in folded for needle in pattern.needles)
        for match in pattern.regex.finditer(scanned)
        if pattern.label != "card number" or _luhn(match[0])
    ]
    return _without_overlaps(findings)


def redact(text: str) -> str:
    """The text with every finding replaced by '[redacted: label]'."""
    scanned = text[:SCANNED_CHARACTERS]
    return _replaced(scanned, _findings(scanned, _PATTERNS), "[redacted: ")


# What is screened above may be left out of a lesson; what is masked below is lost for good. So here
# are keys by the forms that vendors give them, and labelled values that are no words, no calls of a
# program, no addresses and no names of variables. Every repetition is bounded: texts are long.
_PHRASE = r"(?:password|passwd|passphrase|pwd|パスワード|暗証番号)"
_KEY = (
    r"(?:secret|api[_ -]?key|access[_ -]?key|auth[_ -]?token|token|credentials?"
    r"|秘密鍵|認証情報|トークン|APIキー)"
)
_IS = r"[\"']?\s{0,4}(?:\bis\b|[:=：＝は])\s{0,4}[\"'`「]?"
_NO_NAME = r"(?![$<{%]|\w{1,20}://)(?=\S{0,200}[A-Za-z])(?=\S{0,200}\d)"
_SIGNS = r"[A-Za-z0-9!#$%&*+./:<=>?@^_~|-]"


def _labelled(name: str, label: str, least: int) -> _Pattern:
    value = rf"{_SIGNS}{{{least},200}}+(?<![.:?])(?![(\[])"
    regex = rf"{label}{_IS}{_NO_NAME}{value}"
    return _secret(name, regex, *_LABELS, "暗証番号", flags=re.IGNORECASE | re.ASCII)


_STORED: Final = (
    *(
        each
        for each in _PATTERNS
        if each.kind is FindingKind.SECRET and each.label not in {"password", "api key", "jwt"}
    ),
    _secret("jwt", r"(?<![\w-])eyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]{0,4000}", "eyj"),
    _secret(
        "api key",
        r"\b(?:sk-(?=[\w-]{0,200}\d)[\w-]{16,400}|(?:sk|pk|rk)_(?:live|test)_\w{10,400})",
        *("sk-", "sk_", "pk_", "rk_"),
    ),
    _labelled("password", _PHRASE, 8),
    _labelled("key", _KEY, 16),
)
_MASK: Final = "[secret masked: "


@lru_cache(maxsize=32)
def mask_secrets(text: str) -> str:
    """The whole text with every secret replaced by '[secret masked: label]'."""
    return _replaced(text, _findings(text, _STORED), _MASK)


def mask_values(value: Any) -> Any:  # noqa: ANN401 - JSON of tools and of ADK
    """The value with the texts in it masked, at any depth."""
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, dict):
        return {name: mask_values(each) for name, each in value.items()}
    if isinstance(value, list):
        return [mask_values(each) for each in value]
    return value


def stands_for(text: str, whole: str) -> bool:
    """Whether a stored text is of a whole one: the same, but for masks."""
    return text == whole or (_MASK in text and text == mask_secrets(whole))


def _replaced(text: str, findings: Iterable[Finding], begin: str) -> str:
    parts: list[str] = []
    at = 0
    for finding in findings:
        parts += [text[at : finding.start], f"{begin}{finding.label}]"]
        at = finding.end
    return "".join([*parts, text[at:]])


def _without_overlaps(findings: list[Finding]) -> tuple[Finding, ...]:
    # The longest finding hides others with the same start.
    result: list[Finding] = []
    for finding in sorted(findings, key=lambda item: (item.start, -item.end)):
        if not result or finding.start >= result[-1].end:
            result.append(finding)
        elif finding.end > result[-1].end:
            last = result.pop()
            result.append(Finding(last.kind, last.label, last.start, finding.end))
    return tuple(result)


def _luhn(text: str) -> bool:
    """Whether the digits pass the Luhn check of payment cards."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_BLOCK = lazy_pattern(r'<input name="([a-z][a-z0-9_]{0,63})">.*?</input>', re.DOTALL)
_KINDS: Final = {
    "previous_state": "state",
    "current_input": "x_t",
    "earlier_input": "history",
    "candidates": "artifacts",
}
"""Kinds of parts whose inputs have other names."""


def request_parts(text: str) -> list[RequestPart]:
    """Cut a request at its blocks; what is beside them is 'role', but for blank lines.

    No value can close a block, so the cuts are those that `write_input` made.
    """
    return [*_parts(text)]


def _parts(text: str) -> Iterator[RequestPart]:
    at = 0
    for block in _BLOCK.finditer(text):
        if text[at : block.start()].strip():
            yield RequestPart(kind="role", text=text[at : block.start()])
        yield from _block_parts(_KINDS.get(block[1], block[1]), block[0])
        at = block.end()
    if text[at:].strip():
        yield RequestPart(kind="role", text=text[at:])


def _block_parts(kind: str, block: str) -> Iterator[RequestPart]:
    """A block as one part, the rules of a state before the rest of it."""
    rules, goal, rest = block.partition("\ngoal_orientation: ")
    if kind == "state" and goal:
        yield RequestPart(kind="rules", text=rules)
        yield RequestPart(kind="state", text=goal + rest)
    else:
        yield RequestPart(kind=kind, text=block)


_LASTING: Final = frozenset({"role", "tools", "schema"})
"""Kinds of parts that are the same from turn to turn."""

_MARGIN: Final = 8_000
"""Characters read beyond those that are kept: a secret that is cut is not known as one."""


def redacted_parts(parts: Iterable[RequestPart], chars: int) -> list[RequestPart]:
    """Parts of requests, redacted, each with at most `chars` characters."""
    return [
        _lasting_part(part, chars) if part.kind in _LASTING else _redacted_part(part, chars)
        for part in parts
    ]


def _redacted_part(part: RequestPart, chars: int) -> RequestPart:
    scanned = chars + _MARGIN
    over = max(0, len(part.text) - scanned)
    text = redact(part.text[:scanned])
    return clipped([RequestPart(kind=part.kind, text=text, cut=over)], chars)[0]


_lasting_part = lru_cache(maxsize=64)(_redacted_part)
