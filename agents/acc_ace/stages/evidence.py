"""Keep an answered turn: as evidence, and as artifacts that later turns can recall."""

from collections.abc import Mapping

from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.container import Container
from core.domain.turn_artifacts import turn_artifacts
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, Outcome


async def keep_evidence(
    container: Container,
    record: TurnRecord,
    output: GeneratorOutput,
    *,
    prompt_hashes: Mapping[str, str],
) -> None:
    """Store x_t, the tool loop and the decision of the turn. Raises StoreError."""
    committed = needed(record.committed, "committed", "evidence")
    interaction = Interaction(
        turn=committed.state.turn,
        invocation_id=record.invocation_id,
        input=needed(record.turn_input, "turn_input", "evidence"),
        tool_calls=record.tool_calls,
        tool_results=record.tool_results,
        decision=output,
        outcome=Outcome.ANSWERED,
        ccs_version=committed.state.version,
        playbook_version=record.playbook.version if record.playbook else 0,
        memory=record.memory,
        models={stage: use.model for stage, use in record.stages.items() if use.model},
        prompt_hashes=dict(prompt_hashes),
        created_at=container.clock.now(),
    )
    await container.evidence.record(record.key, interaction)
    limit = container.settings.limits.tool_result_tokens
    await container.artifacts.add(turn_artifacts(record.key, interaction, max_tokens=limit))
