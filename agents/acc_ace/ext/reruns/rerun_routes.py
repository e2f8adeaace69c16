"""Routes that ask a turn's request again, so that answers can be compared."""

from collections.abc import Sequence
from time import perf_counter
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from acc_ace.clock import TimeBudget
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.report import NANO, TokenUse
from acc_ace.core.schemas.trace import RequestPart
from acc_ace.errors import ConfigError, InputError, ModelError
from acc_ace.ext.reruns.rerun import (
    FirstReply,
    RerunReply,
    ask,
    first_reply,
    first_request,
    request_of,
    rules_of,
    without_rules,
)
from acc_ace.ext.reruns.rerun_models import block_of, build, model_names
from acc_ace.model_settings import AgentSettings
from acc_ace.models.names import note_on
from acc_ace.server.problems import documented
from acc_ace.server.routes.trace_routes import Turn
from acc_ace.server.server_context import NAME_LENGTH, Context, Key, User, may_operate

router = APIRouter(prefix="/v1/sessions/{session}/turns/{turn}/rerun", tags=["sessions"])

_STAGE: Final = "rerun"
_MOST_RULES: Final = 200

Line = Annotated[str, StringConstraints(max_length=NAME_LENGTH)]


class WantedCallView(BaseModel):
    """A tool call that the model asked for. A re-run runs none."""

    name: str
    args: dict[str, object]


class AnswerView(BaseModel):
    """A first reply to the request of a turn."""

    model: str
    note: str = Field(description="What the user should know about the model; mostly empty.")
    answer: str = Field(description="Empty where the model wants to call tools first.")
    calls: list[WantedCallView]

    @classmethod
    def of(cls, model: str, reply: FirstReply) -> "AnswerView":
        """The public view of a reply."""
        calls = [WantedCallView(name=call.name, args=call.args) for call in reply.calls]
        return cls(model=model, note=note_on(model), answer=reply.answer, calls=calls)


class RerunChoices(BaseModel):
    """What of a turn can be run again, and with what."""

    before: AnswerView = Field(description="The reply that the turn had.")
    models: list[str] = Field(description="Models of the settings.")
    any_model: bool = Field(description="Whether another name may be given: by an operator.")
    rules: dict[str, str] = Field(description="Rules that the turn had, by id.")


class RerunRequest(BaseModel):
    """Which model is asked, and what it is not told."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"without": ["c-0001"]}]}
    )

    model: Line = Field(default="", description="Empty for the model that answered the turn.")
    without: list[Line] = Field(
        default=[], max_length=_MOST_RULES, description="Ids of rules to leave out."
    )


class RerunView(AnswerView):
    """The reply to a re-run."""

    tokens: TokenUse
    usd: float | None = Field(description="US dollars; null if the price is unknown.")
    seconds: float
    still_in: list[str] = Field(
        description="Kinds of parts that still hold the words of a rule left out."
    )
    warnings: list[str]


@router.get("", summary="Read what a re-run can change")
async def read_choices(context: Context, key: Key, turn: Turn, user: User) -> RerunChoices:
    """The reply that the turn had, the models to ask instead, and the rules to leave out."""
    call = first_request(await context.container.traces.of_turn(key, turn))
    settings = context.container.settings
    return RerunChoices(
        before=AnswerView.of(call.model, first_reply(call.reply)),
        models=model_names(settings, call),
        any_model=may_operate(settings, user),
        rules=rules_of(call),
    )


@router.post("", summary="Re-run an answer", responses=documented(502))
async def rerun(
    context: Context, key: Key, turn: Turn, user: User, body: RerunRequest
) -> RerunView:
    """Ask the turn's first request again: of another model, or without some rules.

    Nothing is committed, and no tool runs: calls that the model wants are listed. The cost counts
    against ACC_ACE_MAX_COST. `422` for a model that cannot be used, `403` for one that the
    settings do not name, unless an operator asks.
    """
    container = context.container
    call = first_request(await container.traces.of_turn(key, turn))
    parts = without_rules(call, body.without)
    is_operator = may_operate(container.settings, user)
    name = body.model or call.model
    block = block_of(container.settings, call, name, any_model=is_operator)
    await container.spending.require_room(key.tenant)
    start = perf_counter()
    reply = await _reply(container, key, block, parts)
    price = container.spending.prices.price(reply.model)
    rules = rules_of(call)
    words = [rules[each] for each in body.without]
    return RerunView(
        **dict(AnswerView.of(reply.model, first_reply(reply.text))),
        tokens=reply.use,
        usd=price.nano(reply.use) / NANO if price else None,
        seconds=perf_counter() - start,
        still_in=sorted({part.kind for part in parts if any(word in part.text for word in words)}),
        warnings=list(reply.warnings),
    )


async def _reply(
    container: Container, key: SessionKey, block: AgentSettings, parts: Sequence[RequestPart]
) -> RerunReply:
    """Ask within the time of a turn, and count what it took.

    Raises ModelError, or InputError for a model that cannot be used.
    """
    TimeBudget(container.settings.limits.turn_model_s).begin()
    try:
        model = build(container, block)
        try:
            reply = await ask(model, request_of(parts, model, block))
        finally:
            await container.parts.close_models([model])
    except ConfigError as error:  # Here the model is the caller's choice, and no setting.
        raise InputError(f"model {block.model!r} cannot be used: {error}") from error
    except ModelError as error:
        await _note(container, key, block.model, TokenUse.model_validate(error.spent))
        raise
    await _note(container, key, reply.model, reply.use)
    return reply


async def _note(container: Container, key: SessionKey, model: str, use: TokenUse) -> None:
    await container.spending.note(key, 0, {_STAGE: {model: use}})
