"""What a model reply says about itself: who answered, at what cost, with which warnings."""

from typing import NamedTuple

from google.adk.models.llm_response import LlmResponse

from acc_ace.models.resilient import answered_by


class ReplyFacts(NamedTuple):
    """Facts of one model reply; 0 tokens means that the model did not count."""

    model: str
    tokens_in: int
    tokens_out: int
    warnings: tuple[str, ...]


def reply_facts(reply: LlmResponse) -> ReplyFacts:
    """Read usage metadata, and what the resilient model noted in custom metadata."""
    usage = reply.usage_metadata
    answered = answered_by(reply)
    return ReplyFacts(
        model=answered.model or reply.model_version or "",
        tokens_in=(usage.prompt_token_count or 0) if usage else 0,
        tokens_out=(usage.candidates_token_count or 0) if usage else 0,
        warnings=answered.warnings,
    )
