"""The Compressed Cognitive State: the nine fields of arXiv 2601.11653, section 3.2."""

from typing import Self

from pydantic import Field

from acc_ace.core.schemas.base import FrozenValue, OptionalText


class CompressedCognitiveState(FrozenValue):
    """The bounded internal state that replaces the transcript from turn to turn.

    Everything else that is kept with a state (version, pins, digest) is in
    `acc_ace.core.schemas.commit.CommittedState`; what the CCM replies is a `CompressorReply`.
    """

    episodic_trace: str
    """What happened: the CCM's own words, if any, then line by line the exchanges that it has not
    read whole, which code puts there."""
    semantic_gist: str
    """What the situation is about now, in the abstract."""
    focal_entities: list[str]
    """Entities that decisions depend on, typed: 'server:db-01', 'person:Aiko'."""
    relational_map: list[str] = Field(default_factory=list)
    """Causal, temporal and dependency relations: 'cause: disk full -> db-01 down'."""
    goal_orientation: str
    """The overall goal. Invariant until the user changes it."""
    constraints: list[str]
    """Rules, prohibitions and policies, verbatim. Invariant until released."""
    predictive_cue: OptionalText = None
    """The next step, or what is expected to happen next."""
    uncertainty_signal: str
    """What is not confirmed, open questions, risk."""
    retrieved_artifacts: list[str] = Field(default_factory=list)
    """References with gist, '[artifact_id] gist'; never the content itself."""

    @property
    def without_tail(self) -> Self:
        """The state with nothing but the CCM's own words in its trace."""
        own, mark, _ = self.episodic_trace.partition("\n")
        return self.model_copy(update={"episodic_trace": own}) if mark else self


CCS_FIELDS: tuple[str, ...] = tuple(CompressedCognitiveState.model_fields)
"""The nine field names, in the order of the paper."""


def empty_ccs() -> CompressedCognitiveState:
    """CCS_0: the state before anything was said."""
    return CompressedCognitiveState(
        episodic_trace="",
        semantic_gist="",
        focal_entities=[],
        goal_orientation="",
        constraints=[],
        uncertainty_signal="",
    )
