"""Classify a failed model call: which error it is, and whether a retry may help.

Every client spells its errors in its own way, so the HTTP status, the wait that the server asks
for and network failures are each looked for in all the known places. A reply that came, but holds
no answer, is a failure too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types
from google.genai.errors import APIError

from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.redaction import redact
from acc_ace.errors import AccAceError, ModelError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.reply_bounds import use_of

MAX_WAIT_S = 30.0
"""Longest wait between two tries; a server that asks for more is not asked again by this call."""

EXHAUSTED_S = 3_600.0
"""Seconds to wait for a quota that does not come back soon, whatever RetryInfo says of it."""

_EXHAUSTED = re.compile(r"PerDay|PerMonth|insufficient_quota")
"""In the name of such a quota."""

_ONE_FAILED = TokenUse(calls=1, failed=1)

RETRIED_STATUS = frozenset({408, 429, 500, 502, 503, 504, 529})
"""HTTP statuses worth a retry."""

RATE_LIMITS = frozenset({429, 529})
"""HTTP statuses of rate limiting."""

REFUSALS = frozenset(
    {
        types.FinishReason.SAFETY,
        types.FinishReason.RECITATION,
        types.FinishReason.BLOCKLIST,
        types.FinishReason.PROHIBITED_CONTENT,
        types.FinishReason.SPII,
        types.FinishReason.IMAGE_SAFETY,
        types.FinishReason.IMAGE_PROHIBITED_CONTENT,
        types.FinishReason.IMAGE_RECITATION,
    }
)
"""Finish reasons that mean: the model will not answer this."""

_NETWORK = {
    "httpx": {"TransportError"},
    "httpx2": {"TransportError"},
    "httpcore": {"NetworkError", "TimeoutException", "ProtocolError"},
    "aiohttp": {"ClientConnectionError", "ClientPayloadError"},
}
"""Base classes of network failures by package; the packages need not be installed."""

_READ = 4_000
_SHOWN = 300
"""Characters of a foreign message that go into ours."""


@dataclass(frozen=True)
class Failure:
    """One failed attempt: the error to raise in the end, and what to do until then."""

    error: AccAceError
    retriable: bool = False
    may_fall_back: bool = True
    retry_after_s: float | None = None
    reason: str = ""
    """What happened, to be read behind "it"."""
    is_cut: bool = False
    """Whether the reply ended at its limit, so that more room may help."""
    is_timeout: bool = False
    use: TokenUse = _ONE_FAILED
    """What the try took."""


class NoAnswer(Exception):
    """Signals a failed try inside one call; carries the failure and never reaches a caller."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


def failure_of(error: Exception, *, model: str, role: str, is_local: bool = False) -> Failure:
    """Classify an exception of a model call.

    429, 5xx, timeouts and network failures are ModelUnavailable and may be retried, unless the
    server asks for a wait of more than MAX_WAIT_S, or a model of this machine was too slow; other
    statuses are ModelRefused; what cannot be read is ModelOutputError. Errors of ours stay what
    they are: a ConfigError or InputError is not the model's fault, so no other model is asked.
    """
    failure = _failure(error, f"{role}: model {model}")
    return replace(failure, retriable=False) if is_local and failure.is_timeout else failure


def _failure(error: Exception, who: str) -> Failure:
    if isinstance(error, ModelUnavailable):
        wait = retry_after_s(error.__cause__)
        asking = ModelUnavailable(f"{error}{asks(wait)}")
        failure = _unavailable(asking if asks(wait) else error, f"failed: {error}", wait)
        return replace(failure, use=TokenUse.model_validate(error.spent))
    if isinstance(error, ModelError):
        return Failure(error, use=TokenUse.model_validate(error.spent))
    if isinstance(error, AccAceError):
        return Failure(error, may_fall_back=False)
    return _foreign_failure(who, error)


def problem_of(response: LlmResponse, *, model: str, role: str) -> Failure | None:
    """What is wrong with a whole (not partial) reply, or None when it holds a whole answer."""
    who = f"{role}: model {model}"
    reason = response.finish_reason
    use = use_of(response) + TokenUse(failed=1)
    blocked_prompt = bool(response.error_code) and reason is None
    if blocked_prompt or reason in REFUSALS:
        code = reason.name if reason else str(response.error_code)
        text = f"{who} refused to answer ({code}){_detail(response)}"
        return Failure(ModelRefused(text), may_fall_back=False, use=use)
    if reason is types.FinishReason.MAX_TOKENS:
        text = f"{who} spent max_output_tokens before it answered; raise max_output_tokens"
        return Failure(ModelOutputError(text), is_cut=True, use=use)
    if has_answer(response):
        return None
    reported = f" ({reason.name})" if reason else ""
    text = f"{who} gave an empty reply{reported}{_detail(response)}"
    return Failure(ModelOutputError(text), retriable=True, use=use)


def has_answer(response: LlmResponse) -> bool:
    """Whether a reply holds text that is not blank and no mere thought, or any other part."""
    parts = (response.content.parts if response.content else None) or []
    return any(
        bool(part.text.strip()) if part.text is not None else part != types.Part()
        for part in parts
        if not part.thought
    )


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status that an error carries, or None."""
    if isinstance(error, APIError):
        return error.code
    for owner in (error, getattr(error, "response", None)):
        status = getattr(owner, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def is_rate_limit(error: BaseException) -> bool:
    """Whether an error, or its cause, is rate limiting."""
    return any(status_of(reported) in RATE_LIMITS for reported in (error, error.__cause__))


def retry_after_s(error: BaseException | None) -> float | None:
    """Seconds that the server asks to wait, from its Retry-After header or Google's RetryInfo.

    A date in the header is taken relative to the server's own Date, so no clock is needed. Of a
    quota of a day RetryInfo may name seconds: it is waited for EXHAUSTED_S at least.
    """
    headers = getattr(getattr(error, "response", None), "headers", None)
    wait = _header_wait(headers) if isinstance(headers, Mapping) else None
    wait = _retry_info(error) if wait is None else wait
    if _EXHAUSTED.search(f"{quota_of(error)} {error}"[:_READ]):
        return max(wait or 0.0, EXHAUSTED_S)
    return wait


def quota_of(error: BaseException | None) -> str:
    """The name and limit of the quotas that Google says are used up; '' without any."""
    violations = (
        violation for item in _google_details(error) for violation in _dicts(item.get("violations"))
    )
    names = (
        f"{item.get('quotaId') or item.get('quotaMetric')} (limit {item.get('quotaValue', '?')})"
        for item in violations
        if item.get("quotaId") or item.get("quotaMetric")
    )
    return ", ".join(dict.fromkeys(names))[:_SHOWN]


def is_network_error(error: BaseException) -> bool:
    """Whether the server could not be reached or the connection broke."""
    if isinstance(error, OSError):
        return True
    return any(
        base.__name__ in _NETWORK.get(base.__module__.partition(".")[0], ())
        for base in type(error).__mro__
    )


def shown(error: BaseException) -> str:
    """An error in one bounded line, without the key or address that servers like to echo."""
    text = _reported(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _foreign_failure(who: str, error: Exception) -> Failure:
    """Classify an error of a client library."""
    if isinstance(error, TimeoutError):
        reason = str(error) or "did not answer in time"
        return _unavailable(ModelUnavailable(f"{who} {reason}"), reason, is_timeout=True)
    status = status_of(error)
    if status is not None:
        return _http_failure(who, status, error)
    if is_network_error(error):
        reason = f"cannot be reached: {shown(error)}"
        is_timeout = "Timeout" in type(error).__name__
        return _unavailable(ModelUnavailable(f"{who} {reason}"), reason, is_timeout=is_timeout)
    return Failure(ModelOutputError(f"{who} gave a reply that cannot be read: {shown(error)}"))


def _http_failure(who: str, status: int, error: Exception) -> Failure:
    if status in RETRIED_STATUS or status >= 500:
        wait, quota = retry_after_s(error), quota_of(error)
        answered = f"answered HTTP {status}"
        reason = f"{answered}: no quota left, {quota}" if quota else f"{answered}: {shown(error)}"
        return _unavailable(ModelUnavailable(f"{who} {reason}{asks(wait)}"), reason, wait)
    text = f"{who} answered HTTP {status}: {shown(error)}"
    return Failure(ModelRefused(f"{text}{_HINTS.get(status, '')}"))


def _unavailable(
    error: ModelUnavailable, reason: str, wait: float | None = None, *, is_timeout: bool = False
) -> Failure:
    """A failure that a retry may mend, unless it has to wait for long."""
    soon = wait is None or wait <= MAX_WAIT_S
    return Failure(error, retriable=soon, retry_after_s=wait, reason=reason, is_timeout=is_timeout)


def asks(wait: float | None) -> str:
    """What is said of a server that asks for a long wait; '' without one."""
    return "" if wait is None or wait <= MAX_WAIT_S else f"; it asks to wait for {wait:g} s"


_HINTS = {
    401: ". Check the key.",
    403: ". Check the key and what it may use.",
    404: ". Check the model's name.",
}


def _detail(response: LlmResponse) -> str:
    return f": {_reported(response.error_message)}" if response.error_message else ""


def _reported(text: str) -> str:
    return redact(" ".join(text[:_READ].split()))[:_SHOWN]


def _header_wait(headers: Mapping[str, Any]) -> float | None:
    value = str(headers.get("retry-after", "")).strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        sent = parsedate_to_datetime(str(headers.get("date", "")))
        return max(0.0, (until - sent).total_seconds())
    except (TypeError, ValueError):
        # No date either, or one without a time zone: as if the header were not there.
        return None


def _retry_info(error: BaseException | None) -> float | None:
    for item in _google_details(error):
        delay = item.get("retryDelay")
        if isinstance(delay, str) and re.fullmatch(r"\d{1,9}(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _google_details(error: BaseException | None) -> Iterator[dict[str, Any]]:
    """The details of an error of Google's, such as RetryInfo and QuotaFailure."""
    details = getattr(error, "details", None)
    body = details.get("error", details) if isinstance(details, dict) else None
    yield from _dicts(body.get("details") if isinstance(body, dict) else None)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
