"""Routes that ask a turn's request again, so that answers can be compared."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from acc_ace.clock import TimeBudget
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.report import NANO, TokenUse
from acc_ace.core.schemas.trace import RequestPart
from acc_ace.errors import ConfigError, InputError, ModelError, SessionBusyError
from acc_ace.ext.reruns.rerun import (
    FirstRequest,
    first_request,
    kinds_with,
    request_of,
    without_rules,
)
from acc_ace.ext.reruns.rerun_models import block_of, build, model_names
from acc_ace.ext.reruns.rerun_reply import FirstReply, ask, kept_reply
from acc_ace.model_settings import AgentSettings
from acc_ace.models.names import note_on
from acc_ace.server.problems import documented
from acc_ace.server.routes.trace_routes import Turn
from acc_ace.server.server_context import NAME_LENGTH, Context, Key, User, may_operate

router = APIRouter(prefix="/v1/sessions/{session}/turns/{turn}/rerun", tags=["sessions"])

_STAGE: Final = "rerun"
_MOST_RULES: Final = 200
_ONE_AT_A_TIME: Final = "re-run/"
"""Held by a user's re-run; no session has such a name."""
_MASKED: Final = "[redacted: "

Line = Annotated[str, StringConstraints(max_length=NAME_LENGTH)]


class WantedCallView(BaseModel):
    """A tool call that the model asked for. A re-run runs none."""

    name: str
    args: str = Field(description="Its arguments, as JSON.")


class AnswerView(BaseModel):
    """A first reply to the request of a turn."""

    model: str
    note: str = Field(description="What the user should know about the model; mostly empty.")
    answer: str = Field(description="Empty where the model wants to call tools first.")
    calls: list[WantedCallView]

    @classmethod
    def of(cls, reply: FirstReply) -> "AnswerView":
        """The public view of a reply."""
        calls = [WantedCallView(name=call.name, args=call.args) for call in reply.calls]
        return cls(model=reply.model, note=note_on(reply.model), answer=reply.answer, calls=calls)


class RerunChoices(BaseModel):
    """What of a turn can be run again, and with what."""

    before: AnswerView = Field(description="The first reply that the turn had.")
    models: list[str] = Field(description="Models of the settings.")
    any_model: bool = Field(description="Whether another name may be given: by an operator.")
    rules: dict[str, str] = Field(description="Rules that the turn had, by id.")


class RerunRequest(BaseModel):
    """Which model is asked, and what it is not told."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"without": ["c-0001"]}]}
    )

    model: Line = Field(
        default="",
        pattern=r"^[\w:/@+-]*(\.[\w:/@+-]+)*$",
        description="Empty for the model that answered the turn.",
    )
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
    """The first reply that the turn had, the models to ask instead, and the rules to leave out."""
    first = first_request(await context.container.traces.of_turn(key, turn))
    settings = context.container.settings
    return RerunChoices(
        before=AnswerView.of(kept_reply(first)),
        models=model_names(settings, first.call),
        any_model=may_operate(settings, user),
        rules=first.rules,
    )


@router.post("", summary="Re-run an answer", responses=documented(502))
async def rerun(
    context: Context, key: Key, turn: Turn, user: User, body: RerunRequest
) -> RerunView:
    """Ask the turn's first request again: of another model, or without some rules.

    Nothing is committed, and no tool runs: calls that the model wants are listed. The cost counts
    against ACC_ACE_MAX_COST, and a user has one re-run at a time. `422` for a model that cannot be
    used, `403` for one that the settings do not name, unless an operator asks.
    """
    container = context.container
    first = first_request(await container.traces.of_turn(key, turn))
    parts = without_rules(first, body.without)
    is_operator = may_operate(container.settings, user)
    name = body.model or first.call.model
    block = block_of(container.settings, first.call, name, any_model=is_operator)
    async with _alone(container, key.tenant):
        start = perf_counter()
        reply = await _reply(container, first, parts, block, key)
        seconds = perf_counter() - start
        usd = await _note(container, key, reply.model, reply.use)
    masked = any(_MASKED in part.text for part in parts)
    return RerunView(
        **dict(AnswerView.of(reply)),
        tokens=reply.use,
        usd=usd,
        seconds=seconds,
        still_in=kinds_with(parts, [first.rules[each] for each in body.without]),
        warnings=[*reply.warnings, *([_HAS_MASKED] if masked else [])],
    )


_HAS_MASKED: Final = (
    "secrets and personal data in the request were masked when it was stored; this model did not "
    "see them"
)


@asynccontextmanager
async def _alone(container: Container, tenant: Tenant) -> AsyncIterator[None]:
    """One re-run at a time for each user, below the day's ceiling: no two count the same money.

    Raises SessionBusyError or SpendingCeilingError.
    """
    wait_s = container.settings.limits.turn_wait_s
    try:
        async with container.lock.hold(SessionKey(*tenant, _ONE_AT_A_TIME), wait_s=wait_s):
            await container.spending.require_room(tenant)
            yield
    except SessionBusyError as error:
        raise SessionBusyError("another re-run of this user is running; wait for it") from error


async def _reply(
    container: Container,
    first: FirstRequest,
    parts: Sequence[RequestPart],
    block: AgentSettings,
    key: SessionKey,
) -> FirstReply:
    """Ask within the time of a turn. Raises ModelError, or InputError for an unusable model."""
    budget = TimeBudget(container.settings.limits.turn_model_s)
    budget.begin()
    try:
        model = build(container, block)
        try:
            return await ask(model, request_of(first, parts, model, block), first)
        finally:
            await container.parts.close_models([model])
    except ConfigError as error:  # Here the model is the caller's choice, and no setting.
        raise InputError(f"model {block.model!r} cannot be used: {error}") from error
    except ModelError as error:
        await _note(container, key, block.model, TokenUse.model_validate(error.spent))
        raise
    finally:
        budget.end()


async def _note(container: Container, key: SessionKey, model: str, use: TokenUse) -> float | None:
    """Keep what a call took; its cost in US dollars, None where the price is unknown."""
    spending, used = container.spending, {_STAGE: {model: use}}
    await spending.note(key, 0, used)
    nanos = [each.nano for each in spending.prices.priced(_STAGE, 0, used)]
    return None if None in nanos else sum(nano or 0 for nano in nanos) / NANO
