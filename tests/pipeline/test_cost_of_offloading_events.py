"""Events of turns with tools go to long-term memory without a look at other turns' evidence."""

from dataclasses import replace
from typing import Any

from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, TurnInput
from acc_ace.core.schemas.session import PastTurn, Utterance
from acc_ace.turn.event_offload import offload_events
from acc_ace.turn.ports import EvidenceStore
from tests.fakes.clock import START
from tests.fakes.place import Place
from tests.pipeline.talk import KEY


class Listed:
    """Evidence that counts the pages it is asked for."""

    def __init__(self, inner: EvidenceStore) -> None:
        self._inner = inner
        self.pages = 0

    async def list(self, *args: Any, **options: Any) -> Any:
        self.pages += 1
        return await self._inner.list(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def test_a_turn_with_a_tool_is_offloaded_without_a_page_of_evidence(place: Place) -> None:
    container = place.open()
    for turn in range(1, 4):
        decision = GeneratorOutput(final_answer=f"Answer {turn}.")
        asked = TurnInput(text=f"Question {turn}?")
        taken = Interaction(
            turn=turn, invocation_id=f"i-{turn}", input=asked, decision=decision, created_at=START
        )
        await container.evidence.record(KEY, taken)
    listed = Listed(container.evidence)
    evidence: Any = listed
    said = [
        Utterance(speaker="user", text="Question 1?"),
        Utterance(speaker="tool", text="db-01 is up"),
        Utterance(speaker="agent", text="Answer 1."),
    ]
    turns = [PastTurn(invocation_id="i-1", at=START, said=said)]
    await offload_events(replace(container, evidence=evidence), KEY, turns)
    assert listed.pages == 0
    await container.close()
