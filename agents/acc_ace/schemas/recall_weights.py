"""Weights of the relevance signals that rank artifacts."""

from pydantic import BaseModel, ConfigDict, Field


class RecallWeights(BaseModel):
    """Weights of the relevance signals; 0 disables one.

    `words` and `letters` blend into one score of x_t between 0 and 1; with an embedder, `dense` is
    the share of that score given to semantic similarity. The other signals are added to it.
    docs/benchmarks.md shows the measurements.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: float = Field(
        default=0.6, ge=0, le=1, description="Weight of words shared with the input (BM25)."
    )
    letters: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Weight of shared trigrams, which match other word forms.",
    )
    dense: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of semantic similarity in the score of words and letters; needs "
        "an embedder.",
    )
    state: float = Field(
        default=0.4, ge=0, le=1, description="Weight of terms shared with the current state."
    )
    neighbour: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of a turn's score that its neighbours get; squared two turns away.",
    )
    answer: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="Share of its score that a turn ending in a question passes to the next turn, "
        "if greater than neighbour.",
    )
    session: float = Field(
        default=0.3, ge=0, le=1, description="Share of the mean score of the session's best three."
    )
    speaker: float = Field(
        default=0.15, ge=0, le=1, description="Bonus if said by someone the input names."
    )
    period: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Bonus if created at a time the input names ('on 7 May').",
    )
