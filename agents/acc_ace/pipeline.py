"""The turn as a pipeline: initialize, recall, qualify, compress, generate; reflect, curate.

Each stage calls the step of its name in `turn.lifecycle`, as the plugin and the controller do. What
the Compressor's model proposes becomes CCS_t by the five commit rules.

This is the only file that names SequentialAgent, which ADK deprecates in favour of Workflow. Either
runs the stages, as the setting `pipeline` says: docs/adr/0036-the-stages-as-a-workflow.md.
"""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from google.adk.agents import BaseAgent
from google.adk.apps import App
from google.adk.models import BaseLlm

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.bounded_turn import BoundedTurn, SessionPlugin
from acc_ace.adk.stages.generator import Generator
from acc_ace.adk.stages.initializer import opening
from acc_ace.adk.stages.learning_stages import learning_stages
from acc_ace.adk.stages.stage import ContentlessStage, Work, step
from acc_ace.adk.structured_agent import direct_completions
from acc_ace.adk.tools import build_tools
from acc_ace.adk.workflow_sequence import WorkflowSequence
from acc_ace.config import ROLES, Role
from acc_ace.container import Container
from acc_ace.core.schemas.base import OWN_APP
from acc_ace.errors import ConfigError
from acc_ace.model_settings import is_small
from acc_ace.models.resilient import ResilientLlm
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.structured_call import Completion, load_prompts
from acc_ace.turn.turn_record import TurnRecord, TurnRecords

APP_NAME = OWN_APP


class RootAgent(BoundedTurn):
    """The bounded turn as this app's root: ADK reads an app's name from the folder of the class."""

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        pipeline: BaseAgent,
        models: Mapping[Role, BaseLlm],
        *,
        learn: Callable[[TurnRecord], Awaitable[None]],
        learning: TurnLearning | None,
        guard: ActGuard,
    ) -> None:
        super().__init__(
            container, records, pipeline, models, learn=learn, learning=learning, guard=guard
        )


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
    parts = container.parts
    by_role = parts.build_models(ROLES, container.settings, models)
    for role in ("qualifier", "compressor", "generator"):
        _report_pressure(container, by_role[role])
    completions = direct_completions(by_role, container.settings)
    guard = ActGuard(container, (models or {}).get("guard"), compressor=by_role["compressor"])
    if guard.model is not None:
        by_role["guard"] = guard.model
    container.spending.require_prices(parts.priced_names(by_role.values()))
    prompts, records = load_prompts(), TurnRecords()
    learning, background = parts.learning(container, models)
    small = is_small(container.settings.generator)
    generator = Generator(
        container,
        records,
        model=by_role["generator"],
        prompt=prompts.small_generator if small else prompts.generator,
        tools=build_tools(container, records),
        prompt_digests=prompts.digests(),
        guard=guard,
    )
    stages: list[BaseAgent] = [*_steps(container, records, completions), generator]
    line = WorkflowSequence if container.settings.pipeline == "workflow" else sequence
    if container.settings.learning != "off":
        learns = learning_stages(records, learning, completions).items()
        stages += [pair[0] if len(pair) == 1 else line(name, *pair) for name, pair in learns]
    pipeline = line("pipeline", *stages, description="One bounded turn.")
    learn = partial(learning.learn, models=completions)
    return RootAgent(
        container, records, pipeline, by_role, learn=learn, learning=background, guard=guard
    )


class StateInitializer(ContentlessStage):
    """Step 1: takes x_t, loads CCS_{t-1} and the playbook."""

    def __init__(self, records: TurnRecords, work: Work) -> None:
        super().__init__(records, "state_initializer", "Opens the turn.", work)


class Recaller(ContentlessStage):
    """Step 2: finds at most k candidates by x_t and CCS_{t-1}."""

    def __init__(self, records: TurnRecords, work: Work) -> None:
        super().__init__(records, "recaller", "Recalls from external memory.", work)


class Qualifier(ContentlessStage):
    """Step 3: admits what the current decision needs; gives a reason for each candidate."""

    def __init__(self, records: TurnRecords, work: Work) -> None:
        super().__init__(records, "qualifier", "Qualifies candidates.", work)


class Compressor(ContentlessStage):
    """Step 4: prepares CCS_t, which replaces CCS_{t-1} when the turn is committed."""

    def __init__(self, records: TurnRecords, work: Work) -> None:
        super().__init__(records, "compressor", "Prepares CCS_t.", work)


def _steps(
    container: Container,
    records: TurnRecords,
    completions: Mapping[Role, Completion],
) -> list[BaseAgent]:
    """Steps 1 to 4."""
    lifecycle = TurnLifecycle(container)
    return [
        StateInitializer(records, opening(container, lifecycle)),
        Recaller(records, step(lifecycle.recall)),
        Qualifier(records, step(partial(lifecycle.qualify, models=completions))),
        Compressor(records, step(partial(lifecycle.compress, models=completions))),
    ]


def sequence(name: str, *agents: BaseAgent, description: str = "") -> BaseAgent:
    """Agents one after the other. Raises ConfigError for an ADK without SequentialAgent."""
    try:
        from google.adk.agents import SequentialAgent  # noqa: PLC0415 - ADK is going to remove it
    except ImportError as error:
        raise ConfigError(
            "ACC_ACE_PIPELINE=sequential needs SequentialAgent, which this version of google-adk "
            "does not have; set ACC_ACE_PIPELINE=workflow"
        ) from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SequentialAgent is deprecated", DeprecationWarning)
        return SequentialAgent(name=name, sub_agents=list(agents), description=description)


def _report_pressure(container: Container, model: BaseLlm) -> None:
    """Report rate limits of an answering model to the load monitor."""
    if isinstance(model, ResilientLlm):
        model.on_rate_limit(lambda: container.pressure.rate_limited(container.clock.now()))
