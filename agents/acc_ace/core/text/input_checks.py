"""Input validation: names of users, sessions and requests, and the budget of x_t."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Attachment, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.arguments import checked
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputError, InputTooLargeError

MAX_ID_CHARS: Final = 256
"""Maximum characters of a user id, a session id and an idempotency key."""

MAX_ATTACHMENTS: Final = 32

_CHARS_PER_TOKEN_AT_MOST: Final = 32
"""Inputs with more are refused unread: blank padding must not cost a full scan."""


@checked
def check_key(key: SessionKey) -> None:
    """Raise InputError unless user and session have names that every store can distinguish."""
    _check_name("user id", key.user)
    _check_name("session id", key.session)


def _check_name(what: str, name: str) -> None:
    if not isinstance(name, str):
        raise InputError(f"the {what} is {type(name).__name__}, and must be a text")
    if not name or name != name.strip():
        raise InputError(f"the {what} is blank or has surrounding spaces; remove them")
    if len(name) > MAX_ID_CHARS:
        raise InputError(f"the {what} has {len(name):,} characters; the maximum is {MAX_ID_CHARS}")
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
        raise InputError(f"the {what} contains a control character or a lone surrogate")


def check_request_id(name: str) -> None:
    """Raise InputError unless an idempotency key is '' or a name that every store accepts."""
    if name:
        _check_name("idempotency key", name)


@checked
def take_input(
    text: str,
    authority: Authority,
    limits: Limits,
    *,
    attachments: Sequence[Attachment] = (),
) -> TurnInput:
    """Validate x_t; raises InputError when blank, InputTooLargeError beyond its budget.

    Attachments count toward the budget of the input.

    External callers may have user authority or below, never system.
    """
    if authority is Authority.SYSTEM:
        raise InputError("an input cannot have system authority; use user, tool or retrieved")
    if len(text) > limits.input_tokens * _CHARS_PER_TOKEN_AT_MOST:
        raise InputTooLargeError(_too_large(f"{len(text):,} characters", limits))
    if not text.strip():
        raise InputError("the input is empty; send some text")
    tokens = estimate_tokens(text)
    if tokens > limits.input_tokens:
        raise InputTooLargeError(_too_large(f"about {tokens:,} tokens", limits))
    given = _attached(attachments, limits, left=limits.input_tokens - tokens)
    return TurnInput(text=_encodable(text), authority=authority, attachments=given)


def _attached(
    attachments: Sequence[Attachment], limits: Limits, *, left: int
) -> tuple[Attachment, ...]:
    """The non-blank attachments. Raises InputTooLargeError if they do not fit."""
    if len(attachments) > MAX_ATTACHMENTS:
        raise InputError(f"{len(attachments)} attachments; at most {MAX_ATTACHMENTS} can be sent")
    given: list[Attachment] = []
    for number, attachment in enumerate(attachments, start=1):
        source = one_line(attachment.source)[:MAX_ID_CHARS] or f"attachment {number}"
        is_long = len(attachment.text) > limits.input_tokens * _CHARS_PER_TOKEN_AT_MOST
        left -= limits.input_tokens + 1 if is_long else estimate_tokens(attachment.text)
        if left < 0:
            raise InputTooLargeError(
                f"attachment '{source}' ({len(attachment.text):,} characters) leaves the input "
                f"over {limits.input_tokens:,} tokens (ACC_ACE_LIMITS__INPUT_TOKENS); send a "
                "shorter excerpt, or store it as a document and ask about it"
            )
        if attachment.text.strip():
            given.append(Attachment(text=_encodable(attachment.text), source=source))
    return tuple(given)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _too_large(size: str, limits: Limits) -> str:
    return (
        f"the input has {size}, the limit is {limits.input_tokens:,} tokens "
        "(ACC_ACE_LIMITS__INPUT_TOKENS); send less, or store it as a document and ask about it"
    )
