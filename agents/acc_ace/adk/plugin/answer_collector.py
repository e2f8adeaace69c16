"""Read from the events of a run what was said to the user, and what the run waits for."""

from google.adk.events import Event
from google.genai import types

from acc_ace.adk.bounded_turn import waiting_calls
from acc_ace.adk.stages.tool_loop import result_text
from acc_ace.adk.user_content import attachment
from acc_ace.schemas.interaction import ToolCall
from acc_ace.schemas.report import ToolStarted, WaitingCall
from acc_ace.turn.turn_record import TurnRecord

_TOOLS_OF_ADK = frozenset({"transfer_to_agent", "set_model_response", "finish_task"})


class Saying:
    """What the agents of one run have said so far."""

    def __init__(self, record: TurnRecord) -> None:
        self._record = record
        self._texts: list[str] = []
        self._output = ""
        self._pending: dict[str, WaitingCall] = {}
        self._spoke_last = False

    @property
    def answer(self) -> str | None:
        """Everything the user was told, in order; else the last result or output of a run.

        None while the run waits, or when there was nothing of all that.
        """
        return None if self.waits else "\n\n".join(self._texts) or self._output or None

    @property
    def waits(self) -> bool:
        """Whether the run has ended in a call without a result: it waits for a person.

        An agent that speaks after such a call has answered; the result will come as news.
        """
        return bool(self._pending) and not self._spoke_last

    @property
    def waiting(self) -> list[WaitingCall]:
        """The calls without a result, in their order."""
        return list(self._pending.values())

    def take(self, event: Event) -> None:
        """Read one event of the run; partial ones are repeated whole later."""
        if event.partial:
            return
        self.note_calls(event)
        self._wait(event)
        if event.author == "user":
            return
        if event.is_final_response() and not event.get_function_calls():
            self._hear(event)
        if event.output is not None:
            self._output = result_text(event.output)

    def note_calls(self, event: Event) -> None:
        """Keep the tool calls of an event as evidence, whether or not the user sees it."""
        for call in event.get_function_calls():
            name, args = call.name or "", dict(call.args or {})
            self._record.tool_calls.append(ToolCall(id=call.id or "", name=name, args=args))
            self._record.tell(ToolStarted(name=name, args=args))

    def _wait(self, event: Event) -> None:
        if event.long_running_tool_ids:
            self._pending |= {call.id: call for call in waiting_calls(event)}
            for id_ in event.long_running_tool_ids - self._pending.keys():
                self._pending[id_] = WaitingCall(id=id_, name="", args={})
            self._spoke_last = False
        for response in event.get_function_responses():
            self._pending.pop(response.id or "", None)

    def _hear(self, event: Event) -> None:
        if text := _shown(event.content):
            self._texts.append(text)
            self._spoke_last = True
        elif event.actions.skip_summarization:
            results = event.get_function_responses()
            self._output = "\n".join(result_text(result.response) for result in results)


def _shown(content: types.Content | None) -> str:
    """What a content shows without the model's thoughts: its text, and what is attached."""
    parts = [part for part in (content.parts if content else None) or [] if not part.thought]
    text = "".join(part.text for part in parts if part.text)
    return "\n".join([*([text] if text.strip() else []), *filter(None, map(attachment, parts))])


def is_evidence(tool: str) -> bool:
    """Whether a tool's result says something about the world; those of ADK itself do not."""
    return tool not in _TOOLS_OF_ADK and not tool.startswith("adk_")
