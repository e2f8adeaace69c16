"""Put the memory of the turn into a model request, and keep earlier turns out of it.

ADK builds requests from `session.events`: trimmed to the running invocation, no processor, agent
or remote service can put the transcript into one. Nothing is deleted; the events are only absent
from the session object of this run. Events that the session had when the turn was opened are
earlier unless they are of this invocation, even without an id: those that a client seeded have
none. ADK itself adds events without an id while a turn runs, the inputs of workflow nodes; those
come after all events that the turn was opened with.

Where the App has a `context_cache_config`, ADK finds Gemini's explicit cache in those hidden
events. Only the name of the cache is read from them here.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import Session
from google.genai import types

from acc_ace.adk.memory_view import lasting_text, put_changing
from acc_ace.adk.plugin.delivery import PutMemory
from acc_ace.adk.plugin.turn_trigger import turn_events
from acc_ace.adk.user_content import content_text, quote_attachments
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.redaction import stands_for
from acc_ace.errors import MemoryBypassedError
from acc_ace.turn.structured_call import input_value
from acc_ace.turn.turn_record import TurnRecord


def put_memory(
    request: LlmRequest,
    ctx: InvocationContext,
    record: TurnRecord,
    *,
    prompt: Prompt,
    limits: Limits,
) -> PutMemory:
    """Add the playbook excerpt, CCS_t and, unless it is what was said last, x_t.

    Attachments of x_t are shown as quoted data. The excerpt goes behind the agent's instruction;
    an agent with a static instruction keeps it free of that: it comes first in the contents then.
    What changes with each turn is in the contents, so that caches of prefixes hold. Returns what
    was added.
    """
    turn_input, brief = record.start.x_t, record.start.brief(limits)
    quote_attachments(request.contents, turn_input, brief)
    unsaid = None if _ends_with(request, brief) else input_value(brief)
    put_changing(request.contents, record, prompt, current_input=unsaid, apart=True)
    changing, text = _first_text(request.contents), lasting_text(record, prompt, limits)
    name = ctx.agent.name if ctx.agent else ""
    warn = partial(
        record.observer.warn,
        f"a plugin or callback took memory out of a request of '{name}'; it was put back",
    )
    if _takes_instructions(request, ctx):
        request.append_instructions([text])
        return PutMemory(text, (changing,), warn)
    request.contents.insert(0, types.Content(role="user", parts=[types.Part(text=text)]))
    return PutMemory("", (text, changing), warn)


def memory_texts(record: TurnRecord, prompt: Prompt, limits: Limits) -> list[str]:
    """The playbook excerpt and CCS_t, for an agent that has no request here."""
    contents = list[types.Content]()
    put_changing(contents, record, prompt, apart=True)
    return [lasting_text(record, prompt, limits), _first_text(contents)]


def _first_text(contents: Sequence[types.Content]) -> str:
    return "".join(part.text or "" for part in contents[0].parts or [])


def can_take(request: LlmRequest, tool: str) -> bool:
    """Whether one more function can be offered under a name.

    Tools that run at the provider, and output schemas without tools, may exclude functions; a tool
    of the agent's own keeps its name.
    """
    tools = request.config.tools or []
    if not tools and (request.config.response_schema or request.config.response_json_schema):
        return False
    only_functions = all(isinstance(t, types.Tool) and t.function_declarations for t in tools)
    return only_functions and tool not in request.tools_dict


def _ends_with(request: LlmRequest, turn_input: TurnInput) -> bool:
    """Whether x_t is the last message; a result that arrived is in the tool loop."""
    if not turn_input.authority.may_rule:
        parts = [part for content in request.contents for part in content.parts or []]
        return any(part.function_response is not None for part in parts)
    utterances = (_said(content) for content in reversed(request.contents))
    last = next((texts for texts in utterances if texts), ())
    return any(stands_for(turn_input.text, text) for text in last)


def _said(content: types.Content) -> Sequence[str]:
    """What a content says as a user's, whole and part by part; nothing for any other."""
    parts = content.parts or []
    if content.role not in {None, "user"} or any(part.function_response for part in parts):
        return ()
    alone = [types.Content(parts=[part]) for part in parts]
    texts = [content_text(each, name_attachments=True).text for each in (content, *alone)]
    return [text for text in texts if text]


def _takes_instructions(request: LlmRequest, ctx: InvocationContext) -> bool:
    if getattr(ctx.agent, "static_instruction", None):
        return False
    return request.config.system_instruction is None or isinstance(
        request.config.system_instruction, str
    )


async def find_cache(request: LlmRequest, ctx: InvocationContext, events: Iterable[Event]) -> None:
    """Let a request reuse the previous turn's context cache, if caching is configured."""
    if request.cache_config is None or request.cache_metadata is not None:
        return
    session = ctx.session.model_copy(update={"events": list(events)})
    whole = ctx.model_copy(update={"session": session})
    # Imported here: few apps cache, and it brings ADK's flows with it.
    from google.adk.flows.llm_flows.context_cache_processor import (  # noqa: PLC0415
        ContextCacheRequestProcessor,
    )

    async for _ in ContextCacheRequestProcessor().run_async(whole, request):
        pass


RunOfAgent = tuple[str, str | None]
"""Name and branch: one agent may run in several branches at once."""


def _is_seen(event: Event, branch: str | None) -> bool:
    own = event.branch or ""
    return not own or f"{branch or ''}.".startswith(f"{own}.")


class Transcript:
    """The earlier events of one run's session: hidden while agents work, shown to others."""

    def __init__(self, ctx: InvocationContext) -> None:
        """Created when the turn opens: only later events can be of it without naming it."""
        self._ctx = ctx
        self._earlier: list[Event] = []
        self._lent: dict[RunOfAgent, Event] = {}
        own = turn_events(ctx)
        self._opened_by = own[-1].id if own else ""
        self._known = {event.id for event in ctx.session.events} - {event.id for event in own}

    def hide(self) -> None:
        """Leave only this invocation's events in the session object."""
        session: Session = self._ctx.session
        foreign = self._foreign()
        if foreign:
            ids = {event.id for event in self._earlier}
            self._earlier.extend(event for event in foreign if event.id not in ids)
            hidden = {id(event) for event in foreign}
            session.events = [event for event in session.events if id(event) not in hidden]

    def lend(self, event: Event, agent: RunOfAgent) -> None:
        """Show an agent an event before all others, unless one is visible in its branch."""
        if not any(_is_seen(other, event.branch) for other in self._lent.values()):
            self._lent[agent] = event
            self._ctx.session.events.insert(0, event)

    def take_back(self, agent: RunOfAgent) -> None:
        """Leave out what was lent to an agent."""
        event = self._lent.pop(agent, None)
        if event is not None:
            events = self._ctx.session.events
            self._ctx.session.events = [each for each in events if each is not event]

    def leave_out(self, request: LlmRequest) -> None:
        """Leave what was lent out of a request, which gets the memory of its own."""
        lent = [event.content for event in self._lent.values()]
        request.contents = [each for each in request.contents if each not in lent]

    def show(self) -> None:
        """Put the earlier events back, for callbacks after the agents."""
        for agent in (*self._lent,):
            self.take_back(agent)
        if self._earlier:
            self._ctx.session.events = [*self._earlier, *self._ctx.session.events]
            self._earlier = []

    def check(self) -> None:
        """Raise MemoryBypassedError when the agents can see earlier turns."""
        if self._foreign():
            raise MemoryBypassedError(
                f"session '{self._ctx.session.id}' shows earlier turns to the agent; something "
                "reloaded its events during the turn. No request was sent"
            )

    def events(self) -> Iterator[Event]:
        """All loaded events of the session, hidden ones included."""
        return chain(self._earlier, self._ctx.session.events)

    def _foreign(self) -> Sequence[Event]:
        """The visible events that are not of this turn.

        A reload brings other objects, and may bring more than were loaded at first; ids and
        order stay. Without the event that opened the turn, late events cannot be distinguished
        from seeded ones, and none passes.
        """
        events, mine = self._ctx.session.events, self._ctx.invocation_id
        opened = next(
            (at for at, event in enumerate(events) if event.id == self._opened_by), len(events)
        )
        return [
            event
            for at, event in enumerate(events)
            if event.invocation_id != mine
            and (event.invocation_id or at < opened or event.id in self._known)
        ]
