"""Call a model for a value of a schema: validate, repair a bounded number of times, or give up.

The prompts of the stages are read from `prompts/*.md`; state and artifacts are rendered in them
within bounds, without fields that a decision never needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Generic, Protocol, TypeVar, cast

from pydantic import BaseModel

from acc_ace.core.gates.ccs_budget import render_ccs
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import EntryReply, ReplyValue
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.schemas.trace import ModelCall, RequestPart
from acc_ace.core.text.prompt import Lines, Prompt, load_prompt
from acc_ace.core.text.redaction import request_parts
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import ModelError, ModelOutputError


@dataclass(frozen=True)
class Reply:
    """A model's complete reply and its token use."""

    text: str
    model: str = ""
    endpoint: str = ""
    """Where the model was asked: host and port, or the provider; empty if unknown."""
    use: TokenUse = field(default_factory=TokenUse)
    warnings: tuple[str, ...] = ()
    request: tuple[RequestPart, ...] = ()
    """The final request, where the completion knows it."""


class Completion(Protocol):
    """Call the model of one role with its output schema."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """Make one call. Raises ModelError if the model does not answer."""
        ...


T = TypeVar("T")


@dataclass(frozen=True)
class StructuredResult(Generic[T]):
    """A value or None, the cost of the calls, warnings, and the calls themselves."""

    value: T | None
    model: str = ""
    endpoint: str = ""
    use: TokenUse = field(default_factory=TokenUse)
    warnings: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()

    def plus(
        self,
        *,
        value: T | None = None,
        model: str = "",
        endpoint: str = "",
        use: TokenUse,
        warnings: Sequence[str],
        calls: Sequence[ModelCall] = (),
    ) -> "StructuredResult[T]":
        """What it is after another call: the newest value and model, the sum of the rest."""
        return StructuredResult(
            value=self.value if value is None else value,
            model=model or self.model,
            endpoint=endpoint if model else self.endpoint,
            use=self.use + use,
            warnings=(*self.warnings, *warnings),
            calls=(*self.calls, *calls),
        )


async def structured_call(
    completion: Completion,
    prompt: Prompt,
    inputs: Mapping[str, object],
    parse: Callable[[str], T],
    *,
    repairs: int,
) -> StructuredResult[T]:
    """Call and parse; on an unusable reply call again with the reason, at most `repairs` times.

    Of a reply with unreadable entries only these are asked for again; the rest is kept. If the
    model is unreachable or its replies stay unusable, returns what was kept, or `value=None`, and
    a warning: every caller has a last good state to fall back to.
    """
    user_text = prompt.render(inputs)
    total: StructuredResult[T] = StructuredResult(value=None)
    note = ""
    for attempt in range(repairs + 1):
        sent, started = user_text + note, perf_counter()
        try:
            reply = await completion.complete(prompt, sent)
        except ModelError as error:
            spent = TokenUse.model_validate(error.spent)
            call = _call(prompt, sent, Reply("", use=spent), started, error=str(error))
            return total.plus(use=spent, warnings=[_named(prompt, str(error))], calls=[call])
        call = _call(prompt, sent, reply, started)
        total = total.plus(
            model=reply.model,
            endpoint=reply.endpoint,
            use=reply.use,
            warnings=reply.warnings,
            calls=[call],
        )
        reason: object
        try:
            total = replace(total, value=_with_entries(total.value, parse(reply.text)))
            if not (reason := "; ".join(_unreadable(total.value))):
                return total
            note = _ENTRIES_NOTE.format(entries=reason)
        except ModelOutputError as error:
            reason = error
            note = note if total.value is not None else _REPAIR_NOTE.format(reason=error)
        complaint = _complaint(prompt, reason, attempt, repairs)
        total = total.plus(use=TokenUse(failed=1), warnings=[complaint])
    return total


_REPAIR_NOTE = (
    "\nYour last reply could not be used: {reason}. Reply again, only with JSON of the schema."
)
_ENTRIES_NOTE = (
    "\nOf your last reply these entries could not be used, all else is kept: {entries}. Reply "
    "again, only with JSON of the schema, with these entries put right and nothing else."
)


def _unreadable(value: object) -> list[str]:
    return value.unreadable if isinstance(value, EntryReply) else []


def _with_entries(earlier: T | None, fresh: T) -> T:
    """What was kept, with the entries of the reply that puts some right, if it has any."""
    if not (isinstance(earlier, EntryReply) and isinstance(fresh, EntryReply)):
        return fresh
    more: dict[str, object] = {}
    for name, entries in fresh:
        if isinstance(entries, list | tuple) and any(isinstance(e, ReplyValue) for e in entries):
            known = getattr(earlier, name) or ()
            more[name] = type(entries)([*known, *(e for e in entries if e not in known)])
    unreadable = fresh.unreadable if more or fresh.unreadable else earlier.unreadable
    return cast("T", earlier.model_copy(update={**more, "unreadable": unreadable}))


def _call(prompt: Prompt, sent: str, reply: Reply, started: float, error: str = "") -> ModelCall:
    return ModelCall(
        stage=prompt.name,
        model=reply.model,
        parts=reply.request or (RequestPart(kind="role", text=prompt.text), *request_parts(sent)),
        reply=reply.text,
        tokens=reply.use,
        seconds=perf_counter() - started,
        error=error,
    )


def _named(prompt: Prompt, message: str) -> str:
    """The message prefixed with its role, unless it has that prefix."""
    return message if message.startswith(f"{prompt.name}:") else f"{prompt.name}: {message}"


def _complaint(prompt: Prompt, error: object, attempt: int, repairs: int) -> str:
    outcome = "asked again" if attempt < repairs else "given up"
    return f"{prompt.name}: unusable reply ({error}); {outcome}"


V = TypeVar("V", bound=BaseModel)


def parser(schema: type[V]) -> Callable[[str], V]:
    """A parser of replies of one class; it raises a ModelOutputError that names the field."""
    return partial(read_reply, schema)


PROMPT_DIR = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompts:
    """One prompt for each agent that calls a model."""

    qualifier: Prompt
    compressor: Prompt
    generator: Prompt
    small_generator: Prompt
    summarizer: Prompt
    extractor: Prompt
    reflector: Prompt
    curator: Prompt
    guard: Prompt

    def digests(self) -> dict[str, str]:
        """Content hash of each prompt, by agent."""
        return {name: getattr(self, name).digest for name in self.__dataclass_fields__}


@lru_cache(maxsize=4)
def load_prompts(directory: Path = PROMPT_DIR) -> Prompts:
    """Read all prompts; raises PromptError that names the file at fault."""
    return Prompts(
        **{name: load_prompt(directory / f"{name}.md") for name in Prompts.__dataclass_fields__}
    )


def state_value(state: CommittedState, subjects: Sequence[str] = ()) -> Lines:
    """The nine fields, each constraint with its id, and the number of the turn.

    `subjects` are those of which something is known of the user.
    """
    about_user = f"\nabout_user: {', '.join(subjects)}" if subjects else ""
    return Lines(f"{render_ccs(state)}\nturn: {state.turn}{about_user}")


def input_value(turn_input: TurnInput) -> dict[str, object]:
    """x_t with its authority."""
    return turn_input.model_dump(mode="json")


def artifact_values(artifacts: Sequence[Artifact], max_tokens: int) -> list[dict[str, object]]:
    """Artifacts as quoted data, each cut to its budget, in few words: they are most of a prompt."""
    return [
        {
            "artifact_id": artifact.artifact_id,
            "kind": artifact.kind,
            **({} if artifact.source == artifact.kind else {"source": artifact.source}),
            "day": f"{artifact.created_at:%Y-%m-%d}",
            "content": clip_tokens(artifact.content, max_tokens),
        }
        for artifact in artifacts
    ]
