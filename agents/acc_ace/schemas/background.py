"""Limits on the cost and size of background learning."""

from pydantic import BaseModel, ConfigDict, Field


class BackgroundLimits(BaseModel):
    """Limits of `learning=background`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
