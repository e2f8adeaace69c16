"""How much each sign of relevance counts when artifacts are ranked."""

from pydantic import BaseModel, ConfigDict, Field


class RecallWeights(BaseModel):
    """Weights of the signs of relevance; 0 switches one off.

    `words` and `letters` blend into one score of x_t between 0 and 1; where there is an embedder,
    `dense` says how much of that score is decided by it. The rest is added to it.
    Where the values come from, and on what they were measured, stands in docs/memory.md.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: float = Field(default=0.6, ge=0, le=1, description="Words of x_t that an artifact has.")
    letters: float = Field(
        default=0.4, ge=0, le=1, description="Trigrams of those words, for other forms of them."
    )
    dense: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of nearness in meaning, in place of words and letters; needs an "
        "embedder.",
    )
    state: float = Field(default=0.4, ge=0, le=1, description="Terms of CCS_{t-1} that it has.")
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
        description="Share of the score of a turn that ends in a question that the next turn "
        "gets; the neighbour's share where that is greater.",
    )
    session: float = Field(
        default=0.3, ge=0, le=1, description="Share of the mean of the best three of its session."
    )
    speaker: float = Field(default=0.15, ge=0, le=1, description="Said by somebody x_t names.")
    period: float = Field(
        default=0.3, ge=0, le=1, description="Made at a time that x_t names ('on 7 May')."
    )
