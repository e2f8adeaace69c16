"""Bounds, evidence and ids of the Generator's tool loop, as ADK callbacks.

No two calls share an id, whatever ids a model gives.
"""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from random import SystemRandom
from typing import Any, Final
from uuid import uuid4

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from acc_ace.adk.guard import ToolGuard
from acc_ace.adk.sessions.json_safe import json_form, json_safe
from acc_ace.adk.user_content import contents_of, quote_attachments
from acc_ace.errors import AccAceError, ModelOutputError
from acc_ace.gates.contradiction import flag_contradiction, screened_input
from acc_ace.memory.turn_artifacts import SEARCH_TOOL
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.interaction import ToolCall, ToolResult
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.report import ToolFinished
from acc_ace.text.prompt import write_input
from acc_ace.text.tokens import clip_tokens
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.structured_call import input_value
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

_COUNTED: Final = re.compile(r"((?:.*[^0-9A-Za-z])?)[0-9]{1,6}", re.DOTALL)
"""Ids that a model counts, as in 'call_0': it begins anew with each reply or conversation."""

_NUMBERS: Final = 10**18
"""Of so many numbers one is drawn in place of a counted one."""


_NOT_A_NAME: Final = re.compile(r"\S\s+\S|[^\x00-\x7f]")
"""What texts have that say something, and names and ids do not."""


def keep_calls_apart(
    response: LlmResponse, record: TurnRecord, ctx: CallbackContext, earlier: Iterable[Event]
) -> None:
    """Give the calls of a reply other ids where theirs are taken, or only counted.

    ADK, evidence and most models tell results apart by the id of the call alone. Taken are the ids
    of this turn, of the messages that the model is shown, and of `earlier` events, where a call
    may still wait for a person. Older events are not at hand, and a person's answer to one of
    their calls, sent again, must not be taken for consent to another one: so a counted id is
    always replaced. What stands before the number stays, because some models name the function
    there and nowhere else. A call has the same id in every part of a reply that is streamed, and
    in the whole of it. A call without an id gets one of its own from ADK.
    """
    parts = (response.content.parts if response.content else None) or []
    # Agents may work side by side in one turn.
    speaker = (ctx.invocation_id, ctx.agent_name)
    streamed = record.streamed_ids.setdefault(speaker, {})
    if response.content is not None and any(_id(part) for part in parts):
        _note_taken(record, earlier)
        own = [_own(part, record.call_ids, streamed, partial=response.partial) for part in parts]
        # A copy: the model may keep what it answered.
        response.content = response.content.model_copy(update={"parts": own})
    if not response.partial:
        del record.streamed_ids[speaker]


def _note_taken(record: TurnRecord, earlier: Iterable[Event]) -> None:
    taken = record.call_ids
    if not taken:
        messages = record.context.messages if record.context else []
        taken |= {call.id for message in messages for call in message.tool_calls}
        taken |= {call.id or "" for e in earlier for call in e.get_function_calls()}
    taken |= {call.id for call in record.tool_calls}


def _own(
    part: types.Part, taken: set[str], streamed: dict[str, str], *, partial: bool | None
) -> types.Part:
    call, name = part.function_call, _id(part)
    if call is None or not name:
        return part
    own = streamed.get(name) if partial else streamed.pop(name, None)
    if own is None:
        own = _free(name, taken)
        taken.add(own)
    if partial:
        streamed[name] = own
    if own == name:
        return part
    return part.model_copy(update={"function_call": call.model_copy(update={"id": own})})


def _free(name: str, taken: set[str]) -> str:
    """The id itself when it is nobody's, or another one like it."""
    if counted := _COUNTED.fullmatch(name):
        return f"{counted[1]}{SystemRandom().randrange(_NUMBERS // 10, _NUMBERS)}"
    return f"call_{uuid4().hex}" if name in taken else name


def _id(part: types.Part) -> str:
    return (part.function_call.id if part.function_call else None) or ""


logger = logging.getLogger(__name__)

WHOLE_CHARS = 1_000_000
"""Characters of a cut result that are kept as evidence."""

READ_ONLY = frozenset({"search_evidence", "calculate", "current_time", "read_file"})
"""Our own tools, which change nothing."""

_SPARE_CALLS = 3
"""Model calls beside one for each allowed tool and repair: the answer, and two that are vain."""


class ToolLoop:
    """Callbacks of the inner LlmAgent; they work on the record of the running turn."""

    def __init__(
        self, records: TurnRecords, lifecycle: TurnLifecycle, limits: Limits, guard: ToolGuard
    ) -> None:
        self._records, self._lifecycle = records, lifecycle
        self._limits, self._guard = limits, guard

    def before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Quote what is not the user's of x_t; end a loop that has used up its tool calls."""
        record = self._record(callback_context)
        self._quote_input(record, llm_request)
        if record.context is not None:
            # x_t, the last message, is there already, with this turn's tool loop after it.
            llm_request.contents = [
                *contents_of(record.context.messages[:-1]),
                *llm_request.contents,
            ]
        used = len(record.tool_calls)
        if used >= self._limits.tool_calls:
            llm_request.config.tools = None
            llm_request.tools_dict = {}
        # Counted by reply, not by tool: a reply may hold many calls, or one that is no tool.
        record.model_calls += 1
        if record.model_calls > self._limits.tool_calls + self._limits.repairs + _SPARE_CALLS:
            raise ModelOutputError(
                f"generator: no answer after {used} tool calls, {record.model_calls - 1} replies "
                f"(limit {self._limits.tool_calls}, ACC_ACE_LIMITS__TOOL_CALLS)"
            )
        return None

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Let no two calls have the same id, whatever the model says."""
        record = self._record(callback_context)
        keep_calls_apart(llm_response, record, callback_context, callback_context.session.events)

    async def before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Run no tool beyond the limit; note that one which acts is about to run."""
        record, name = self._record(tool_context), tool_context.function_call_id or ""
        if all(call.id != name for call in record.tool_calls):
            # Asked for in an earlier turn, and confirmed by a person only now.
            record.tool_calls.append(ToolCall(id=name, name=tool.name, args=args))
        # One reply may ask for any number of calls, and an id may come again, in replies that ADK
        # kept before a pause: so calls are counted.
        record.tools_started += 1
        if record.tools_started <= self._limits.tool_calls:
            if tool.name in READ_ONLY:
                return None
            guarded = await self._guard.check(tool, args, tool_context, record)
            if guarded is not None:
                return guarded
            refusal = await self._lifecycle.start_tool(record, name, tool.name, args)
            return {"error": refusal} if refusal else None
        return {
            "error": f"{tool.name} was not run: the limit of {self._limits.tool_calls} tool calls "
            "in a turn is reached; answer with what you have"
        }

    def after_tool(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,
        tool_response: object,
    ) -> dict[str, Any] | None:
        """Keep the result as evidence; what the model sees of it is bounded and screened."""
        text, limit = result_text(tool_response), self._limits.tool_result_tokens
        result = tool_result(
            tool.name,
            tool_context.function_call_id,
            text,
            is_error=is_failure(tool_response),
            max_tokens=limit,
        )
        record = self._record(tool_context)
        note_result(record, result)
        # What searched memory is screened, each result for itself.
        rules = [] if tool.name == SEARCH_TOOL else record.rules
        return shown_response(text, limit, rules) or mended_response(tool_response)

    def on_tool_error(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        """Tell the model what failed instead of ending the turn."""
        if isinstance(error, asyncio.CancelledError):
            return None  # Nobody knows what came of it.
        logger.warning("tool_failed tool=%s error=%s", tool.name, type(error).__name__)
        detail = str(error) if isinstance(error, AccAceError | ValueError) else type(error).__name__
        limit = self._limits.tool_result_tokens
        result = tool_result(
            tool.name,
            tool_context.function_call_id,
            f"{tool.name} failed: {detail}",
            is_error=True,
            max_tokens=limit,
        )
        note_result(self._record(tool_context), result)
        return {"error": result.result}

    def _quote_input(self, record: TurnRecord, llm_request: LlmRequest) -> None:
        turn_input = record.turn_input
        if turn_input is None or not llm_request.contents:
            return
        first = llm_request.contents[0]
        is_said = [part.text for part in first.parts or []][:1] == [turn_input.text]
        if is_said and not turn_input.authority.may_rule:
            shown = input_value(screened_input(turn_input, record.rules))
            quoted = types.Part(text=write_input("current_input", shown))
            # Whoever said it, it is what the model is asked; the block says with which authority.
            llm_request.contents[0] = types.Content(role="user", parts=[quoted])
        quote_attachments(llm_request.contents, turn_input)

    def _record(self, context: CallbackContext) -> TurnRecord:
        session = context.session
        return self._records.get(SessionKey(session.app_name, session.user_id, session.id))


def tool_result(
    name: str, call_id: str | None, text: str, *, is_error: bool, max_tokens: int
) -> ToolResult:
    """A tool's result as evidence: what fits in front, and all of it behind when it was cut."""
    bounded = clip_tokens(text, max_tokens)
    return ToolResult(
        tool_call_id=call_id or "",
        name=name,
        result=bounded,
        is_error=is_error,
        whole=None if bounded == text else text[:WHOLE_CHARS],
    )


def shown_response(
    text: str, max_tokens: int, rules: Sequence[ConstraintPin]
) -> dict[str, Any] | None:
    """What a model is shown of a result in place of it; None when that is the result as it is.

    One that is too long is marked as cut, one that goes against a rule has the rule beside it.
    """
    bounded = clip_tokens(text, max_tokens)
    cut = {} if bounded == text else {"truncated": True}
    beside = flag_contradiction(bounded, rules) if _says(text) else bounded
    return {"result": beside, **cut} if cut or beside != bounded else None


def _says(text: str) -> bool:
    """Whether a result says something: names, ids and numbers in fields are no statement."""
    if not text.lstrip().startswith(("{", "[")):
        return True
    try:
        return any(_NOT_A_NAME.search(leaf) for leaf in _leaves(json.loads(text)))
    except ValueError:
        return True


def _leaves(value: object) -> Iterator[str]:
    """The texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else ():
        yield from _leaves(item)
    for item in value if isinstance(value, list) else ():
        yield from _leaves(item)


def mended_response(response: object) -> dict[str, Any] | None:
    """A tool's answer as it can be written, stored and sent; None when it is so already."""
    kept = json_safe(response)
    if kept is response:
        return None
    # ADK wraps what is no dictionary, a model too.
    is_whole = isinstance(response, dict) and isinstance(kept, dict)
    return kept if is_whole else {"result": kept}


def note_result(record: TurnRecord, result: ToolResult) -> None:
    """Keep a tool's result as evidence of the turn."""
    record.tool_results.append(result)
    record.emit(ToolFinished(name=result.name, is_error=result.is_error))


def is_failure(response: object) -> bool:
    """Whether a tool answered that it failed."""
    return isinstance(response, dict) and "error" in response


def result_text(response: object) -> str:
    """A tool's answer as text: what is stored of it, so no more than that is shown."""
    kept = json_form(response)
    return kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False)
