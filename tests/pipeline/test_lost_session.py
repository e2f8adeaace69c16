"""A turn that lost its session to another process undoes its own state only, never the other's."""

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.conversation import Conversation
from config import ROLES, Settings
from core.bootstrap import build_container
from core.errors import ModelUnavailable
from schemas.commit import JournalEntry
from schemas.interaction import Outcome
from tests.fakes.scripted_llm import Reply, ScriptedLlm
from tests.pipeline.talk import KEY


async def test_what_another_process_committed_meanwhile_stands_when_the_turn_fails() -> None:
    container = build_container(Settings(store="memory"))

    async def answer(_: LlmRequest) -> Reply:
        head = await container.journal.head(KEY)
        assert head is not None
        state = head.state.model_copy(
            update={"version": head.state.version + 1, "turn": head.state.turn + 1}
        )
        others = JournalEntry(
            kind=head.kind,
            state=state,
            diff=head.diff,
            invocation_id="of-another-process",
            created_at=head.created_at,
        )
        await container.journal.append(KEY, others, expected_version=head.state.version)
        return ModelUnavailable("the generator is away")

    llm = ScriptedLlm().on("generator", answer)
    talk = Conversation(container, models=dict.fromkeys(ROLES, llm))
    with pytest.raises(ModelUnavailable):
        await talk.turn(KEY, "Never restart db-01.")
    head = await container.journal.head(KEY)
    assert head is not None
    assert head.invocation_id == "of-another-process"
    (kept,) = await container.evidence.list(KEY)
    assert kept.outcome is Outcome.FAILED
    await talk.close()
