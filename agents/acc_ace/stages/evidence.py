"""Keep an answered turn: as evidence, and as artifacts that later turns can recall."""

from collections.abc import Mapping

from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.container import Container
from core.turn.keeping import keep_turn
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, Outcome


async def name_evidence(container: Container, record: TurnRecord, invocation_id: str) -> None:
    """Name the evidence of a turn after its invocation, once CCS_{t-1} is known.

    An invocation that ADK runs again has evidence of its own answer already, which may have been
    undone and may stand again; this is another turn, whose name has the version of CCS_t as well.
    So is one after a run that failed when its tools had run: what they returned stays.
    Raises StoreError.
    """
    kept = await container.evidence.find(record.key, invocation_id)
    is_another = kept is not None and (
        kept.outcome is not Outcome.FAILED or bool(kept.tool_results)
    )
    version = record.previous.version + 1
    record.invocation_id = f"{invocation_id}/{version}" if is_another else invocation_id


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
    await keep_turn(container, record.key, interaction)
