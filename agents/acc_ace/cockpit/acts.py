"""One agent three times, side by side: in plain ADK, with ADK's compaction, and under our plugin.

All three are told the same rule and meet the same moments that tempt to break it. What is compared
is whether the forbidden call ran, which the tool itself notes.
"""

import asyncio
import warnings
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from typing import Final, Literal

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
from acc_ace.cockpit.demo import Talk
from acc_ace.cockpit.obedient import ACT, ObedientLlm, texts_of
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import AccAceError
from acc_ace.hooks import GUARD, is_offered
from acc_ace.models.factory import build_model, close_models, describe
from acc_ace.plugin import BoundedMemoryPlugin

ARMS: Final = ("plain", "compaction", "bounded")
"""Who keeps the memory; the last is also the app whose memory the cockpit shows."""

_CALLS: Final = 8
"""Requests of the agent in a turn at most."""

Outcome = Literal["pending", "ran", "asked", "stopped", "idle", "failed"]


class ActCell(BaseModel):
    """What became of the forbidden call in one arm at one moment."""

    arm: str
    outcome: Outcome = "pending"
    detail: str = Field(default="", description="The call, or who stopped it, in its own words.")
    has_rule: bool = Field(default=False, description="Whether the agent's request held the rule.")


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
    moments: list[ActMoment]


def acting_model(settings: Settings) -> BaseLlm | None:
    """The model of the settings that answers, to be tempted; None for an embedded one."""
    is_embedded = describe("generator", settings).kind == "embedded"
    return None if is_embedded else build_model("generator", settings)


class Acts:
    """Plays the moments of a talk in each arm; its state can be read at any time."""

    def __init__(
        self, acts: Talk, key: SessionKey, container: Container, agent: BaseLlm | None
    ) -> None:
        """`acts` is that part of a talk, `agent` a real model in place of the script."""
        self._key = key
        self._told = (acts["rule"], *acts["between"])
        self._model = agent or ObedientLlm(**acts["script"])
        self._arms = [_Arm(name, self._model, acts, container) for name in ARMS]
        cells = [ActCell(arm=name) for name in ARMS]
        self.state = ActsState(
            rule=acts["rule"],
            agent=agent.model if agent else "",
            guard=container.settings.guard if is_offered(GUARD) else "missing",
            moments=[ActMoment(**moment, cells=[*cells]) for moment in acts["moments"]],
        )

    async def play(self, *, pace_s: float) -> None:
        """Tell the rule, let time pass, then play each moment, `pace_s` seconds apart.

        An arm that failed takes part in nothing more: it may not know the rule.
        """
        try:
            for arm, text in product(self._arms, self._told):
                await arm.take(text, self._key)
            for moment in self.state.moments:
                await asyncio.sleep(pace_s)
                for place, arm in enumerate(self._arms):
                    moment.cells[place] = await arm.take(moment.message, self._key)
        finally:
            for arm in self._arms:
                await arm.runner.close()
            await close_models([self._model])


class _Arm:
    """An agent with two tools, in an app of its own."""

    def __init__(self, name: str, model: BaseLlm, acts: Talk, container: Container) -> None:
        self._name, self._acts = name, acts
        self._runs: list[str] = []
        self._has_rule, self._failure = False, ""
        agent = LlmAgent(
            name="operator",
            model=model,
            instruction=acts["instruction"],
            tools=[self.restart_service, self.read_runbook],
            before_model_callback=self._look,
        )
        app = App(
            name=name,
            root_agent=agent,
            plugins=[BoundedMemoryPlugin(container, notes="metadata")] if name == "bounded" else [],
            events_compaction_config=_compaction() if name == "compaction" else None,
        )
        sessions = InMemorySessionService()
        self.runner = Runner(app=app, session_service=sessions, auto_create_session=True)

    def restart_service(self, service: str) -> dict[str, str]:
        """Restart a service."""
        self._runs.append(f"{ACT}(service='{service}')")
        return {"restarted": service}

    def read_runbook(self, service: str) -> dict[str, str]:
        """Read the runbook of a service. Changes nothing."""
        return {"service": service, "runbook": self._acts["runbook"]}

    async def take(self, text: str, key: SessionKey) -> ActCell:
        """What became of the forbidden call in the turn of a message."""
        if self._failure:
            return ActCell(arm=self._name, outcome="failed", detail=self._failure)
        self._runs, self._has_rule, events = [], False, list[Event]()
        message, bounds = types.UserContent(text), RunConfig(max_llm_calls=_CALLS)
        run = self.runner.run_async(
            user_id=key.user, session_id=key.session, new_message=message, run_config=bounds
        )
        try:
            with suppress(LlmCallsLimitExceededError):  # It ends the turn; what ran did run.
                async for event in run:
                    events.append(event)
        # ADK wraps what the plugin raises.
        except (AccAceError, RuntimeError) as error:
            self._failure = str(error)
        outcome, detail = _outcome(self._runs, events, self._failure)
        return ActCell(arm=self._name, outcome=outcome, detail=detail, has_rule=self._has_rule)

    def _look(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Note whether the request, as it goes out, holds the rule."""
        del callback_context
        self._has_rule |= any(self._acts["rule"] in text for text in texts_of(llm_request))


def _compaction() -> EventsCompactionConfig:
    """That of the example in ADK's documentation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ADK calls it experimental.
        return EventsCompactionConfig(compaction_interval=3, overlap_size=1)


def _outcome(runs: Sequence[str], events: Sequence[Event], failure: str) -> tuple[Outcome, str]:
    """By what the tool noted, else by what ADK's events say of its call."""
    hints = [str(c.hint) for e in events for c in e.actions.requested_tool_confirmations.values()]
    results = [each.response or {} for event in events for each in event.get_function_responses()]
    errors = [str(result["error"]) for result in results if "error" in result]
    choices: dict[Outcome, Sequence[str]] = {"ran": runs, "asked": hints, "stopped": errors}
    acts = ((name, text) for name, texts in choices.items() for text in texts if ACT in text)
    failure = failure or next((event.error_code for event in events if event.error_code), "")
    answer = content_text(events[-1].content).text if events else ""
    return next(acts, ("failed", failure) if failure else ("idle", answer))
