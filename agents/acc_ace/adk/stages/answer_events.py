"""Turn the Generator's model events into what the user sees: chunks, tool calls, one answer.

The Generator answers in JSON, but a reader wants the answer as it grows, so `final_answer` is
streamed out of the reply. One that does not start like JSON is an answer in plain text and is
passed on unchanged.
"""

from bisect import bisect_left

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event, EventActions
from google.genai import types
from pydantic_core import from_json

from acc_ace.adk.stages.tool_loop import result_text
from acc_ace.adk.turn_report import waiting_calls
from acc_ace.adk.user_content import attachment
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.interaction import GeneratorOutput, ToolCall
from acc_ace.core.schemas.report import AnswerChunk, ToolStarted, WaitingCall
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


class RunAnswer:
    """What the agents of one run have said so far.

    The Generator (`is_own`) answers in a field of its reply, and waits whatever it says after a
    call that waits.
    """

    def __init__(self, record: TurnRecord, *, is_own: bool = False) -> None:
        self._record = record
        self._stream = AnswerStream() if is_own else None
        self._texts: list[str] = []
        self._output = ""
        self._pending: dict[str, WaitingCall] = {}
        self._spoke_last = False

    @property
    def answer(self) -> str | None:
        """All text shown to the user, in order; else the last result or output of a run.

        None while the run waits, or when there is none of these.
        """
        return None if self.waits else "\n\n".join(self._texts) or self._output or None

    @property
    def waits(self) -> bool:
        """Whether the run has ended in a call without a result: it waits for a person.

        A host's agent that speaks after such a call has answered; the result opens a new turn.
        """
        return bool(self._pending) and not self._spoke_last

    @property
    def waiting(self) -> list[WaitingCall]:
        """The calls without a result, in their order."""
        return list(self._pending.values())

    @property
    def reply(self) -> str:
        """The last text, as the model wrote it."""
        return self._texts[-1] if self._texts else ""

    def take(self, event: Event) -> str:
        """Read an event; give what a partial one, repeated whole later, shows of the answer."""
        if event.partial:
            return self._take_chunk(event)
        if self._stream is not None:
            self._stream = AnswerStream()
        self.note_calls(event)
        self._wait(event)
        if event.author == "user":
            return ""
        if event.is_final_response() and not event.get_function_calls():
            self._take_answer(event)
        if event.output is not None:
            self._output = result_text(event.output)
        return ""

    def _take_chunk(self, event: Event) -> str:
        text = (
            shown_text(event.content) if self._stream is None else self._stream.feed(_text(event))
        )
        if text:
            self._record.observer.emit(AnswerChunk(text=text))
        return text

    def note_calls(self, event: Event) -> None:
        """Keep the tool calls of an event as evidence, whether or not the user sees it."""
        tools = self._record.tools
        for call in event.get_function_calls():
            name, args = call.name or "", dict(call.args or {})
            if name == SET_MODEL_RESPONSE:
                continue  # A form of the answer.
            tools.calls.append(ToolCall(id=call.id or "", name=name, args=args, step=tools.replies))
            self._record.observer.emit(ToolStarted(name=name, args=args))

    def _wait(self, event: Event) -> None:
        if event.long_running_tool_ids:
            self._pending |= {call.id: call for call in waiting_calls(event)}
            for id_ in event.long_running_tool_ids - self._pending.keys():
                self._pending[id_] = WaitingCall(id=id_, name="", args={})
            self._spoke_last = False
        for response in event.get_function_responses() if self._stream is None else ():
            self._pending.pop(response.id or "", None)

    def _take_answer(self, event: Event) -> None:
        if text := shown_text(event.content) if self._stream is None else _text(event):
            self._texts.append(text)
            self._spoke_last = self._stream is None
        elif event.actions.skip_summarization:
            results = event.get_function_responses()
            self._output = "\n".join(result_text(result.response) for result in results)


def shown_text(content: types.Content | None) -> str:
    """What a content shows without the model's thoughts: its text, and what is attached."""
    parts = [part for part in (content.parts if content else None) or [] if not part.thought]
    text = "".join(part.text for part in parts if part.text)
    return "\n".join([*([text] if text.strip() else []), *filter(None, map(attachment, parts))])


def read_output(reply: str, record: TurnRecord) -> GeneratorOutput | str:
    """The Generator's answer in its reply, or why there is none.

    Plain text is an answer; of broken JSON, as much of the answer as can be read.
    """
    if not reply:
        return "the model said nothing"
    try:
        output = _parse(reply)
    except ModelOutputError as error:
        answer = _readable_answer(reply)
        if not answer.strip():
            return str(error)
        if answer.strip() != reply.strip():
            record.observer.warn(f"generator: broken reply ({error}); shown as far as read")
        output = GeneratorOutput(final_answer=answer)
    return output if output.final_answer.strip() else "the answer is blank"


def shown_event(event: Event, fresh: str) -> Event | None:
    """What the user sees of an event: the `fresh` part of the answer, or calls and results."""
    if event.partial:
        content = types.Content(role="model", parts=[types.Part(text=fresh)])
        update = {"content": content, "author": "generator"}
        return event.model_copy(update=update) if fresh else None
    parts = (event.content.parts if event.content else None) or []
    tools = [part for part in parts if _is_tool_part(part)]
    if not tools or event.content is None:
        return None
    content = types.Content(role=event.content.role, parts=tools)
    return event.model_copy(update={"content": content})


def answer_event(
    ctx: InvocationContext, author: str, record: TurnRecord, output: GeneratorOutput, note: str
) -> Event:
    """The one content event of a turn, with the notes on rules below the answer.

    Its metadata says what the answer is based on.
    """
    text = output.final_answer + record.shown_notes
    return Event(
        invocation_id=ctx.invocation_id,
        author=author,
        branch=ctx.branch,
        content=types.Content(role="model", parts=[types.Part(text=text)]),
        actions=EventActions(state_delta=committed_state(record)),
        custom_metadata={"acc_ace": answer_metadata(record, output, note)},
    )


def notes_chunk(ctx: InvocationContext, answer: Event, record: TurnRecord) -> Event | None:
    """The notes as the last chunk of a streamed answer; None without notes or a stream."""
    if not record.shown_notes or not is_streaming(ctx):
        return None
    content = types.Content(role="model", parts=[types.Part(text=record.shown_notes)])
    return Event(
        invocation_id=ctx.invocation_id,
        author=answer.author,
        branch=ctx.branch,
        content=content,
        partial=True,
    )


def is_streaming(ctx: InvocationContext) -> bool:
    """Whether the caller of a run reads answers as they grow."""
    return ctx.run_config is not None and ctx.run_config.streaming_mode == StreamingMode.SSE


def is_remote(ctx: InvocationContext) -> bool:
    """Whether another agent asks, over A2A."""
    given = (ctx.run_config and ctx.run_config.custom_metadata) or {}
    return "a2a_metadata" in given or ctx.session.user_id.startswith("A2A_USER_")


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
        "notes": list(record.notes),
        "warnings": list(record.observer.warnings),
    }


def _is_tool_part(part: types.Part) -> bool:
    name = (part.function_call or part.function_response or types.FunctionCall()).name
    return bool(name) and name != SET_MODEL_RESPONSE


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)
