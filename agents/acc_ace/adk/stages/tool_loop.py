"""Bounds, evidence and ids of the Generator's tool loop, as ADK callbacks.

No two calls share an id, even if a model repeats ids.
"""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.act_reading import is_own
from acc_ace.adk.memory_view import put_changing
from acc_ace.adk.model_calls import count_failure, count_reply, note_request
from acc_ace.adk.sessions.json_safe import json_form, json_safe
from acc_ace.adk.user_content import quote_attachments
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import ToolCall, ToolResult
from acc_ace.core.schemas.report import ToolFinished
from acc_ace.core.text.prompt import Prompt, write_input
from acc_ace.core.text.rules.contradiction import flag_contradiction, screened_input
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import AccAceError, ModelOutputError
from acc_ace.memory.turn_artifacts import SEARCH_TOOL
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.structured_call import input_value
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

_COUNTED: Final = re.compile(r"((?:.*[^0-9A-Za-z])?)[0-9]{1,6}", re.DOTALL)
"""Ids that a model numbers, as in 'call_0', from the start in each reply or conversation."""

_NUMBERS: Final = 10**18
"""Upper bound of the random number that replaces a counted one."""


_NOT_A_NAME: Final = re.compile(r"\S\s+\S|[^\x00-\x7f]")
"""Matches prose; names and ids do not match."""


def keep_calls_apart(
    response: LlmResponse, record: TurnRecord, ctx: CallbackContext, earlier: Iterable[Event]
) -> None:
    """Replace the ids of a reply's calls that are taken, or only numbered.

    ADK, evidence and most models match results to calls by the id alone. Taken are the ids
    of this turn, of the messages that the model is shown, and of `earlier` events, where a call
    may still wait for a person. Older events are not loaded, and a person's answer to one of
    their calls, sent again, must not count as consent to another one: so a numbered id is
    always replaced. The prefix of the number stays, because some models name the function
    there and nowhere else. A call has the same id in every chunk of a streamed reply and in the
    whole reply. ADK gives an id to a call without one.
    """
    parts = (response.content.parts if response.content else None) or []
    # Agents may run in parallel in one turn.
    speaker = (ctx.invocation_id, ctx.agent_name)
    streamed = record.tools.streamed.setdefault(speaker, {})
    if response.content is not None and any(_id(part) for part in parts):
        _note_taken(record, earlier)
        own = [_own(part, record.tools.ids, streamed, partial=response.partial) for part in parts]
        # A copy: the model may hold a reference to its reply.
        response.content = response.content.model_copy(update={"parts": own})
    if not response.partial:
        del record.tools.streamed[speaker]


def _note_taken(record: TurnRecord, earlier: Iterable[Event]) -> None:
    taken = record.tools.ids
    if not taken:
        taken |= {call.id or "" for e in earlier for call in e.get_function_calls()}
    taken |= {call.id for call in record.tools.calls}


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
    """The id itself if it is free, or a similar one."""
    if counted := _COUNTED.fullmatch(name):
        return f"{counted[1]}{SystemRandom().randrange(_NUMBERS // 10, _NUMBERS)}"
    return f"call_{uuid4().hex}" if name in taken else name


def _id(part: types.Part) -> str:
    return (part.function_call.id if part.function_call else None) or ""


logger = logging.getLogger(__name__)

WHOLE_CHARS = 1_000_000
"""Characters of a cut result that are kept as evidence."""

_SPARE_CALLS = 3
"""Model calls beyond one for each allowed tool and repair: the answer, and two wasted ones."""


class AgentCalls:
    """The book of a turn's agents: what they ask of models and tools is counted, checked, kept."""

    def __init__(self, container: Container, guard: ActGuard) -> None:
        self._limits, self._guard = container.settings.limits, guard
        self._lifecycle = TurnLifecycle(container)

    def replied(
        self,
        record: TurnRecord,
        ctx: CallbackContext,
        reply: LlmResponse,
        earlier: Iterable[Event],
        *,
        model: str = "",
    ) -> None:
        """Count what a reply took; let no two calls have the same id.

        `model` is the name under which it was asked, `earlier` as in `keep_calls_apart`.
        """
        count_reply(record.observer, ctx, reply, model=model)
        keep_calls_apart(reply, record, ctx, earlier)

    async def started(
        self, record: TurnRecord, tool: BaseTool, args: Mapping[str, Any], ctx: ToolContext
    ) -> dict[str, Any] | None:
        """Record that an acting tool is about to run; else the result to give in its place.

        Raises StoreError.
        """
        guarded = await self._guard.check(tool, args, ctx, record)
        if guarded is not None:
            return guarded
        call_id = ctx.function_call_id or ""
        refusal = await self._lifecycle.start_tool(record, call_id, tool.name, args)
        return {"error": refusal} if refusal else None

    def ended(
        self, record: TurnRecord, tool: BaseTool, ctx: ToolContext, text: str, *, is_error: bool
    ) -> None:
        """Keep a tool's result as evidence of the turn: the first one of its call.

        ADK hands the answer that a failure was given to the callback of results as well.
        """
        limit, call_id = self._limits.tool_result_tokens, ctx.function_call_id
        result = tool_result(tool.name, call_id, text, is_error=is_error, max_tokens=limit)
        if any(each.tool_call_id == result.tool_call_id for each in record.tools.results):
            return
        record.tools.results.append(result)
        record.observer.emit(ToolFinished(name=tool.name, is_error=is_error))


class ToolLoop(AgentCalls):
    """Callbacks of the inner LlmAgent; they work on the record of the running turn."""

    def __init__(
        self, container: Container, records: TurnRecords, guard: ActGuard, prompt: Prompt
    ) -> None:
        super().__init__(container, guard)
        self._records, self._prompt = records, prompt

    def before_model(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put memory before x_t, quoted if not the user's; end a loop without tool calls left."""
        record = self._record(callback_context)
        record.observer.budget.begin()
        self._quote_input(record, llm_request)
        if record.tools.calls:
            limit = self._limits.tool_result_tokens
            bound_results(llm_request, limit, record.rules, screened=SEARCH_TOOL)
        # x_t, the last message, is there already, with this turn's tool loop after it.
        put_changing(llm_request.contents, record, self._prompt)
        used = len(record.tools.calls)
        if used >= self._limits.tool_calls:
            llm_request.config.tools = None
            llm_request.tools_dict = {}
        # Counted by reply, not by tool: a reply may hold many calls, or one that is no tool.
        record.tools.replies += 1
        if record.tools.replies > self._limits.tool_calls + self._limits.repairs + _SPARE_CALLS:
            raise ModelOutputError(
                f"generator: no answer after {used} tool calls, {record.tools.replies - 1} replies "
                f"(limit {self._limits.tool_calls}, ACC_ACE_LIMITS__TOOL_CALLS)"
            )
        self._guard.note(record, llm_request.tools_dict)
        text = record.start.brief(self._limits).text
        note_request(record.observer, callback_context, llm_request, text)
        return None

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Count what the reply took; let no two calls have the same id."""
        record, earlier = self._record(callback_context), callback_context.session.events
        self.replied(record, callback_context, llm_response, earlier)

    def on_model_error(
        self, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Count what was tried in vain; the error ends the turn."""
        count_failure(self._record(callback_context).observer, callback_context, error)

    async def before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Run no tool beyond the limit; record that an acting tool is about to run."""
        record, name = self._record(tool_context), tool_context.function_call_id or ""
        if all(call.id != name for call in record.tools.calls):
            # Asked for in an earlier turn, and confirmed by a person only now.
            record.tools.calls.append(ToolCall(id=name, name=tool.name, args=args))
        # One reply may ask for any number of calls, and an id may come again, in replies that ADK
        # kept before a pause: so calls are counted.
        record.tools.started += 1
        if record.tools.started <= self._limits.tool_calls:
            if is_own(tool):
                return None
            return await self.started(record, tool, args, tool_context)
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
        """Keep the result as evidence; the event has it whole, as JSON."""
        record, text = self._record(tool_context), result_text(tool_response)
        self.ended(record, tool, tool_context, text, is_error=is_failure(tool_response))
        return mended_response(tool_response)

    def on_tool_error(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        """Report the failure to the model instead of ending the turn."""
        if isinstance(error, asyncio.CancelledError):
            return None  # Its outcome is unknown.
        logger.warning("tool_failed tool=%s error=%s", tool.name, type(error).__name__)
        detail = str(error) if isinstance(error, AccAceError | ValueError) else type(error).__name__
        text = f"{tool.name} failed: {detail}"
        self.ended(self._record(tool_context), tool, tool_context, text, is_error=True)
        return {"error": clip_tokens(text, self._limits.tool_result_tokens)}

    def _quote_input(self, record: TurnRecord, llm_request: LlmRequest) -> None:
        turn_input = record.start.turn_input
        if turn_input is None or not llm_request.contents:
            return
        first, brief = llm_request.contents[0], record.start.brief(self._limits)
        is_said = [part.text for part in first.parts or []][:1] == [turn_input.text]
        if is_said and not turn_input.authority.may_rule:
            shown = input_value(screened_input(brief, record.rules))
            quoted = types.Part(text=write_input("current_input", shown))
            # The model is asked this, by any author; the block names the authority.
            llm_request.contents[0] = types.Content(role="user", parts=[quoted])
        quote_attachments(llm_request.contents, turn_input, brief)

    def _record(self, context: CallbackContext) -> TurnRecord:
        session = context.session
        return self._records.get(SessionKey(session.app_name, session.user_id, session.id))


def bound_results(
    request: LlmRequest, max_tokens: int, rules: Sequence[ConstraintPin] = (), *, screened: str = ""
) -> None:
    """Cut long tool results of a request; put rules beside those that contradict one.

    Results of the tool `screened` are screened already. The request shares its parts with the
    session's events, so a part is replaced, not changed.
    """
    for at, content in enumerate(request.contents):
        parts = [_bounded(part, max_tokens, rules, screened) for part in content.parts or []]
        if any(new is not old for new, old in zip(parts, content.parts or [], strict=True)):
            request.contents[at] = content.model_copy(update={"parts": parts})


def _bounded(
    part: types.Part, max_tokens: int, rules: Sequence[ConstraintPin], screened: str
) -> types.Part:
    response = part.function_response
    if response is None:
        return part
    against = () if screened and response.name == screened else rules
    shown = shown_response(result_text(response.response), max_tokens, against)
    if shown is None:
        return part
    changed = response.model_copy(update={"response": shown})
    return part.model_copy(update={"function_response": changed})


def shown_response(
    text: str, max_tokens: int, rules: Sequence[ConstraintPin]
) -> dict[str, Any] | None:
    """The version of a result that a model is shown; None when that is the result itself.

    One that is too long is marked as cut, one that contradicts a rule has the rule beside it.
    """
    bounded = clip_tokens(text, max_tokens)
    cut = {} if bounded == text else {"truncated": True}
    beside = flag_contradiction(bounded, rules) if _is_prose(text) else bounded
    return {"result": beside, **cut} if cut or beside != bounded else None


def _is_prose(text: str) -> bool:
    """Whether a result holds prose: names, ids and numbers in fields state nothing."""
    if not text.lstrip().startswith(("{", "[")):
        return True
    try:
        return any(_NOT_A_NAME.search(leaf) for leaf in _leaves(json.loads(text)))
    except ValueError:
        return True


def _leaves(value: object) -> Iterator[str]:
    """The strings in a JSON value."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else ():
        yield from _leaves(item)
    for item in value if isinstance(value, list) else ():
        yield from _leaves(item)


def mended_response(response: object) -> dict[str, Any] | None:
    """A tool's answer made JSON-safe; None when it is JSON-safe already."""
    plain = json_safe(response)
    if plain is response:
        return None
    # ADK wraps everything but dictionaries, Pydantic models included.
    is_whole = isinstance(response, dict) and isinstance(plain, dict)
    return plain if is_whole else {"result": plain}


def tool_result(
    name: str, call_id: str | None, text: str, *, is_error: bool, max_tokens: int
) -> ToolResult:
    """A tool's result as evidence: cut to its bound, with the whole text beside it if cut."""
    bounded = clip_tokens(text, max_tokens)
    return ToolResult(
        tool_call_id=call_id or "",
        name=name,
        result=bounded,
        is_error=is_error,
        whole=None if bounded == text else text[:WHOLE_CHARS],
    )


def is_failure(response: object) -> bool:
    """Whether a tool answered that it failed."""
    return isinstance(response, dict) and "error" in response


def result_text(response: object) -> str:
    """A tool's answer as text, as it is stored: no more than that is shown."""
    plain = json_form(response)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
