"""Keep session.state['ccs'] and ['app:playbook'] what they are: projections that only we write."""

import logging

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event

from acc_ace.adk.stages.learning_context import playbook_projection
from acc_ace.schemas import state as keys
from acc_ace.turn.turn_record import TurnRecord

logger = logging.getLogger(__name__)


def take_back_writes(ctx: InvocationContext, event: Event, record: TurnRecord) -> None:
    """Drop what a tool or model callback wrote under our keys, and say so."""
    for key in sorted(keys.PERSISTED & event.actions.state_delta.keys()):
        del event.actions.state_delta[key]
        true = _projections(record).get(key)
        # A tool's write is in the running session already, before its event is.
        if true is None:
            ctx.session.state.pop(key, None)
        else:
            ctx.session.state[key] = true
        logger.warning("state_write_ignored session=%s key=%s", record.key.session, key)
        record.warn(f"a tool wrote session.state['{key}']; it was ignored")


def _projections(record: TurnRecord) -> dict[str, object]:
    before = record.previous
    ccs = {keys.CCS: before.to_state()} if before.version else {}
    return {**ccs, **playbook_projection(record)}
