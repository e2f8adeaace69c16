"""Limits on what could grow and on the cost of background learning; weights of recall."""

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Limits on everything that could grow. Token counts are estimates."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    ccs_tokens: int = Field(
        default=1_936, ge=256, le=32_768, description="Maximum tokens of the CCS without its tail."
    )
    tail_tokens: int = Field(
        default=1_200,
        ge=0,
        le=32_768,
        description="Maximum tokens of the exchanges that the Compressor has not read whole; the "
        "last one gets half of them.",
    )
    constraints_tokens: int = Field(
        default=800, ge=32, le=16_384, description="Maximum tokens of all constraints."
    )
    goal_tokens: int = Field(default=80, ge=16, le=2_048, description="Maximum tokens of the goal.")
    episodic_trace_tokens: int = Field(
        default=160, ge=16, le=8_192, description="Maximum tokens of the episodic trace."
    )
    semantic_gist_tokens: int = Field(
        default=100, ge=16, le=8_192, description="Maximum tokens of the semantic gist."
    )
    focal_entities_tokens: int = Field(
        default=100, ge=16, le=8_192, description="Maximum tokens of the focal entities."
    )
    relational_map_tokens: int = Field(
        default=120, ge=16, le=8_192, description="Maximum tokens of the relational map."
    )
    predictive_cue_tokens: int = Field(
        default=60, ge=16, le=2_048, description="Maximum tokens of the predictive cue."
    )
    uncertainty_tokens: int = Field(
        default=80, ge=16, le=2_048, description="Maximum tokens of the uncertainty signal."
    )
    retrieved_artifacts_tokens: int = Field(
        default=480,
        ge=16,
        le=8_192,
        description="Maximum tokens of the artifact references, with what they quote.",
    )
    list_items: int = Field(
        default=24, ge=1, le=256, description="Maximum items in a list of the CCS."
    )
    input_tokens: int = Field(
        default=8_192,
        ge=64,
        le=1_000_000,
        description="Maximum tokens of an input in one request; of a longer one the Compressor "
        "reads pieces, and the answering agent sees beginning and end.",
    )
    read_calls: int = Field(
        default=4,
        ge=2,
        le=64,
        description="Maximum calls of the Compressor in a turn for what was said; what is left is "
        "read in the next turns, and an act asks until then.",
    )
    recall_k: int = Field(default=16, ge=1, le=100, description="Artifacts recalled per turn.")
    recall_tokens: int = Field(
        default=4_000,
        ge=64,
        le=200_000,
        description="Maximum tokens of all recalled artifacts together.",
    )
    artifact_tokens: int = Field(
        default=500,
        ge=32,
        le=32_768,
        description="Maximum tokens of one recalled artifact in a prompt.",
    )
    document_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=1_024,
        description="Maximum bytes of a document imported from a file.",
    )
    upload_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=1_024,
        le=256 * 1024 * 1024,
        description="Maximum bytes of a document uploaded over HTTP; it is read into memory.",
    )
    document_parts: int = Field(
        default=500_000,
        ge=1,
        le=10_000_000,
        description="Maximum chunks (or records) of one document.",
    )
    part_tokens: int = Field(
        default=400,
        ge=32,
        le=8_192,
        description="Maximum tokens of one chunk; keep it below artifact_tokens.",
    )
    playbook_prompt_tokens: int = Field(
        default=1_200,
        ge=64,
        le=200_000,
        description="Maximum tokens of the playbook excerpt in a prompt.",
    )
    playbook_bullets: int = Field(
        default=200, ge=1, le=100_000, description="Maximum bullets of a playbook."
    )
    playbook_tokens: int = Field(
        default=10_000, ge=32, le=10_000_000, description="Maximum tokens of a playbook."
    )
    section_bullets: int = Field(
        default=200, ge=1, le=100_000, description="Maximum bullets of one section."
    )
    section_tokens: int = Field(
        default=5_000, ge=32, le=10_000_000, description="Maximum tokens of one section."
    )
    bullet_tokens: int = Field(
        default=120, ge=8, le=4_096, description="Maximum tokens of one bullet."
    )
    delta_operations: int = Field(
        default=16, ge=1, le=1_024, description="Maximum operations in one delta batch."
    )
    tool_result_tokens: int = Field(
        default=2_000,
        ge=64,
        le=200_000,
        description="Maximum tokens of one tool result in a prompt.",
    )
    tool_calls: int = Field(default=8, ge=0, le=100, description="Maximum tool calls per turn.")
    repairs: int = Field(
        default=1,
        ge=0,
        le=5,
        description="Extra calls to repair a reply that does not match the schema.",
    )
    turn_model_s: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="Seconds that the models of one turn may take together, retries and waits "
        "included, but not while a model of this machine reads a prompt; a stage that the turn can "
        "do without has a third of it. No agent's timeout_s may be longer.",
    )
    breaker_failures: int = Field(
        default=5,
        ge=1,
        le=1_000,
        description="Failed calls in a row after which a model is not called for a while, by "
        "anyone in this process.",
    )
    breaker_pause_s: float = Field(
        default=30.0,
        ge=0,
        le=86_400,
        description="Seconds of that pause; a minute at least, and twice as long each time, when "
        "the server asks for more than 30.",
    )
    turn_wait_s: float = Field(
        default=30.0,
        ge=0,
        le=3_600,
        description="Seconds to wait for a running turn of the session, then 409.",
    )
    receive_s: float = Field(
        default=30.0,
        gt=0,
        le=3_600,
        description="Seconds for a client to send a request's headers, then its body, then 408; "
        "and how long it may read nothing of an answer before it is cut off.",
    )
    requests_per_minute: int = Field(
        default=1_200,
        ge=1,
        le=1_000_000,
        description="Maximum requests of one user in a minute, then 429; files of pages and "
        "probes are not counted.",
    )
    streams: int = Field(
        default=20,
        ge=1,
        le=500,
        description="Maximum streams of one user at a time (news, and turns that are streamed), "
        "then 429.",
    )
    login_tries: int = Field(
        default=10,
        ge=1,
        le=1_000,
        description="Maximum failed sign-ins at /login in a minute from one address, and ten "
        "times as many from all, then 429.",
    )
    shutdown_grace_s: float = Field(
        default=20.0,
        ge=0,
        le=600,
        description="Seconds that running turns get to finish at shutdown.",
    )


class BackgroundLimits(BaseModel):
    """Limits of `learning=background`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    tokens_per_hour: int = Field(
        default=500_000,
        ge=0,
        description="Tokens per hour and app that learning may use; beyond it, jobs wait. "
        "0 = unlimited.",
    )
    queue: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="Maximum waiting jobs; beyond it, the oldest are dropped (shed).",
    )
    workers: int = Field(default=2, ge=1, le=64, description="Concurrent jobs per process.")
    tries: int = Field(default=5, ge=1, le=20, description="Attempts before a job is marked dead.")
    backoff_s: float = Field(
        default=5.0,
        gt=0,
        le=3_600,
        description="Delay after a failed attempt, in seconds; doubles each time.",
    )
    most_turns: int = Field(
        default=8,
        ge=1,
        le=10_000,
        description="Pause learning while more turns than this run in the process.",
    )
    quiet_s: float = Field(
        default=30.0,
        ge=0,
        le=3_600,
        description="Seconds to pause learning after a turn was rate-limited (429).",
    )
    poll_s: float = Field(
        default=1.0, ge=0.05, le=60, description="Polling interval for jobs, in seconds."
    )
    keep_done_s: float = Field(
        default=86_400,
        ge=3_600,
        le=315_360_000,
        description="Seconds to keep finished jobs.",
    )
    keep_dead: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="Maximum dead and shed jobs to keep; the oldest are deleted.",
    )


class RecallWeights(BaseModel):
    """Weights of the relevance signals; 0 disables one.

    `words` and `letters` blend into one score of x_t between 0 and 1; with an embedder, `dense` is
    the share of that score given to semantic similarity. The other signals are added to it.
    docs/benchmarks.md shows the measurements.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    words: float = Field(
        default=0.6, ge=0, le=1, description="Weight of words shared with the input (BM25)."
    )
    letters: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Weight of shared trigrams, which match other word forms.",
    )
    own: float = Field(
        default=1.25,
        ge=0,
        le=4,
        description="Weight of the user's own words beside the whole text that they stand in; "
        "at 1, what the agent answered counts half.",
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
