"""Take x_t: who speaks, and whether it can be taken at all."""

from core.domain.tokens import estimate_tokens
from core.errors import InputError, InputTooLargeError
from schemas.authority import Authority
from schemas.interaction import TurnInput
from schemas.limits import Limits

_CHARS_PER_TOKEN_AT_MOST = 32
"""Longer than this per token is refused unread: blank padding must not cost a scan of it all."""


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
