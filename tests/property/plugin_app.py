"""An app under the plugin whose models do in each run what the run was planned to do."""

import asyncio
import json
import warnings
from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace import BoundedMemoryPlugin, build_container
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.adk.sessions.event_retention import Retention
from acc_ace.errors import ModelUnavailable
from acc_ace.models.response_shape import role_of
from config import Settings
from schemas.base import SessionKey
from schemas.limits import Limits
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.scripted_llm import calls, recorded, text_content
from tests.fakes.session_services import close, in_file

KEY = SessionKey("desk", "ops", "s1")
_CALLS: dict[str, Sequence[str]] = {
    "two": ("look", "look"),
    "ask": ("approve",),
    "ask two": ("approve", "approve"),
    "ask and look": ("approve", "look"),
    "look and ask": ("look", "approve"),
    "confirm": ("restart",),
    "confirm and look": ("restart", "look"),
    "ticket and ask": ("ticket", "approve"),
}
"""Steps that call other tools than one of the same name."""

WAITING_STEPS = tuple(step for step in _CALLS if "ask" in step or "confirm" in step)
"""Steps that call what waits for a person."""

WAITING_TOOLS = ("approve", "ticket", "restart", "adk_request_confirmation")
"""Tools whose calls wait for a person."""


@dataclass
class Plan:
    """What the models do in one run, and what they were sent."""

    word: str
    """A marker that all words of this run hold."""
    steps: list[str]
    """What the agents' model answers, one step a request; then the answer."""
    faults: dict[str, str] = field(default_factory=dict)
    """What goes wrong in a role of memory: 'down', 'garbage' or 'hangs'."""
    hung: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something waits that never comes."""
    seen: list[tuple[str, LlmRequest]] = field(default_factory=list)
    """Every request of the run, with the role that was asked."""
    said: int = 0
    invocation: str = ""

    def next(self) -> str:
        return self.steps.pop(0) if self.steps else "answer"

    async def hang(self) -> None:
        self.hung.set()
        await asyncio.Event().wait()

    def text(self) -> str:
        self.said += 1
        return f"It is {self.word}-said{self.said}."


PLAN: ContextVar[Plan] = ContextVar("plan", default=Plan("nobodys", []))  # noqa: B039 - what it sees is nobody's
"""Of the run that the current task drives; nobody's where a process closes what a client left."""


class PlannedLlm(BaseLlm):
    """Plays all roles by the plan of the run it is asked in."""

    model: str = "scripted/planned"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        plan, role = PLAN.get(), role_of(llm_request) or "none"
        plan.seen.append((role, recorded(llm_request)))
        if role != "generator":
            yield _response(await _memory(plan, role, llm_request))
            return
        step = plan.next()
        if step == "hang":
            await plan.hang()
        if step == "down":
            raise RuntimeError("model down")
        if step == "blocked":
            yield LlmResponse(error_code="SAFETY", error_message="blocked")
            return
        content = _content(plan, step)
        if stream and step == "answer":
            for part in content.parts or []:
                yield LlmResponse(content=text_content(part.text or ""), partial=True)
        yield _response(content)


async def _memory(plan: Plan, role: str, request: LlmRequest) -> types.Content:
    fault = plan.faults.get(role, "")
    if fault == "hangs":
        await plan.hang()
    if fault == "down":
        raise ModelUnavailable(f"{role}: no network")
    if fault == "garbage":
        return text_content("} nonsense {")
    reply = default_reply(role_of(request), prompt_text(request))
    return text_content(json.dumps(reply, ensure_ascii=False))


def _response(content: types.Content) -> LlmResponse:
    return LlmResponse(
        content=content, finish_reason=types.FinishReason.STOP, model_version="scripted/planned"
    )


def _content(plan: Plan, step: str) -> types.Content:
    word = {"what": f"{plan.word}-asked"}
    if step == "answer":
        return text_content(plan.text())
    if step == "blank":
        return text_content("")
    if step.startswith("to "):
        return calls(("transfer_to_agent", {"agent_name": step.removeprefix("to ")}))
    if step == "expert":
        return calls(("expert", {"request": f"{plan.word}-request"}))
    if step == "say and look":
        looked = calls(("look", word)).parts or []
        return types.Content(role="model", parts=[types.Part(text=plan.text()), *looked])
    content = calls(*((name, word) for name in _CALLS.get(step, (step,))))
    if step in {"look", "two", "ask", "ask two"}:
        # Some models number their calls anew in each reply.
        for at, part in enumerate(content.parts or []):
            assert part.function_call is not None
            part.function_call.id = f"call_{at}"
    return content


class Names(BasePlugin):
    """Notes which invocation a run is; one that fails early shows no event."""

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        # What a run brings is in the session before the run begins, and a cut falls between.
        return await self.before_run_callback(invocation_context=invocation_context)

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        plan = PLAN.get()
        plan.invocation = plan.invocation or invocation_context.invocation_id
        return None


def look(what: str) -> dict[str, str]:
    """Look something up."""
    return {"found": f"{PLAN.get().word}-found"}


def fails(what: str) -> dict[str, str]:
    """Say that it failed."""
    return {"error": f"{PLAN.get().word}-error"}


def breaks(what: str) -> dict[str, str]:
    """Break."""
    raise ValueError(f"{PLAN.get().word}-broken")


async def waits(what: str) -> dict[str, str]:
    """Never come back."""
    await PLAN.get().hang()
    return {}


def approve(what: str) -> None:
    """Ask a person."""


def ticket(what: str) -> dict[str, str]:
    """File a ticket."""
    return {"status": "pending"}


def restart(what: str) -> dict[str, str]:
    """Restart, once a person has confirmed it."""
    return {"restarted": f"{PLAN.get().word}-restarted"}


def _tools() -> list[Any]:
    return [
        look,
        fails,
        breaks,
        waits,
        LongRunningFunctionTool(approve),
        LongRunningFunctionTool(ticket),
        FunctionTool(restart, require_confirmation=True),
    ]


def _root() -> LlmAgent:
    llm = PlannedLlm()
    expert = LlmAgent(name="expert", model=llm, description="Knows.", tools=[look])
    clerk = LlmAgent(name="clerk", model=llm, description="Files.", tools=_tools())
    return LlmAgent(name="one", model=llm, tools=[*_tools(), AgentTool(expert)], sub_agents=[clerk])


def _line() -> SequentialAgent:
    agents = [LlmAgent(name=name, model=PlannedLlm(), tools=_tools()) for name in ("one", "two")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return SequentialAgent(name="line", sub_agents=list(agents))


def _flow() -> Workflow:
    first = LlmAgent(name="one", model=PlannedLlm(), tools=_tools())
    last = LlmAgent(name="two", model=PlannedLlm(), tools=_tools())
    return Workflow(name="flow", edges=[(START, first, last)])


def _fan() -> ParallelAgent:
    agents = [LlmAgent(name=name, model=PlannedLlm(), tools=_tools()) for name in ("one", "two")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return ParallelAgent(name="fan", sub_agents=list(agents))


ROOTS: dict[str, Callable[[], Any]] = {
    "line": _line,
    "fan": _fan,
    "flow": _flow,
    "tree": _root,
    "alone": lambda: LlmAgent(name="one", model=PlannedLlm(), tools=_tools()),
}


class PlannedApp:
    """One process of the app over a directory; several of them one after the other."""

    def __init__(
        self,
        directory: Path,
        *,
        root: str,
        service: str,
        resumable: bool,
        learning: Literal["off", "inline"],
        memory: InMemorySessionService,
    ) -> None:
        settings = Settings(
            store="sqlite",
            data_dir=directory / "data",
            learning=learning,
            # Less than a lease lasts: a session that nobody gives back is seen.
            limits=Limits(turn_wait_s=10),
        )
        self.container = build_container(settings)
        self.sessions: BaseSessionService = memory
        if service == "adk":
            self.sessions = SqliteSessionService(str(directory / "adk.db"))
        elif service != "memory":
            kind, _, recent = service.partition(" ")
            self.sessions = in_file(
                directory,
                recent_events=int(recent),
                retention=Retention(2) if kind == "trimmed" else None,
            )
        self.plugin = BoundedMemoryPlugin(
            self.container, models=dict.fromkeys(MODEL_ROLES, PlannedLlm())
        )
        app = App(
            name=KEY.app,
            root_agent=ROOTS[root](),
            plugins=[Names("names"), self.plugin],
            resumability_config=ResumabilityConfig(is_resumable=True) if resumable else None,
        )
        self.runner = Runner(app=app, session_service=self.sessions, auto_create_session=True)

    async def close(self) -> None:
        await self.runner.close()
        await close(self.sessions)
        await self.container.close()
