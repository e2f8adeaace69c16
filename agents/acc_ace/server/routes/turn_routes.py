"""Routes that take a turn, as one JSON report or as events, and feedback on it."""

import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.schemas.reflection import MAX_WORDS, Judgement
from acc_ace.core.schemas.report import FeedbackReport, TurnEvent, TurnPaused, TurnReport
from acc_ace.core.text.input_checks import MAX_ATTACHMENTS, MAX_ID_CHARS
from acc_ace.server.problems import documented
from acc_ace.server.request_body import Text
from acc_ace.server.routes.turn_stream import (
    EVENTS,
    MEDIA_TYPE,
    ClientGone,
    EventStream,
    EventStreamResponse,
    TurnEvents,
    result_of,
    unless_disconnected,
)
from acc_ace.server.server_context import (
    NAME_LENGTH,
    NAME_PATTERN,
    Context,
    CurrentTenant,
    Key,
    ServerContext,
)

router = APIRouter(prefix="/v1", tags=["turns"])

_CLIENT_CLOSED: Final = 499

_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The turn's report; or, for `Accept: text/event-stream` or `stream=true`, "
        "its events as they happen: `stage_started`, `stage_finished`, `answer_chunk`, "
        "`tool_started`, `tool_finished`, `answer`, and last `turn_done`, `turn_paused` or "
        "`error`.",
        "content": {MEDIA_TYPE: EVENTS},
    },
    202: {
        "model": TurnPaused,
        "description": "The turn waits for a person. It continues when each of its `calls` is "
        "answered with a function response of the call's id and name, by `POST /run` or in the "
        "web UI. Sending the input again would start a second turn.",
    },
    **documented(502),
}


class AttachmentBody(BaseModel):
    """Text of others: it makes and lifts no rule, whatever it says."""

    model_config = ConfigDict(extra="forbid")

    text: Text = Field(description="The text.")
    source: Annotated[Text, Field(max_length=MAX_ID_CHARS)] = Field(
        default="", description="Where it is from, such as a file name or a sender."
    )


class TurnRequest(BaseModel):
    """What arrives before the agent acts: x_t."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"input": "db-01 is down. Never restart it by day."}]},
    )

    input: Text = Field(description="The input.")
    source: Literal["user", "tool", "retrieved"] = Field(
        default="user",
        description="Who says it. Only a user's words can set or release constraints and goal.",
    )
    attachments: list[AttachmentBody] = Field(
        default_factory=list,
        max_length=MAX_ATTACHMENTS,
        description="Text of others that the input is about: mails, documents, logs.",
    )
    ground_truth: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDS,
        description="The correct answer, to learn from; the agent does not see it.",
    )
    reward: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="An environment's reward of the turn, to learn from: above 0 is good.",
    )
    comment: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_WORDS,
        description="What a person says of the answer, to learn from.",
    )

    def judgement(self) -> Judgement | None:
        """What is said of the answer in advance, if anything is."""
        given = self.model_dump(include={"ground_truth", "reward", "comment"}, exclude_none=True)
        return Judgement.model_validate(given) if given else None


class ChatRequest(TurnRequest):
    """A turn that may create its session."""

    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Session to continue (default: a new one).",
    )


Stream = Annotated[bool, Query(description="Stream events, as `Accept: text/event-stream` does.")]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=NAME_LENGTH,
        description="Names the turn within its session: a repeat of a committed turn is reported "
        "again and runs nothing. To repeat `/chat` safely, name its session too.",
    ),
]


@router.post(
    "/sessions/{session}/turns",
    response_model=TurnReport,
    responses=_ANSWERS,
    summary="Take a turn",
)
async def take_turn(
    request: Request,
    context: Context,
    key: Key,
    body: TurnRequest,
    *,
    stream: Stream = False,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Run one turn of a session; the first one creates it. Other apps that are hosted take theirs.

    A session takes one turn at a time; a second one waits, then gets 409. If the client
    disconnects before the answer, the turn is discarded; after it, the turn is kept and learned
    from. A client that is not sure retries under the same `Idempotency-Key`: a committed turn
    is returned again and nothing is run.
    """
    return await _answer(request, context, key, body, stream=stream, name=idempotency_key or "")


@router.post("/chat", response_model=TurnReport, responses=_ANSWERS, summary="Chat")
async def chat(
    request: Request,
    context: Context,
    tenant: CurrentTenant,
    body: ChatRequest,
    *,
    stream: Stream = False,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Run a turn without naming a session; the report names it."""
    session = body.session or f"s-{uuid.uuid4()}"
    key = SessionKey(tenant.app, tenant.user, session)
    return await _answer(request, context, key, body, stream=stream, name=idempotency_key or "")


async def _answer(
    request: Request,
    context: ServerContext,
    key: SessionKey,
    body: TurnRequest,
    *,
    stream: bool,
    name: str,
) -> Response:
    turn = TurnEvents(_events(context, key, body, name))
    try:
        if stream or MEDIA_TYPE in request.headers.get("accept", ""):
            return await _streamed(request, context, turn)
        result = await unless_disconnected(request, result_of(turn), turn)
    except ClientGone:
        return Response(status_code=_CLIENT_CLOSED)
    status = 202 if isinstance(result, TurnPaused) else 200
    return Response(result.model_dump_json(), status_code=status, media_type="application/json")


def _events(
    context: ServerContext, key: SessionKey, body: TurnRequest, name: str
) -> AsyncIterator[TurnEvent]:
    return context.hosted.conversation(key.app).stream(
        key,
        body.input,
        authority=Authority(body.source),
        attachments=[
            Attachment(text=given.text, source=given.source) for given in body.attachments
        ],
        judgement=body.judgement(),
        idempotency_key=name,
    )


async def _streamed(request: Request, context: ServerContext, turn: TurnEvents) -> Response:
    stream = EventStream(turn, path=request.url.path, data_dir=context.container.settings.data_dir)
    try:
        await unless_disconnected(request, stream.start(), turn)
    except BaseException:
        await stream.aclose()
        raise
    return EventStreamResponse(stream)


feedback_router = APIRouter(prefix="/v1", tags=["playbook"])

MAX_TURN = 2**31 - 1


class FeedbackRequest(Judgement):
    """What is said of an answer: at least one of thumbs, reward, ground_truth and comment."""

    model_config = ConfigDict(
        defer_build=False,
        extra="forbid",
        json_schema_extra={"examples": [{"thumbs": "up", "id": "click-1"}]},
    )

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Your id of this feedback. The same id again is learned from once; absent, the "
        "same words count as the same feedback.",
    )


@feedback_router.post(
    "/sessions/{session}/turns/{turn}/feedback",
    summary="Give feedback on a turn",
)
async def give_feedback(
    context: Context,
    key: Key,
    turn: Annotated[int, Path(ge=1, le=MAX_TURN, description="Number of an answered turn.")],
    body: FeedbackRequest,
) -> FeedbackReport:
    """Store feedback with the turn, and learn from it as the settings say.

    The bullets that the answer used are tagged, and the Curator may add a lesson. Sending the
    same feedback again changes nothing; if learning had failed, it is tried again.
    """
    return await context.conversation.feedback(key, turn, body, given_id=body.id or "")
