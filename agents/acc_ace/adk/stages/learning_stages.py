"""Reflector and Curator as stages of the pipeline, or one that queues the turn instead of them."""

from collections.abc import Mapping, Sequence
from functools import partial

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import BaseLlm

from acc_ace.adk.stages.answer_learning import AnswerLearning
from acc_ace.adk.stages.stage import ContentlessStage, State, playbook_projection, step
from acc_ace.adk.user_content import hand_on
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import Value
from acc_ace.hooks import LEARNING, only
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.structured_call import Completion
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


def background_learning(
    container: Container, models: Mapping[Role, BaseLlm] | None
) -> TurnLearning | None:
    """Background learning, if it is configured; raises ConfigError if it cannot be used."""
    if container.settings.learning != "background":
        return None
    return only(LEARNING, "ACC_ACE_LEARNING=background").open_learning(container, models)


def learning_stages(
    records: TurnRecords, learning: AnswerLearning, models: Mapping[Role, Completion]
) -> dict[str, Sequence[ContentlessStage]]:
    """The stages of the Reflector and those of the Curator; `scheduler` where it is later."""

    async def reflect(ctx: InvocationContext, record: TurnRecord) -> State:
        return _hand_on(ctx, keys.REFLECTOR_OUTPUT, await learning.reflect(record, models))

    async def tag(_: InvocationContext, record: TurnRecord) -> State:
        return playbook_projection(record) if await learning.tag(record) else {}

    async def curate(ctx: InvocationContext, record: TurnRecord) -> State:
        return _hand_on(ctx, keys.CURATOR_OUTPUT, await learning.curate(record, models))

    async def update(_: InvocationContext, record: TurnRecord) -> State:
        return playbook_projection(record) if await learning.update(record) else {}

    stage = partial(ContentlessStage, records)
    if learning.is_later:
        return {
            "scheduler": [stage("scheduler", "Lets learning happen later.", step(learning.queue))]
        }
    return {
        "reflector": [
            stage("reflector_", "Reflects.", reflect),
            stage("tag_bullet", "Counts tags on used bullets.", tag),
        ],
        "curator": [
            stage("curator_", "Proposes deltas.", curate),
            stage("playbook_updater", "Applies deltas.", update),
        ],
    }


def _hand_on(ctx: InvocationContext, key: str, value: Value | None) -> State:
    if value is not None:
        hand_on(ctx, key, value.model_dump(mode="json"))
    return {}
