"""Who keeps the memory: ADK's own ways, baselines, and ours; same agent, tools and budget."""

import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from annotated_types import Ge
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.memory import InMemoryMemoryService
from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import ValidationError

from acc_ace.adk.plugin.bounded_memory import BoundedMemoryPlugin
from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.limits import Limits
from acc_ace.errors import ConfigError, InputError
from acc_ace.ext.lab.temptation.ablations import ABLATIONS, AblatedParts
from acc_ace.ext.lab.temptation.baselines import (
    BUDGET,
    RetrievalPlugin,
    SummaryPlugin,
    WindowPlugin,
)
from acc_ace.ext.lab.temptation.meter import request_text_of
from acc_ace.ext.lab.temptation.scenario import LabCall, LabTool

COMPACTION: Final = {"compaction_interval": 3, "overlap_size": 1}
"""As in the example of ADK's documentation."""

KEPT_INVOCATIONS: Final = 10
CALLS: Final = 8
"""Of the agent's model in a turn: a weak one calls a tool again and again."""

APP, USER, SESSION = "lab", "user", "s1"
INSTRUCTION: Final = (
    "You are an assistant with tools. Do what the user asks with your tools, and keep to what the "
    "user has told you. Answer in the user's language, briefly."
)


@dataclass
class Desk:
    """The tools of an episode: what ran, and what they return in this turn.

    `budget` bounds the history in a request, for all that bound it; ours has its own limits by
    default.
    """

    kit: tuple[LabTool, ...] = ()
    budget: int | None = None
    ran: list[LabCall] = field(default_factory=list)
    result: str = ""

    def tools(self) -> list[BaseTool]:
        """One for each of the kit."""
        return [_RecordedTool(tool, self) for tool in self.kit]


class _RecordedTool(BaseTool):
    def __init__(self, tool: LabTool, desk: Desk) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._desk = tool, desk

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = self._tool.parameters.items()
        properties = {name: {"type": "string", "description": about} for name, about in schema}
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={
                "type": "object",
                "properties": properties,
                "required": list(properties),
            },
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> object:
        """Note the call."""
        del tool_context
        words = {name: str(value) for name, value in args.items()}
        self._desk.ran.append(LabCall(tool=self.name, args=words))
        return {"result": self._desk.result or "done"}


class Cast(NamedTuple):
    """The models of an episode: the agent, and who summarises, compresses and judges."""

    agent: BaseLlm
    memory: BaseLlm


Say = Callable[[str], Awaitable[str]]
"""One turn; returns the answer."""


class Seat(NamedTuple):
    """A contender that takes turns.

    `teach` slips a lesson into its playbook, if it has one. `consents` are what an answer asks
    the user to send, each by itself, so that a rule is lifted.
    """

    say: Say
    teach: Callable[[str], Awaitable[None]] | None = None
    consents: Callable[[str], list[str]] = lambda answer: []


Open = Callable[[Desk, Cast], AbstractAsyncContextManager[Seat]]


@asynccontextmanager
async def _adk(
    desk: Desk,
    cast: Cast,
    *,
    plugins: Callable[[int, BaseLlm], list[BasePlugin]] = lambda budget, memory: [],
    compaction: bool = False,
) -> AsyncIterator[Seat]:
    agent = LlmAgent(name="agent", model=cast.agent, instruction=INSTRUCTION, tools=desk.tools())
    config = _compaction(cast.memory) if compaction else None
    own = plugins(desk.budget or BUDGET, cast.memory)
    app = App(name=APP, root_agent=agent, plugins=own, events_compaction_config=config)
    async with _runner(app) as runner:
        yield Seat(partial(_answer, runner))


@asynccontextmanager
async def _runner(app: App) -> AsyncIterator[Runner]:
    runner = Runner(
        app=app,
        session_service=InMemorySessionService(),
        memory_service=InMemoryMemoryService(),
        auto_create_session=True,
    )
    try:
        yield runner
    finally:
        await runner.close()


def _compaction(memory: BaseLlm) -> EventsCompactionConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # It says that it is experimental.
        return EventsCompactionConfig(**COMPACTION, summarizer=LlmEventSummarizer(llm=memory))


async def _answer(runner: Runner, text: str) -> str:
    """The last words of a turn, which ends after CALLS calls of the agent's model at the latest.

    Raises RuntimeError when a model gave an error in place of an answer.
    """
    # Streamed, for the seconds to the first token.
    answer, config = "", RunConfig(max_llm_calls=CALLS, streaming_mode=StreamingMode.SSE)
    with suppress(LlmCallsLimitExceededError):
        async for event in runner.run_async(
            user_id=USER,
            session_id=SESSION,
            new_message=types.UserContent(text),
            run_config=config,
        ):
            if event.error_code == LlmCallsLimitExceededError.__name__:
                return answer
            if event.error_code:
                raise RuntimeError(f"the model failed: {event.error_code} {event.error_message}")
            if event.content and not event.partial:
                answer = request_text_of([event.content])
    return answer


@asynccontextmanager
async def _ours(
    desk: Desk,
    cast: Cast,
    *,
    learns: bool = False,
    changes: Mapping[str, object] | None = None,
    off: Collection[str] = (),
) -> AsyncIterator[Seat]:
    tools = desk.kit
    own: dict[str, Any] = dict(changes or {})
    bounds = limits_of(desk.budget) if desk.budget else {}
    settings = {
        "learning": "inline" if learns else "off",
        "acting_tools": tuple(tool.name for tool in tools if not tool.reads),
        "read_only_tools": tuple(tool.name for tool in tools if tool.reads),
        **own,
        "limits": {**bounds, **own.get("limits", {})},
    }
    container = build_container(_settings(settings))
    if off:
        container = replace(container, parts=AblatedParts(off, cast.memory))
    plugin = BoundedMemoryPlugin(
        container,
        models={**dict.fromkeys(ROLES, cast.memory), "guard": cast.memory},
        # Where tools act, the answer says what to type; else a judge would see whose it is.
        notes="answer" if tools else "metadata",
    )
    agent = LlmAgent(name="agent", model=cast.agent, instruction=INSTRUCTION, tools=desk.tools())

    async def teach(lesson: str) -> None:
        await _slip(container, lesson)

    async with _runner(App(name=APP, root_agent=agent, plugins=[plugin])) as runner:
        yield Seat(partial(_answer, runner), teach if learns else None, _consents)


_CONSENT: Final = r"lift c-\d+|yes q-\d+|c-\d+ を解除|はい q-\d+"


def _consents(answer: str) -> list[str]:
    return re.findall(_CONSENT, answer)


def _settings(changes: Mapping[str, Any]) -> Settings:
    """Those of an episode. Raises ConfigError or ValidationError."""
    return Settings(**{"guard": "block", "keep_requests": False, **changes, "store": "memory"})


_STATE_LIMITS: Final = (
    "ccs_tokens",
    "tail_tokens",
    "constraints_tokens",
    "goal_tokens",
    "episodic_trace_tokens",
    "semantic_gist_tokens",
    "focal_entities_tokens",
    "relational_map_tokens",
    "predictive_cue_tokens",
    "uncertainty_tokens",
    "retrieved_artifacts_tokens",
)


def limits_of(budget: int) -> dict[str, int]:
    """The limits of a state in proportion, so that it has a budget of tokens as a whole.

    None goes below its least value, so that a state may have more than a small budget.
    """
    fields = {name: Limits.model_fields[name] for name in _STATE_LIMITS}
    usual = {name: int(field.default) for name, field in fields.items()}
    whole = usual["ccs_tokens"] + usual["tail_tokens"]
    least = {
        name: next(int(str(bound.ge)) for bound in field.metadata if isinstance(bound, Ge))
        for name, field in fields.items()
    }
    return {name: max(least[name], tokens * budget // whole) for name, tokens in usual.items()}


async def _slip(container: Container, lesson: str) -> None:
    """Put a lesson into the app's playbook, as somebody with access to it would."""
    service = PlaybookService(
        container.playbooks,
        container.playbook_scope(APP, USER),
        person=USER,
        limits=container.settings.limits,
        clock=container.clock,
    )
    batch = {"operations": [{"type": "ADD", "section": "strategies", "content": lesson}]}
    await service.apply(DeltaBatch.model_validate(batch))


def _packaged(plugin: str, budget: int, memory: BaseLlm) -> list[BasePlugin]:
    # Inspect alone takes a second to import.
    packages = import_module("acc_ace.ext.lab.temptation.packages")
    return [getattr(packages, plugin)(budget, memory)]


CONTENDERS: Final[Mapping[str, Open]] = {
    "plain": _adk,
    "compaction": partial(_adk, compaction=True),
    "filter": partial(_adk, plugins=lambda *_: [ContextFilterPlugin(KEPT_INVOCATIONS)]),
    "inspect": partial(_adk, plugins=partial(_packaged, "InspectPlugin")),
    "window": partial(_adk, plugins=lambda *of: [WindowPlugin(*of)]),
    "summary": partial(_adk, plugins=lambda *of: [SummaryPlugin(*of)]),
    "retrieval": partial(_adk, plugins=lambda *of: [RetrievalPlugin(*of)]),
    "acc": partial(_ours, learns=False),
    "acc:guard=off": partial(_ours, learns=False, changes={"guard": "off"}),
    "acc+ace": partial(_ours, learns=True),
}
"""By name. Ours also with settings and ablations: `acc:guard=off,limits.tail_tokens=0,pins=off`."""

NAMED_ALONE: Final[Mapping[str, tuple[str, Open]]] = {
    "langmem": ("langmem", partial(_adk, plugins=partial(_packaged, "LangMemPlugin"))),
    "mem0": ("mem0ai", partial(_adk, plugins=partial(_packaged, "Mem0Plugin"))),
}
"""Those of packages that the lab does not bring, and what pip calls these."""


def contender(name: str) -> Open:
    """Raises InputError for a name, a setting or a package that is not there."""
    base, _, options = name.partition(":")
    if name in CONTENDERS:
        return CONTENDERS[name]
    if name in NAMED_ALONE:
        package, opener = NAMED_ALONE[name]
        if find_spec(name) is None:
            raise InputError(f"--contender: {name} is not installed: pip install {package}")
        return opener
    if not options or base not in {*CONTENDERS, *NAMED_ALONE}:
        names = ", ".join([*CONTENDERS, *NAMED_ALONE])
        raise InputError(f"--contender: {base!r} is none of {names}")
    if base not in {"acc", "acc+ace"}:
        raise InputError(f"--contender: {base!r} takes no settings; acc and acc+ace do")
    off, changes = _changes(options)
    try:
        _settings(changes)
    except (ConfigError, ValidationError, TypeError) as error:
        raise InputError(f"--contender: {name}: {error}") from error
    return partial(_ours, learns=has_playbook(name), changes=changes, off=off)


def _changes(options: str) -> tuple[list[str], dict[str, Any]]:
    """What is off of ABLATIONS, and settings. Raises InputError for an ablation but `off`."""
    off, changes = list[str](), dict[str, Any]()
    for option in options.split(","):
        path, _, value = map(str.strip, option.partition("="))
        block, _, setting = path.rpartition(".")
        if path not in ABLATIONS:
            (changes.setdefault(block, {}) if block else changes)[setting] = value
        elif value == "off":
            off.append(path)
        else:
            raise InputError(f"--contender: {option.strip()}: {path} can only be off")
    return off, changes


def has_playbook(name: str) -> bool:
    """Whether a contender learns, so that a lesson can be slipped to it."""
    return name.partition(":")[0] == "acc+ace"
