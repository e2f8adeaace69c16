"""Take x_t: who speaks, and whether it can be taken at all."""

import unicodedata

from core.domain.tokens import estimate_tokens
from core.errors import InputError, InputTooLargeError
from schemas.authority import Authority
from schemas.interaction import TurnInput
from schemas.limits import Limits
from schemas.tenancy import SessionKey

MAX_ID_CHARS = 256
"""Of the name of a user or a session."""

_CHARS_PER_TOKEN_AT_MOST = 32
"""Longer than this per token is refused unread: blank padding must not cost a scan of it all."""


def check_key(key: SessionKey) -> None:
    """Raise InputError unless user and session have names that every store can keep apart."""
    for what, name in (("user", key.user), ("session", key.session)):
        if not name or name != name.strip():
            raise InputError(f"the {what} id is blank or has blanks around it; name it without")
        if len(name) > MAX_ID_CHARS:
            raise InputError(
                f"the {what} id has {len(name):,} characters; at most {MAX_ID_CHARS} are taken"
            )
        if any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
            raise InputError(f"the {what} id holds a control character or half a character")


def take_input(text: str, authority: Authority, limits: Limits) -> TurnInput:
    """x_t as a value; raises InputError when blank, InputTooLargeError beyond its budget.

    Callers outside the process may speak as user or below, never as system.
    """
    if authority is Authority.SYSTEM:
        raise InputError("an input cannot speak with system authority; use user, tool or retrieved")
    if len(text) > limits.input_tokens * _CHARS_PER_TOKEN_AT_MOST:
        raise InputTooLargeError(_too_large(f"{len(text):,} characters", limits))
    if not text.strip():
        raise InputError("the input is empty; send some text")
    tokens = estimate_tokens(text)
    if tokens > limits.input_tokens:
        raise InputTooLargeError(_too_large(f"about {tokens:,} tokens", limits))
    return TurnInput(text=text.encode("utf-8", "replace").decode("utf-8"), authority=authority)


def _too_large(size: str, limits: Limits) -> str:
    return (
        f"the input has {size}, the limit is {limits.input_tokens:,} tokens "
        "(ACC_ACE_LIMITS__INPUT_TOKENS); send less, or store it as a document and ask about it"
    )
