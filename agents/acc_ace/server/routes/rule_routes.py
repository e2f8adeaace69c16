"""Routes by which a user sees and corrects the rules of a session, outside of its turns."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from acc_ace.adk.turn_report import reported_constraints, reported_questions
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, NotKept, RuleScope
from acc_ace.core.schemas.report import ReportedConstraint, ReportedQuestion
from acc_ace.server.request_body import Text
from acc_ace.server.server_context import NAME_LENGTH, Context, Key, ServerContext

router = APIRouter(prefix="/v1/sessions/{session}", tags=["rules"])

_Id = Annotated[str, Path(min_length=1, max_length=NAME_LENGTH)]


class Rules(BaseModel):
    """The rules that are in force, and what waits for the user's yes or no."""

    constraints: list[ReportedConstraint]
    questions: list[ReportedQuestion]
    not_kept: list[NotKept] = Field(
        description="What may be a rule and is none: the compressor is not believed; newest last."
    )
    unread_turns: int = Field(
        description="Messages that no compressor has read yet; they stand verbatim in each request."
    )

    @classmethod
    async def of(cls, context: ServerContext, key: SessionKey, state: CommittedState) -> Self:
        """The public view of a state's rules."""
        checks = await context.conversation.checks(state.pins)
        return cls(
            constraints=reported_constraints(state.pins, checks),
            questions=reported_questions(state),
            not_kept=state.not_kept,
            unread_turns=await context.conversation.rules.unread(key, state),
        )


class RuleRequest(BaseModel):
    """A rule in the user's words."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "Never suggest peanuts.", "scope": "user"}]},
    )

    text: Text = Field(min_length=1, description="What must hold, kept word for word.")
    scope: RuleScope = Field(
        default=RuleScope.SESSION,
        description="This session, or every session of the user.",
    )


class CheckRequest(BaseModel):
    """What a person wants done when a tool is called."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"does": "amount > 30 EUR"}]}
    )

    does: str = Field(
        max_length=200,
        description="'off', 'ask', 'stop', or when a call is stopped; '' for what the rule says.",
    )


class AnswerRequest(BaseModel):
    """The user's word on an open question."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"answer": "yes"}]})

    answer: Literal["yes", "no"]


@router.get("/rules", summary="List the rules")
async def list_rules(context: Context, key: Key) -> Rules:
    """The rules in force in a session, those of every session included, and open questions.

    A new session has the rules of its user.
    """
    return await Rules.of(context, key, await context.conversation.rules.state(key))


@router.post(
    "/rules",
    summary="Make a rule",
    status_code=201,
)
async def make_rule(context: Context, key: Key, body: RuleRequest) -> ReportedConstraint:
    """Pin these words as a rule. The same words again give back the rule that is there.

    `422` with the code `constraints_over_budget` when the rules would be over their budget.
    """
    pin = await context.conversation.rules.pin(key, body.text, body.scope)
    return reported_constraints([pin])[0]


@router.delete(
    "/rules/{id}",
    summary="Lift a rule",
    status_code=204,
    response_class=Response,
)
async def lift_rule(context: Context, key: Key, id: _Id) -> None:
    """Lift a rule; `POST …/undo` or a rollback brings it back.

    `404` when no active rule has the id, `403` for a rule of system authority.
    """
    await context.conversation.rules.forget(key, id.lower())


@router.put(
    "/rules/{id}/checks/{tool}",
    summary="Correct a check",
)
async def set_check(
    context: Context, key: Key, id: _Id, tool: _Id, body: CheckRequest
) -> ReportedConstraint:
    """Say what a rule does at a tool, which may be looser than the rule; undo takes it back.

    `404` when no active rule has the id, `403` for a rule of system authority.
    """
    pin = await context.conversation.rules.check(key, id.lower(), tool, body.does)
    return reported_constraints([pin], await context.conversation.checks([pin]))[0]


@router.post(
    "/questions/{id}",
    summary="Answer a question",
)
async def answer_question(
    context: Context,
    key: Key,
    id: _Id,
    body: AnswerRequest,
) -> Rules:
    """Settle an open question about rules or goal; the rules after it.

    `404` when it was answered before, or lapsed: nothing is changed then.
    """
    yes = body.answer == "yes"
    rules = context.conversation.rules
    return await Rules.of(context, key, await rules.answer(key, id.lower(), yes=yes))
