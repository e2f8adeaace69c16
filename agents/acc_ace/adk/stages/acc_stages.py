"""Recaller, Qualifier, Compressor: each runs one step of Algorithm 1 in the pipeline."""

from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.adk.stages.stage import Completions, ModelStage, State
from acc_ace.container import Container
from acc_ace.turn.algorithm import COMPRESS, QUALIFY, RECALL, Step, run_steps
from acc_ace.turn.steps import TurnSteps
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


class StepStage(ModelStage):
    """A stage that is a step of the turn, with its name, and what it requires and provides."""

    _step: Step = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        completions: Completions,
        step: Step,
        description: str,
    ) -> None:
        super().__init__(container, records, completions, name=step.name, description=description)
        self._step = step

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Run the step. Raises CommitRejected or StoreError."""
        steps = TurnSteps(
            self._container, record, self._completions(ctx), invocation_id=ctx.invocation_id
        )
        await run_steps([self._step], steps.ports(), record)
        return {}


class Recaller(StepStage):
    """Finds at most k candidates by x_t and CCS_{t-1}."""

    requires: ClassVar[frozenset[str]] = RECALL.requires
    provides: ClassVar[frozenset[str]] = RECALL.provides

    def __init__(
        self, container: Container, records: TurnRecords, completions: Completions
    ) -> None:
        super().__init__(container, records, completions, RECALL, "Recalls from external memory.")


class Qualifier(StepStage):
    """Admits what the current decision needs; gives a reason for each candidate."""

    requires: ClassVar[frozenset[str]] = QUALIFY.requires
    provides: ClassVar[frozenset[str]] = QUALIFY.provides

    def __init__(
        self, container: Container, records: TurnRecords, completions: Completions
    ) -> None:
        super().__init__(container, records, completions, QUALIFY, "Qualifies candidates.")


class Compressor(StepStage):
    """Prepares CCS_t, which replaces CCS_{t-1} when the turn is committed."""

    requires: ClassVar[frozenset[str]] = COMPRESS.requires
    provides: ClassVar[frozenset[str]] = COMPRESS.provides

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        completions: Completions,
    ) -> None:
        super().__init__(container, records, completions, COMPRESS, "Prepares CCS_t.")
