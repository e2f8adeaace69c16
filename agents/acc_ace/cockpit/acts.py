"""One agent three times, side by side: in plain ADK, with ADK's compaction, and under our plugin.

All three are told the same rule and meet the same moments that tempt to break it. What is compared
is whether the forbidden call ran, which the tool itself notes.
"""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from pydantic import BaseModel, Field

from acc_ace.adk.user_content import content_text
from acc_ace.cockpit.obedient import ObedientLlm, texts_of
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import AccAceError
from acc_ace.hooks import GUARD, is_offered
from acc_ace.models.factory import build_model, close_models, describe
from acc_ace.plugin import BoundedMemoryPlugin

ARMS: Final = ("plain", "compaction", "bounded")
"""Who keeps the memory, and in the last one who is asked before a call."""

APP: Final = "side_by_side"
"""The app of the bounded arm, whose memory the cockpit shows as any other's."""

_CALLS: Final = 8
"""Requests of the agent in a turn at most."""

Outcome = Literal["pending", "ran", "asked", "stopped", "idle", "failed"]


class ActCell(BaseModel):
    """What became of the forbidden call in one arm at one moment."""

    arm: str
    outcome: Outcome = "pending"
    detail: str = Field(default="", description="The call, or who stopped it, in its own words.")
    shown: bool = Field(default=False, description="Whether the agent's request held the rule.")


class ActMoment(BaseModel):
    """A message that tempts, and what became of it."""

    title: str
    message: str
    document: str = Field(default="", description="What the agent reads when it does as told.")
    cells: list[ActCell]


class ActsState(BaseModel):
    """What is compared, and how far it is."""

    rule: str
    agent: str = Field(description="The model that acts in all arms; '' for the script.")
    guard: str = Field(description="Mode of the guard of the last arm; 'missing' without it.")
    app: str
    user: str
    session: str
    moments: list[ActMoment]


def acting_model(settings: Settings) -> BaseLlm | None:
    """The model of the settings that answers, to be tempted; None for an embedded one."""
    is_embedded = describe("generator", settings).kind == "embedded"
    return None if is_embedded else build_model("generator", settings)


class Acts:
    """Plays the moments of a talk in each arm; its state can be read at any time."""

    def __init__(
        self, acts: Mapping[str, Any], key: SessionKey, container: Container, agent: BaseLlm | None
    ) -> None:
        """`acts` is that part of a talk, `agent` a real model in place of the script."""
        self._acts = acts
        self._model = agent or ObedientLlm(**acts["script"])
        self._arms = [_Arm(name, self._model, acts, container) for name in ARMS]
        is_there = is_offered(GUARD)
        self.state = ActsState(
            rule=acts["rule"],
            agent=agent.model if agent else "",
            guard=container.settings.guard if is_there else "missing",
            app=APP,
            user=key.user,
            session=key.session,
            moments=[
                ActMoment(**moment, cells=[ActCell(arm=name) for name in ARMS])
                for moment in acts["moments"]
            ],
        )

    async def play(self, *, pace_s: float) -> None:
        """Tell the rule, let time pass, then play each moment, `pace_s` seconds apart.

        An arm that was not told the rule takes part in none.
        """
        try:
            failures = [await self._tell(arm) for arm in self._arms]
            for moment in self.state.moments:
                await asyncio.sleep(pace_s)
                for place, arm in enumerate(self._arms):
                    failure = failures[place]
                    moment.cells[place] = failure or await arm.take(moment.message, self.state)
        finally:
            for arm in self._arms:
                await arm.runner.close()
            await close_models([self._model])

    async def _tell(self, arm: "_Arm") -> ActCell | None:
        """Say the rule and what comes after it; the cell of a turn that failed."""
        for text in (self._acts["rule"], *self._acts["between"]):
            cell = await arm.take(text, self.state)
            if cell.outcome == "failed":
                return cell
        return None


class _Arm:
    """An agent with two tools, in an app of its own."""

    def __init__(
        self, name: str, model: BaseLlm, acts: Mapping[str, Any], container: Container
    ) -> None:
        self._name, self._rule, self._runbook = name, acts["rule"], acts["runbook"]
        self._ran: list[str] = []
        self._shown = False
        agent = LlmAgent(
            name="operator",
            model=model,
            instruction=acts["instruction"],
            tools=[self.restart_service, self.read_runbook],
            before_model_callback=self._look,
        )
        self.runner = Runner(
            app=_app(name, agent, container),
            session_service=InMemorySessionService(),
            auto_create_session=True,
        )

    def restart_service(self, service: str) -> dict[str, str]:
        """Restart a service."""
        self._ran.append(f"restart_service(service='{service}')")
        return {"restarted": service}

    def read_runbook(self, service: str) -> dict[str, str]:
        """Read the runbook of a service. Changes nothing."""
        del service
        return {"runbook": self._runbook}

    async def take(self, text: str, state: ActsState) -> ActCell:
        """What became of the forbidden call in the turn of a message."""
        self._ran.clear()
        self._shown = False
        try:
            events = [
                event
                async for event in self.runner.run_async(
                    user_id=state.user,
                    session_id=state.session,
                    new_message=types.UserContent(text),
                    run_config=RunConfig(max_llm_calls=_CALLS),
                )
            ]
            outcome, detail = _outcome(self._ran, events)
        # ADK wraps what the plugin raises; a call that ran before it did run.
        except (AccAceError, LlmCallsLimitExceededError, RuntimeError) as error:
            outcome, detail = ("ran", self._ran[0]) if self._ran else ("failed", str(error))
        return ActCell(arm=self._name, outcome=outcome, detail=detail, shown=self._shown)

    def _look(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Note whether the request, as it goes out, holds the rule."""
        del callback_context
        self._shown |= any(self._rule in text for text in texts_of(llm_request))


def _app(name: str, agent: LlmAgent, container: Container) -> App:
    if name == "bounded":
        plugin = BoundedMemoryPlugin(container, notes="metadata")
        return App(name=APP, root_agent=agent, plugins=[plugin])
    compaction = None
    if name == "compaction":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # ADK calls it experimental.
            # As in the example of ADK's documentation.
            compaction = EventsCompactionConfig(compaction_interval=3, overlap_size=1)
    return App(name=name, root_agent=agent, events_compaction_config=compaction)


def _outcome(ran: Sequence[str], events: Sequence[Event]) -> tuple[Outcome, str]:
    """By what the tool noted, else by what ADK's events say of the call."""
    hints = [
        asked.hint or ""
        for event in events
        for asked in event.actions.requested_tool_confirmations.values()
    ]
    errors = [
        str((response.response or {}).get("error"))
        for event in events
        for response in event.get_function_responses()
        if response.name == "restart_service" and "error" in (response.response or {})
    ]
    failures = [f"{each.error_code} {each.error_message}" for each in events if each.error_code]
    choices: Sequence[tuple[Outcome, Sequence[str]]] = (
        ("ran", ran),
        ("asked", hints),
        ("stopped", errors),
        ("failed", failures),
    )
    answer = content_text(events[-1].content).text if events else ""
    return next(((name, texts[0]) for name, texts in choices if texts), ("idle", answer))
