"""The same work for every contender: inputs of a long operations conversation, and answers."""

import json
import random
from collections.abc import AsyncGenerator, Iterator

from google.adk.models import BaseLlm
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.models.response_shape import role_of

_HOSTS = ("db-01", "db-02", "cache-03", "web-04", "queue-05", "edge-06", "auth-07", "mail-08")
_FACTS = ("disk is {n}% full", "latency is {n} ms", "shows {n} errors", "was restarted {n} h ago")
_ASKS = ("What changed since?", "Is that expected?", "Who owns it?", "What should we check next?")


def inputs(seed: int = 7) -> Iterator[str]:
    """An endless conversation; the rule comes with the first input."""
    rng = random.Random(seed)  # noqa: S311 - a workload, not a secret
    yield "Help me keep checkout up. No restarts during business hours."
    while True:
        fact = rng.choice(_FACTS).format(n=rng.randint(1, 99))
        yield f"{rng.choice(_HOSTS)} {fact}. {rng.choice(_ASKS)}"


class InstantLlm(BaseLlm):
    """Answers every role at once with outputs of a constant size, and counts what it was sent."""

    model: str = "instant/bench"
    prompt_tokens: dict[str, int] = Field(default_factory=dict)

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer; the tokens of the request are kept by role."""
        role = role_of(llm_request) or "generator"
        self.prompt_tokens[role] = estimate_tokens(request_text(llm_request))
        has_schema = llm_request.config.response_schema is not None
        text = json.dumps(_REPLIES[role]) if has_schema else _ANSWER
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=text)]),
            partial=False,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=self.prompt_tokens[role],
                candidates_token_count=estimate_tokens(text),
            ),
        )


def request_text(request: LlmRequest) -> str:
    """The system instruction and the contents, in the order a model reads them."""
    texts = [part.text or "" for content in request.contents for part in content.parts or []]
    return f"{request.config.system_instruction}\n" + "\n".join(texts)


_ANSWER = (
    "The host is above its usual level. Check the slow query log first, then the connection pool, "
    "and keep the failover ready. Nothing is restarted during business hours."
)
_REPLIES: dict[str, dict[str, object]] = {
    "qualifier": {"decisions": []},
    "compressor": {
        "episodic_trace": "The user reported a host above its usual level and asked what is next.",
        "semantic_gist": "Checkout is kept up while several hosts show load.",
        "focal_entities": ["server:db-01", "service:checkout"],
        "relational_map": ["cause: slow queries -> db-01 latency"],
        "goal_orientation": "Help me keep checkout up.",
        "constraints": ["No restarts during business hours."],
        "predictive_cue": "Check the slow query log.",
        "uncertainty_signal": "It is not confirmed who owns the host.",
        "retrieved_artifacts": [],
    },
    "generator": {"reasoning": ["looked at the state"], "bullet_ids": [], "final_answer": _ANSWER},
    "reflector": {"reasoning": "Nothing to learn.", "key_insight": "", "bullet_tags": []},
    "curator": {"reasoning": "Nothing to change.", "operations": []},
}


def answer() -> str:
    """The text that the answering model says."""
    return _ANSWER


def state(turn: int) -> dict[str, object]:
    """A state after a turn, as session.state keeps it."""
    ccs = CompressedCognitiveState.model_validate(_REPLIES["compressor"])
    return CommittedState(version=turn + 1, turn=turn + 1, ccs=ccs).to_state()
