"""Ask a model for a value of a schema: validate, repair within bounds, or give up with a word."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from acc_ace.errors import ModelError, ModelOutputError
from acc_ace.text.prompt import Prompt
from acc_ace.turn.completion import Completion

T = TypeVar("T")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A value or None, what the calls cost, and what went wrong on the way."""

    value: T | None
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    warnings: tuple[str, ...] = ()


async def ask(
    completion: Completion,
    prompt: Prompt,
    inputs: Mapping[str, object],
    parse: Callable[[str], T],
    *,
    repairs: int,
) -> Asked[T]:
    """Call, parse, and call again with the reason at most `repairs` times.

    A model that cannot be reached or keeps answering nonsense gives `value=None` and a warning:
    every caller has a last good state to go on with.
    """
    user_text = prompt.render(inputs)
    asked: Asked[T] = Asked(value=None)
    note = ""
    for attempt in range(repairs + 1):
        try:
            reply = await completion.complete(prompt, user_text + note)
        except ModelError as error:
            return _with(asked, warnings=(_named(prompt, str(error)),), calls=1)
        asked = _with(
            asked,
            model=reply.model,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            calls=1,
            warnings=reply.warnings,
        )
        try:
            return _with(asked, value=parse(reply.text))
        except ModelOutputError as error:
            asked = _with(asked, warnings=(_complaint(prompt, error, attempt, repairs),))
            note = _REPAIR_NOTE.format(reason=error)
    return asked


_REPAIR_NOTE = (
    "\nYour last reply could not be used: {reason}. Reply again, only with JSON of the schema."
)


def _named(prompt: Prompt, message: str) -> str:
    """The message with its role in front, once."""
    return message if message.startswith(f"{prompt.name}:") else f"{prompt.name}: {message}"


def _complaint(prompt: Prompt, error: Exception, attempt: int, repairs: int) -> str:
    outcome = "asked again" if attempt < repairs else "given up"
    return f"{prompt.name}: unusable reply ({error}); {outcome}"


def _with(
    asked: Asked[T],
    *,
    value: T | None = None,
    model: str = "",
    tokens_in: int = 0,
    tokens_out: int = 0,
    calls: int = 0,
    warnings: tuple[str, ...] = (),
) -> Asked[T]:
    return Asked(
        value=value,
        model=model or asked.model,
        tokens_in=asked.tokens_in + tokens_in,
        tokens_out=asked.tokens_out + tokens_out,
        calls=asked.calls + calls,
        warnings=(*asked.warnings, *warnings),
    )
