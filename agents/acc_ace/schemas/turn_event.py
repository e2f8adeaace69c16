"""Events of a running turn, in order.

The last one is TurnDone, or TurnPaused if the turn waits for a person.
"""

from typing import Any, Literal

from acc_ace.schemas.base import Value
from acc_ace.schemas.report import TurnReport

Stage = Literal[
    "initializer", "recaller", "qualifier", "compressor", "generator", "reflector", "curator"
]


class StageStarted(Value):
    """A stage started."""

    type: Literal["stage_started"] = "stage_started"
    stage: Stage


class StageFinished(Value):
    """A stage finished."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: Stage
    ms: float
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


class AnswerChunk(Value):
    """The next piece of the answer, as it streams."""

    type: Literal["answer_chunk"] = "answer_chunk"
    text: str


class ToolStarted(Value):
    """The Generator called a tool."""

    type: Literal["tool_started"] = "tool_started"
    name: str
    args: dict[str, Any]


class ToolFinished(Value):
    """A tool returned."""

    type: Literal["tool_finished"] = "tool_finished"
    name: str
    is_error: bool = False


class Answer(Value):
    """The whole answer. Reflection and curation run after this event."""

    type: Literal["answer"] = "answer"
    text: str
    model: str
    note: str = ""


class TurnDone(Value):
    """The turn has finished, including learning."""

    type: Literal["turn_done"] = "turn_done"
    report: TurnReport


class WaitingCall(Value):
    """A call that waits for a person's answer."""

    id: str
    name: str
    args: dict[str, Any]


class TurnPaused(Value):
    """The turn waits for a person; it continues when its calls are answered."""

    type: Literal["turn_paused"] = "turn_paused"
    session: str
    calls: list[WaitingCall]
    detail: str = (
        "the turn waits for a person: answer each call with a function response of its id and "
        "name, in the web UI or by POST /run; do not send the words again, they are kept"
    )


TurnEvent = (
    StageStarted
    | StageFinished
    | AnswerChunk
    | ToolStarted
    | ToolFinished
    | Answer
    | TurnDone
    | TurnPaused
)
