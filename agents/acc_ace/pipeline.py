"""The turn as a pipeline: initialize, recall, qualify, compress, generate; reflect, curate.

The stages run the steps of `turn.algorithm.STEPS`. What the Compressor's model proposes becomes
CCS_t by the five commit rules.

This is the only file that names SequentialAgent. ADK deprecates it in favour of Workflow; the
path there is in docs/adr/0003-sequential-agent.md.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Final

from google.adk.agents import BaseAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.models import BaseLlm

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.bounded_turn import BoundedTurn, SessionPlugin
from acc_ace.adk.stages.acc_stages import Compressor, Qualifier, Recaller
from acc_ace.adk.stages.generator import Generator
from acc_ace.adk.stages.initializer import StateInitializer
from acc_ace.adk.stages.learning_stages import background_learning, learning_stages
from acc_ace.adk.stages.stage import ContentlessStage
from acc_ace.adk.structured_agent import SCHEMAS, StructuredAgent
from acc_ace.adk.tools import build_tools
from acc_ace.config import ROLES, Role
from acc_ace.container import Container
from acc_ace.core.gates.commit_gate import RULES
from acc_ace.core.schemas.base import OWN_APP
from acc_ace.models.factory import build_model, priced_names
from acc_ace.models.resilient import ResilientLlm
from acc_ace.turn.algorithm import check_order
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.structured_call import Completion, Prompts, load_prompts
from acc_ace.turn.turn_record import TurnRecords

APP_NAME = OWN_APP

COMMIT_RULES: Final = RULES
"""What the gate guarantees for any CCS_t that the Compressor's model proposes."""


class RootAgent(BoundedTurn):
    """The bounded turn as this app's root: ADK reads an app's name from the folder of the class."""

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        pipeline: BaseAgent,
        models: Mapping[Role, BaseLlm],
        *,
        learning: TurnLearning | None,
        after: Sequence[ContentlessStage],
    ) -> None:
        super().__init__(container, records, pipeline, models, learning=learning, after=after)


def build_app(container: Container, models: Mapping[Role, BaseLlm] | None = None) -> App:
    """The ADK app; `models` overrides the models of the settings, role by role."""
    root = build_pipeline(container, models)
    return App(name=APP_NAME, root_agent=root, plugins=[SessionPlugin()])


def build_pipeline(
    container: Container, models: Mapping[Role, BaseLlm] | None = None
) -> BoundedTurn:
    """The root agent. Raises ConfigError for a model or tool that cannot be used.

    Also for a model without a price where a ceiling of costs is set.
    """
    chosen = {
        role: (models or {}).get(role) or build_model(role, container.settings) for role in ROLES
    }
    for role in ("qualifier", "compressor", "generator"):
        _report_pressure(container, chosen[role])
    guard = ActGuard(container, (models or {}).get("guard"))
    if guard.model is not None:
        chosen["guard"] = guard.model
    container.spending.require_prices(priced_names(chosen.values()))
    prompts, records = load_prompts(), TurnRecords()
    asked = {
        role: StructuredAgent(
            name=f"{role}_model",
            prompt=getattr(prompts, role),
            model=chosen[role],
            schema=SCHEMAS[role],
            settings=container.settings.agent(role),
        )
        for role in ROLES
        if role != "generator"
    }

    def completions(ctx: InvocationContext) -> dict[Role, Completion]:
        return {role: agent.bind(ctx) for role, agent in asked.items()}

    turn: list[ContentlessStage | Generator] = [
        StateInitializer(container, records),
        Recaller(container, records, completions),
        Qualifier(container, records, completions),
        Compressor(container, records, completions),
        _generator(container, records, chosen["generator"], prompts, guard),
    ]
    learning = background_learning(container, models)
    after = learning_stages(container, records, completions, learning)
    check_order([*turn, *after])
    pair: Sequence[BaseAgent] = after
    if container.settings.learning == "inline":
        pair = (sequence("reflector", *after[:2]), sequence("curator", *after[2:]))
    pipeline = sequence("pipeline", *turn, *pair, description="One bounded turn.")
    return RootAgent(container, records, pipeline, chosen, learning=learning, after=after)


def sequence(name: str, *agents: BaseAgent, description: str = "") -> SequentialAgent:
    """Agents that run one after the other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SequentialAgent is deprecated", DeprecationWarning)
        return SequentialAgent(name=name, sub_agents=list(agents), description=description)


def _generator(
    container: Container,
    records: TurnRecords,
    model: BaseLlm,
    prompts: Prompts,
    guard: ActGuard,
) -> Generator:
    return Generator(
        container,
        records,
        model=model,
        prompt=prompts.generator,
        tools=build_tools(container, records),
        prompt_digests=prompts.digests(),
        guard=guard,
    )


def _report_pressure(container: Container, model: BaseLlm) -> None:
    """Report rate limits of an answering model to the load monitor."""
    if isinstance(model, ResilientLlm):
        model.on_rate_limit(lambda: container.pressure.rate_limited(container.clock.now()))
