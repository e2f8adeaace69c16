"""Turn the Generator's model events into what the user sees: chunks, tool calls, one answer.

The Generator answers in JSON, but a reader wants the answer as it grows, so `final_answer` is
streamed out of the reply. One that does not start like JSON is an answer in plain text and is
passed on unchanged.
"""

from bisect import bisect_left
from collections.abc import Iterator

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.genai import types
from pydantic_core import from_json

from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.interaction import GeneratorOutput, ToolCall
from acc_ace.core.schemas.report import AnswerChunk, ToolStarted
from acc_ace.errors import ModelOutputError
from acc_ace.models.response_shape import SET_MODEL_RESPONSE
from acc_ace.turn.structured_call import parser
from acc_ace.turn.turn_record import TurnRecord

_OFTEN = 8_000
"""Characters up to which a reply is parsed again with every chunk."""

_SHARE = 32
"""A longer one is parsed again once 1/32 of it is new, so that the work stays linear."""

_FENCE = "```"


class AnswerStream:
    """Feed chunks of a reply, get chunks of the answer."""

    def __init__(self) -> None:
        self._text = self._reported = ""
        self._read = 0

    def feed(self, chunk: str) -> str:
        """The newly readable characters of the answer; '' if there are none yet."""
        self._text += chunk
        if (len(self._text) - self._read) * _SHARE < self._read - _OFTEN:
            return ""
        self._read = len(self._text)
        answer = _answer(self._text)
        if answer is None or not answer.startswith(self._reported):
            return ""
        fresh = answer[len(self._reported) :]
        self._reported = answer
        return fresh


def _answer(reply: str) -> str | None:
    """The part of the answer received so far; None when the reply is broken JSON."""
    head = reply.lstrip()
    if _FENCE.startswith(head):
        return ""
    if not head.startswith(("{", _FENCE)):
        return reply
    _, brace, rest = head.partition("{")
    try:
        value = from_json(brace + rest or "{", allow_partial="trailing-strings")
    except ValueError:
        return None
    answer = value.get("final_answer")
    return answer if isinstance(answer, str) else ""


def _readable_answer(reply: str) -> str:
    """The answer up to the place where a reply stops being JSON."""
    ends = range(1, len(reply) + 1)
    broken = bisect_left(ends, True, key=lambda end: _answer(reply[:end]) is None)
    return _answer(reply[:broken]) or ""


_parse = parser(GeneratorOutput)


class AnswerCollector:
    """Collects an answer from its events; `output` is set once it is complete."""

    def __init__(self, record: TurnRecord) -> None:
        self.output: GeneratorOutput | None = None
        self.paused = False
        self.complaint = "the model said nothing"
        self._record = record
        self._stream = AnswerStream()

    def take(self, event: Event) -> Iterator[Event]:
        """The events to show for one event of the inner agent."""
        if event.partial:
            yield from self._chunk(event)
            return
        self._stream = AnswerStream()
        if event.get_function_calls() or event.get_function_responses():
            yield from self._tools(event)
        elif text := _text(event):
            self._finish(text)

    def _chunk(self, event: Event) -> Iterator[Event]:
        fresh = self._stream.feed(_text(event))
        if fresh:
            self._record.observer.emit(AnswerChunk(text=fresh))
            content = types.Content(role="model", parts=[types.Part(text=fresh)])
            yield event.model_copy(update={"content": content, "author": "generator"})

    def _tools(self, event: Event) -> Iterator[Event]:
        parts = (event.content.parts if event.content else None) or []
        shown = [part for part in parts if _is_tool_part(part)]
        for call in event.get_function_calls():
            if call.name != SET_MODEL_RESPONSE:
                self._note_call(call)
        self.paused = self.paused or bool(event.long_running_tool_ids)
        if shown and event.content is not None:
            content = types.Content(role=event.content.role, parts=shown)
            yield event.model_copy(update={"content": content})

    def _note_call(self, call: types.FunctionCall) -> None:
        name, args = call.name or "", dict(call.args or {})
        self._record.tools.calls.append(
            ToolCall(id=call.id or "", name=name, args=args, step=self._record.tools.replies)
        )
        self._record.observer.emit(ToolStarted(name=name, args=args))

    def _finish(self, text: str) -> None:
        output: GeneratorOutput | None
        try:
            output = _parse(text)
        except ModelOutputError as error:
            self.complaint = str(error)
            output = self._salvage(text)
        if output is not None and output.final_answer.strip():
            self.output = output
        elif output is not None:
            self.complaint = "the answer is blank"

    def _salvage(self, text: str) -> GeneratorOutput | None:
        """Plain text is an answer; of broken JSON, as much of the answer as can be read."""
        answer = _readable_answer(text)
        if not answer.strip():
            return None
        if answer.strip() != text.strip():
            self._record.observer.warn(
                f"generator: broken reply ({self.complaint}); shown as far as read"
            )
        return GeneratorOutput(final_answer=answer)


def answer_event(
    ctx: InvocationContext, author: str, record: TurnRecord, output: GeneratorOutput, note: str
) -> Event:
    """The one content event of a turn; its metadata says what the answer is based on."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=author,
        branch=ctx.branch,
        content=types.Content(role="model", parts=[types.Part(text=output.final_answer)]),
        actions=EventActions(state_delta=committed_state(record)),
        custom_metadata={"acc_ace": answer_metadata(record, output, note)},
    )


def committed_state(record: TurnRecord) -> dict[str, object]:
    """What session.state shows of the turn once it is committed."""
    return {keys.CCS: record.state.to_state()}


def answer_metadata(
    record: TurnRecord, output: GeneratorOutput | None, note: str
) -> dict[str, object]:
    """What an answer is based on, for readers of its event."""
    return {
        "models": record.observer.models,
        "note": note,
        "ccs_version": record.entry.state.version if record.entry else 0,
        "playbook_version": record.playbook.version if record.playbook else 0,
        "bullet_ids": output.bullet_ids if output else [],
        "warnings": list(record.observer.warnings),
    }


def _is_tool_part(part: types.Part) -> bool:
    name = (part.function_call or part.function_response or types.FunctionCall()).name
    return bool(name) and name != SET_MODEL_RESPONSE


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)
