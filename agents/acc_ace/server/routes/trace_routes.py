"""Routes that show a turn from the inside: what models saw, what was recalled, the state after."""

from typing import Annotated, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.schemas.trace import ModelCall, RecalledCandidate, TurnTrace
from acc_ace.errors import NotFoundError
from acc_ace.server.routes.session_routes import MOST_VERSIONS, Version
from acc_ace.server.server_context import Context, Key, ServerContext
from acc_ace.turn.feedback_record import committed_turn
from acc_ace.turn.turn_trace import joined, part_costs, reply_usd

router = APIRouter(prefix="/v1/sessions/{session}/turns/{turn}", tags=["sessions"])

Turn = Annotated[int, Path(ge=1, le=MOST_VERSIONS, description="Number of the turn.")]


class PartView(BaseModel):
    """A part of a request, with its share of what the request took."""

    kind: str = Field(
        description="'role', 'playbook', 'rules', 'state', 'x_t', 'artifacts', 'tools', 'schema', "
        "'tool_results', 'history', or the name of another input of the prompt."
    )
    text: str = Field(description="As it was sent, but secrets and personal data redacted.")
    cut: int = Field(description="Characters at its end that are not kept.")
    tokens: int = Field(description="Share of the provider's count, by estimated size.")
    cached: int = Field(description="How many of them the provider had cached: it caches prefixes.")
    usd: float | None = Field(description="US dollars; null if the price is unknown.")


class CallView(BaseModel):
    """One call of a model."""

    stage: str = Field(
        description="qualifier, compressor, generator, guard, reflector or curator; with the "
        "plugin an app's own agents are the generator."
    )
    agent: str = Field(description="Name of the answering agent; empty for memory's own calls.")
    model: str = Field(description="Model that answered; empty if none did.")
    parts: list[PartView] = Field(description="In the order sent; empty in very long turns.")
    reply: str = Field(description="Text and tool calls, redacted.")
    tokens: TokenUse
    reply_usd: float | None
    seconds: float
    error: str = Field(description="Why there is no reply; or empty.")

    @classmethod
    def of(cls, call: ModelCall) -> Self:
        """The public view of a kept call."""
        costs = zip(call.parts, part_costs(call), strict=True)
        return cls(
            parts=[PartView(**dict(part), **cost._asdict()) for part, cost in costs],
            reply_usd=reply_usd(call),
            **call.model_dump(exclude={"parts", "price", "tokens"}),
            tokens=call.tokens,
        )


class TurnRequests(BaseModel):
    """What the models of a turn saw, in the order of their replies."""

    session: str
    turn: int
    calls: list[CallView]


class TurnRecall(BaseModel):
    """The candidates of a turn."""

    session: str
    turn: int
    items: list[RecalledCandidate] = Field(description="Best first.")


@router.get("/requests", summary="Read the requests")
async def read_requests(context: Context, key: Key, turn: Turn) -> TurnRequests:
    """What each model of the turn was asked and answered, as it was sent.

    Kept for the newest 50 turns of a session, unless ACC_ACE_KEEP_REQUESTS is off. Learning in the
    background is no part of a turn.
    """
    trace = await _trace(context, key, turn)
    calls = [CallView.of(call) for call in trace.calls]
    return TurnRequests(session=key.session, turn=turn, calls=calls)


@router.get("/recall", summary="Read the recall")
async def read_recall(context: Context, key: Key, turn: Turn) -> TurnRecall:
    """What was recalled for the turn, the verdict on each, and whether the state refers to it."""
    trace = await _trace(context, key, turn)
    return TurnRecall(session=key.session, turn=turn, items=list(trace.candidates))


@router.get("/state", summary="Read the state after")
async def read_state_after(context: Context, key: Key, turn: Turn) -> Version:
    """The state after the turn, with what the turn changed."""
    interaction = await committed_turn(context.container, key, turn)
    entry = await context.container.journal.get(key, interaction.ccs_version)
    if entry is None:
        raise NotFoundError(f"session '{key.session}' has no version {interaction.ccs_version}")
    return Version.of(entry)


async def _trace(context: ServerContext, key: SessionKey, turn: int) -> TurnTrace:
    traces = await context.container.traces.of_turn(key, turn)
    if not traces:
        raise NotFoundError(
            f"nothing is kept of what models saw in turn {turn} of session '{key.session}': it is "
            "for the newest 50 turns, with ACC_ACE_KEEP_REQUESTS"
        )
    return joined(traces)
