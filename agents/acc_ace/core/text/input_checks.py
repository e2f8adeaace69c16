"""Input validation: names of users, sessions and requests, and the budget of x_t."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Attachment, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.arguments import checked
from acc_ace.core.text.normalize import one_line
from acc_ace.errors import InputError, InputTooLargeError

MAX_ID_CHARS: Final = 256
"""Maximum characters of a user id, a session id and an idempotency key."""

MAX_ATTACHMENTS: Final = 32

_LEAST_BOUND: Final = 2 * 1024 * 1024
_CHARS_PER_TOKEN: Final = 16
"""More than any token takes in JSON: four characters, escaped or of four bytes in UTF-8."""


def most_bytes(limits: Limits) -> int:
    """Bytes of the largest x_t with its attachments, and of the largest body: never below 2 MiB."""
    return max(_LEAST_BOUND, _CHARS_PER_TOKEN * limits.input_tokens)


@checked
def check_key(key: SessionKey) -> None:
    """Raise InputError unless user and session have names that every store can distinguish."""
    _check_name("user id", key.user)
    _check_name("session id", key.session)


def _check_name(what: str, name: str) -> None:
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
    """Validate x_t; raises InputError when blank, InputTooLargeError beyond `most_bytes`.

    Attachments count toward that. What is longer than `limits.input_tokens` is read in pieces.

    External callers may have user authority or below, never system.
    """
    if authority is Authority.SYSTEM:
        raise InputError("an input cannot have system authority; use user, tool or retrieved")
    if len(attachments) > MAX_ATTACHMENTS:
        raise InputError(f"{len(attachments)} attachments; at most {MAX_ATTACHMENTS} can be sent")
    texts, most = [text, *(each.text for each in attachments)], most_bytes(limits)
    size = sum(map(len, texts))
    if size > most or (size := sum(len(each.encode("utf-8", "replace")) for each in texts)) > most:
        largest = max(attachments, key=lambda each: len(each.text), default=None)
        beside = f" with attachment '{one_line(largest.source)[:MAX_ID_CHARS]}'" if largest else ""
        raise InputTooLargeError(
            f"the input{beside} has {size:,} bytes or more, at most {most:,} are taken; send "
            "less, store it as a document and ask about it, or raise ACC_ACE_LIMITS__INPUT_TOKENS"
        )
    if not text.strip():
        raise InputError("the input is empty; send some text")
    filled = tuple(
        Attachment(
            text=_encodable(each.text),
            source=one_line(each.source)[:MAX_ID_CHARS] or f"attachment {number}",
        )
        for number, each in enumerate(attachments, start=1)
        if each.text.strip()
    )
    return TurnInput(text=_encodable(text), authority=authority, attachments=filled)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
