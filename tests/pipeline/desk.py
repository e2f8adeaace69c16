"""Run agents that others wrote under the plugin, with scripted models."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from acc_ace import BoundedMemoryPlugin, Container, build_container
from acc_ace.adk.plugin.run_notes import NotesMode
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.clock import Clock
from config import GuardMode, Role, Settings
from schemas.base import SessionKey
from schemas.interaction import Interaction
from schemas.report import TurnDone, TurnEvent, TurnReport
from tests.fakes.clock import WednesdayClock
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey("desk", "ops", "s1")


@dataclass
class Desk:
    """An app of a foreign root agent with the plugin; `memory` plays the plugin's own roles."""

    root: Any
    settings: Settings = field(default_factory=lambda: Settings(store="memory"))
    memory: ScriptedLlm = field(default_factory=ScriptedLlm)
    others: tuple[BasePlugin, ...] = ()
    resumable: bool = False
    clock: Clock = field(default_factory=WednesdayClock)
    guard: GuardMode | None = None
    judge: BaseLlm | None = None
    notes: NotesMode = "answer"
    search_evidence: bool = True
    sessions: BaseSessionService = field(default_factory=InMemorySessionService)
    over: Container | None = None
    """Stores to share; its own by default."""

    def __post_init__(self) -> None:
        self.container: Container = self.over or build_container(self.settings, self.clock)
        self.reported: list[TurnEvent] = []
        models: dict[Role, BaseLlm] = dict.fromkeys(MODEL_ROLES, self.memory)
        if self.judge is not None:
            models["guard"] = self.judge
        self.plugin = BoundedMemoryPlugin(
            self.container,
            models=models,
            listener=self.reported.append,
            guard=self.guard,
            notes=self.notes,
            search_evidence=self.search_evidence,
        )
        app = App(
            name=KEY.app,
            root_agent=self.root,
            plugins=[self.plugin, *self.others],
            resumability_config=ResumabilityConfig(is_resumable=True) if self.resumable else None,
        )
        self.runner = Runner(app=app, session_service=self.sessions, auto_create_session=True)

    def run(
        self,
        message: str | types.Content,
        *,
        stream: bool = False,
        key: SessionKey = KEY,
        state: dict[str, Any] | None = None,
    ) -> AsyncIterator[Event]:
        """The events of one run."""
        if isinstance(message, str):
            message = types.Content(role="user", parts=[types.Part(text=message)])
        mode = StreamingMode.SSE if stream else StreamingMode.NONE
        return self.runner.run_async(
            user_id=key.user,
            session_id=key.session,
            new_message=message,
            state_delta=state,
            run_config=RunConfig(streaming_mode=mode),
        )

    async def say(self, message: str | types.Content, **options: Any) -> list[Event]:
        """One turn, to its end."""
        return [event async for event in self.run(message, **options)]

    async def ask(self, message: str | types.Content, **options: Any) -> str:
        """The last text that a turn says, without the new rules that code lists below it."""
        texts = [text_of(event) for event in await self.say(message, **options)]
        said = next((text for text in reversed(texts) if text), "")
        return said.partition("\n\nIn force: c-")[0]

    async def constraints(self, key: SessionKey = KEY) -> list[str]:
        """The active constraints."""
        head = await self.container.journal.head(key)
        return head.state.ccs.constraints if head else []

    async def evidence(self, key: SessionKey = KEY) -> list[Interaction]:
        """What was kept, newest first."""
        return list(await self.container.evidence.list(key))

    async def session_state(self) -> dict[str, Any]:
        """What ADK keeps of the session between turns."""
        session = await self.sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        assert session is not None
        return dict(session.state)

    @property
    def reports(self) -> list[TurnReport]:
        """The reports of the finished turns."""
        return [event.report for event in self.reported if isinstance(event, TurnDone)]

    async def settled(self) -> None:
        """Wait until turns that ended without a callback are closed."""
        await asyncio.sleep(0)
        await self.plugin.close()


def with_note(answer: str, rule: str, *, late: bool = False) -> str:
    """An answer with the first rule of a session listed below it as new.

    If `late`, the rule was said in a message that got no answer.
    """
    said = "Also from your earlier message that got no answer:\n" if late else ""
    return f"{answer}\n\n{said}In force: c-0001 {rule} (to take it back, send only: no c-0001)"


def text_of(event: Event) -> str:
    """The text of an event."""
    parts = (event.content.parts if event.content else None) or []
    return "".join(part.text for part in parts if part.text)


def result_of(call: types.FunctionCall, response: dict[str, Any]) -> types.Content:
    """The message with which a person answers a long-running call."""
    answer = types.FunctionResponse(id=call.id, name=call.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


_QUOTED = re.compile(r"- \[[^\]\s]+\] \w+, \d{4}-\d\d-\d\d: .*?(?=\\n|\n|$)")


def unquoted(shown: str) -> str:
    """What a model was shown, without what the state quotes: references and the last exchange."""
    return _TAIL.sub("", _QUOTED.sub("", shown))


_TAIL = re.compile(r"(?:\n|\\n)\| (?:(?!\n|\\n).)*")


def whole(request: LlmRequest) -> str:
    """Everything a request holds, contents and instruction."""
    return f"{request.config.system_instruction}\n" + "\n".join(
        content.model_dump_json(exclude_none=True) for content in request.contents
    )
