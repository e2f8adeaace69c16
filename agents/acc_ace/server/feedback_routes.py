"""The route that takes feedback on a turn."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import ConfigDict, Field

from acc_ace.schemas.reflection import Judgement
from acc_ace.schemas.report import FeedbackReport
from acc_ace.server.problems import documented
from acc_ace.server.server_context import NAME_LENGTH, NAME_PATTERN, Context, Key

router = APIRouter(prefix="/v1", tags=["playbook"])

MAX_TURN = 2**31 - 1


class FeedbackRequest(Judgement):
    """What is said of an answer: at least one of thumbs, reward, ground_truth and comment."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"thumbs": "up", "id": "click-1"}]}
    )

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Your id of this feedback. The same id again is learnt from once; absent, the "
        "same words count as the same feedback.",
    )


@router.post(
    "/sessions/{session}/turns/{turn}/feedback",
    responses=documented(400, 401, 403, 404, 409, 413, 422, 503),
    summary="Give feedback on a turn",
)
async def give_feedback(
    context: Context,
    key: Key,
    turn: Annotated[int, Path(ge=1, le=MAX_TURN, description="Number of an answered turn.")],
    body: FeedbackRequest,
) -> FeedbackReport:
    """Keep feedback with the turn, and learn from it as the settings say.

    The bullets that the answer used are tagged, and the Curator may add a lesson. Sending the
    same feedback again changes nothing; if learning had failed, it is tried again.
    """
    return await context.conversation.feedback(key, turn, body, given_id=body.id or "")
