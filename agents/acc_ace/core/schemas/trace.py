"""What the models of a turn were asked and answered, and what became of what was recalled."""

from collections.abc import Iterable

from pydantic import Field

from acc_ace.core.schemas.base import StoredValue, Value
from acc_ace.core.schemas.cost import ModelPrice
from acc_ace.core.schemas.report import TokenUse


class RequestPart(Value):
    """A part of a request, in the words that were sent."""

    kind: str = Field(
        description="'role', 'playbook', 'rules', 'state', 'x_t', 'artifacts', 'tools', 'schema', "
        "'tool_results', 'history', or the name of another input of the prompt."
    )
    text: str = Field(description="Secrets and personal data redacted.")
    cut: int = Field(default=0, description="Characters at its end that are not kept.")


def clipped(parts: Iterable[RequestPart], chars: int) -> list[RequestPart]:
    """The parts, each with a text of at most `chars` characters."""
    return [part if len(part.text) <= chars else _cut(part, chars) for part in parts]


def _cut(part: RequestPart, chars: int) -> RequestPart:
    over = len(part.text) - chars
    return RequestPart(kind=part.kind, text=part.text[:chars], cut=part.cut + over)


class ModelCall(Value):
    """One call of a model: the request in parts, in their order, and the reply."""

    stage: str = Field(description="Role that asked; 'generator' for an agent with the plugin.")
    agent: str = Field(default="", description="Name of that agent, with the plugin.")
    model: str = Field(description="Model that answered; empty if none did.")
    parts: tuple[RequestPart, ...]
    reply: str = Field(description="Text and tool calls of the reply, redacted.")
    tokens: TokenUse = Field(description="As the provider counts them, failed attempts included.")
    seconds: float
    price: ModelPrice | None = Field(default=None, description="List price; null if unknown.")
    error: str = Field(default="", description="Why there is no reply.")


class RecalledCandidate(Value):
    """A candidate of recall, with the gate's verdict, and whether the state refers to it."""

    artifact_id: str
    kind: str
    source: str
    score: float
    why: tuple[str, ...] = Field(default=(), description="What it matched.")
    ok: bool | None = Field(description="Whether it qualified; null where nothing judged it.")
    reason: str
    detail: str = ""
    in_state: bool = Field(description="Whether the state after the turn refers to it.")


class TurnTrace(StoredValue):
    """The model calls and the candidates of one run of a turn, or later calls of it."""

    turn: int
    invocation_id: str
    run: str = Field(
        description="Id of the run, with the number of its calls that are kept before."
    )
    calls: tuple[ModelCall, ...] = ()
    candidates: tuple[RecalledCandidate, ...] = ()
