"""Algorithm 1 runs over any steps that fill its ports."""

import pytest

from acc_ace import Ports, run_turns
from schemas.artifact import Artifact, Recall, RecalledArtifact
from schemas.base import Tenant
from schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry
from schemas.generation import GeneratorOutput
from schemas.interaction import TurnInput
from schemas.qualification import Qualification
from tests.fakes.clock import START

MOST = 2


class Memory:
    """All five steps over a list."""

    def __init__(self, *, fails_at: str = "") -> None:
        self.kept: list[Artifact] = []
        self.seen: list[tuple[str, str]] = []
        self._fails_at = fails_at

    async def recall(self, x_t: TurnInput, previous: CommittedState) -> Recall:
        newest = self.kept[-MOST:]
        found = [RecalledArtifact(artifact=each, score=1.0, why=["new"]) for each in newest]
        return Recall(candidates=found)

    async def qualify(
        self, recalled: Recall, x_t: TurnInput, previous: CommittedState
    ) -> Qualification:
        found = [candidate.artifact for candidate in recalled.candidates]
        return Qualification(qualified=[each for each in found if "secret" not in each.content])

    async def compress(
        self, qualified: Qualification, x_t: TurnInput, previous: CommittedState
    ) -> JournalEntry:
        gist = " | ".join(artifact.content for artifact in qualified.qualified)
        ccs = previous.ccs.model_copy(update={"semantic_gist": gist})
        changes = {"ccs": ccs, "turn": previous.turn + 1, "version": previous.version + 1}
        return JournalEntry(
            kind=CommitKind.COMMIT,
            state=previous.model_copy(update=changes),
            diff=CcsDiff(),
            invocation_id=f"turn-{previous.turn + 1}",
            created_at=START,
        )

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput:
        self.seen.append((state.ccs.semantic_gist, x_t.text))
        if x_t.text == self._fails_at:
            raise RuntimeError("down")
        return GeneratorOutput(final_answer=f"answer {state.turn}")

    async def keep(
        self, x_t: TurnInput, state: CommittedState, decision: GeneratorOutput | None
    ) -> None:
        assert decision is not None
        self.kept.append(
            Artifact(
                artifact_id=f"turn:{state.turn}",
                content=f"{x_t.text} -> {decision.final_answer}",
                source="turn",
                created_at=START,
                tenant=Tenant("app", "user"),
            )
        )


def ports(memory: Memory) -> Ports:
    return Ports(memory, memory, memory, memory, memory)


def said(*texts: str) -> list[TurnInput]:
    return [TurnInput(text=text) for text in texts]


async def test_each_turn_replaces_the_state_and_sees_what_was_kept() -> None:
    memory = Memory()
    turns = await run_turns(ports(memory), said("one", "secret two", "three", "four"))
    assert [turn.state.turn for turn in turns] == [1, 2, 3, 4]
    assert turns[-1].decision == GeneratorOutput(final_answer="answer 4")
    # The agent sees CCS_t and x_t: bounded, and qualified.
    assert memory.seen == [
        ("", "one"),
        ("one -> answer 1", "secret two"),
        ("one -> answer 1", "three"),
        ("three -> answer 3", "four"),
    ]


async def test_turns_go_on_from_a_state() -> None:
    memory = Memory()
    [first] = await run_turns(ports(memory), said("one"))
    [second] = await run_turns(ports(memory), said("two"), begin=first.state)
    assert (second.state.turn, second.state.version) == (2, 2)


async def test_a_turn_that_fails_keeps_nothing() -> None:
    memory = Memory(fails_at="two")
    with pytest.raises(RuntimeError, match="down"):
        await run_turns(ports(memory), said("one", "two"))
    assert [artifact.artifact_id for artifact in memory.kept] == ["turn:1"]
