"""Bounds of everything that could grow."""

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Bounds of everything that could grow. Tokens are estimated the same way everywhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ccs_tokens: int = Field(default=1_024, ge=256, le=32_768, description="Whole CCS.")
    constraints_tokens: int = Field(default=400, ge=32, le=16_384, description="All constraints.")
    goal_tokens: int = Field(default=80, ge=16, le=2_048, description="Goal.")
    episodic_trace_tokens: int = Field(default=160, ge=16, le=8_192, description="Episodic trace.")
    semantic_gist_tokens: int = Field(default=100, ge=16, le=8_192, description="Semantic gist.")
    focal_entities_tokens: int = Field(default=100, ge=16, le=8_192, description="Entities.")
    relational_map_tokens: int = Field(default=120, ge=16, le=8_192, description="Relations.")
    predictive_cue_tokens: int = Field(default=60, ge=16, le=2_048, description="Predictive cue.")
    uncertainty_tokens: int = Field(default=80, ge=16, le=2_048, description="Uncertainty.")
    retrieved_artifacts_tokens: int = Field(
        default=120, ge=16, le=8_192, description="References to artifacts."
    )
    list_items: int = Field(default=24, ge=1, le=256, description="Items in a list of the CCS.")
    input_tokens: int = Field(default=8_192, ge=64, le=1_000_000, description="x_t.")
    recall_k: int = Field(default=8, ge=1, le=100, description="Candidates recalled each turn.")
    recall_tokens: int = Field(
        default=4_000, ge=64, le=200_000, description="All recalled candidates together."
    )
    artifact_tokens: int = Field(
        default=500, ge=32, le=32_768, description="One artifact as a stage sees it."
    )
    document_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1_024, description="One document imported from a file."
    )
    upload_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=1_024,
        le=256 * 1024 * 1024,
        description="One document imported by request; it is held in memory meanwhile.",
    )
    document_parts: int = Field(
        default=500_000, ge=1, le=10_000_000, description="Parts, or records, of one document."
    )
    part_tokens: int = Field(
        default=400, ge=32, le=8_192, description="One part of a document; best below artifacts'."
    )
    playbook_prompt_tokens: int = Field(
        default=1_500, ge=64, le=200_000, description="Playbook excerpt in a prompt."
    )
    playbook_bullets: int = Field(default=200, ge=1, le=100_000, description="Bullets kept.")
    playbook_tokens: int = Field(
        default=10_000, ge=32, le=10_000_000, description="Text of all bullets together."
    )
    section_bullets: int = Field(
        default=200, ge=1, le=100_000, description="Bullets kept of one section."
    )
    section_tokens: int = Field(
        default=5_000, ge=32, le=10_000_000, description="Text of all bullets of one section."
    )
    bullet_tokens: int = Field(default=120, ge=8, le=4_096, description="One bullet.")
    delta_operations: int = Field(
        default=16, ge=1, le=1_024, description="Operations taken from one delta batch."
    )
    history_tokens: int = Field(
        default=8_192,
        ge=256,
        le=1_000_000,
        description="Prompt, messages and x_t with the memories window, summary and retrieval.",
    )
    replay_tokens: int = Field(
        default=200_000,
        ge=256,
        le=10_000_000,
        description="Prompt, messages and x_t with the memory replay; a longer transcript fails.",
    )
    summary_tokens: int = Field(
        default=800, ge=32, le=32_768, description="Summary of old turns (memory summary)."
    )
    tool_result_tokens: int = Field(
        default=2_000, ge=64, le=200_000, description="One tool result as the Generator sees it."
    )
    tool_calls: int = Field(default=8, ge=0, le=100, description="Tool calls in one turn.")
    repairs: int = Field(
        default=1, ge=0, le=5, description="Further calls when a reply is not of the schema."
    )
    turn_wait_s: float = Field(
        default=30.0, ge=0, le=3_600, description="Wait for another turn of the session, then 409."
    )
    shutdown_grace_s: float = Field(
        default=20.0, ge=0, le=600, description="Time for a turn to finish at shutdown."
    )
