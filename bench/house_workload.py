"""A conversation that changes everything: state and playbook at each turn, rules at the start."""

import json
import random
import re
from collections.abc import AsyncGenerator, Iterator

from google.adk.models import BaseLlm
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from bench.house_product import role_of

RULES = (
    "Never restart db-01 during business hours.",
    "Never delete a backup without a second person.",
    "Never page the night shift for a warning.",
    "Always name the ticket in a status update.",
    "Never paste a customer's name into a ticket.",
    "Always ask before you fail over.",
)
"""The inputs after the first, one a turn."""

_GOAL = "Our goal is to keep checkout up and find the cause of each incident."
_HOSTS = ("db-01", "db-02", "cache-03", "web-04", "queue-05", "edge-06", "auth-07", "mail-08")
_SYMPTOMS = (
    "slow queries", "a full disk", "lost heartbeats", "rising latency", "refused connections",
    "a growing backlog", "expired certificates", "memory pressure", "clock drift", "packet loss",
)  # fmt: skip
_CHECKS = (
    "the slow query log", "the inode count", "the switch ports", "the connection pool",
    "the firewall rules", "the consumer offsets", "the certificate store", "the heap histogram",
    "the time servers", "the link counters", "the replication slot", "the cron table",
)  # fmt: skip
_ACTIONS = (
    "draining the node", "rotating the logs", "raising the limit", "moving the leader",
    "opening the port", "adding a consumer", "renewing the chain", "dumping the heap",
    "stepping the clock", "swapping the cable", "dropping the slot", "pausing the job",
)  # fmt: skip
_TEAMS = ("storage", "network", "platform", "payments", "search", "identity", "mobile", "data")
_SECTIONS = ("strategies", "pitfalls", "facts", "checks")
_BULLET = re.compile(r"\[([^\]\s]+)\] helpful=\d")
_NEARLY_FULL_AT = 150
"""Turn from which each new lesson takes the place of an old one; the default budget holds 154."""


def inputs(seed: int = 11) -> Iterator[str]:
    """An endless conversation; the goal and the rules come with the first inputs."""
    rng = random.Random(seed)  # noqa: S311 - a workload, not a secret
    yield from (_GOAL, *RULES)
    while True:
        host, other = rng.sample(_HOSTS, 2)
        yield (
            f"{host} shows {rng.choice(_SYMPTOMS)} at {rng.randint(10, 99)}%, and the "
            f"{rng.choice(_TEAMS)} team suspects {other}. What should we check next?"
        )


def lesson(rng: random.Random, turn: int) -> str:
    """A lesson that no other turn teaches."""
    return (
        f"Before {rng.choice(_ACTIONS)} on {rng.choice(_HOSTS)} for {rng.choice(_SYMPTOMS)}, "
        f"compare {rng.choice(_CHECKS)} with {rng.choice(_CHECKS)}; ticket OPS-{1_000 + turn} of "
        f"the {rng.choice(_TEAMS)} team took {rng.randint(11, 97)} minutes without it."
    )


class ChangingLlm(BaseLlm):
    """Plays every role at once and changes what it says from turn to turn."""

    model: str = "changing/bench"
    turn: int = 0
    """The turn that runs, from 1 on; set from outside."""
    points_at_rules: bool = False
    """As compressor, proposes each rule in its turn; else whoever reads the input must see it."""

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer at once."""
        rng = random.Random(self.turn)  # noqa: S311 - a workload, not a secret
        role = role_of(llm_request)
        has_schema = llm_request.config.response_schema is not None
        reply = _reply(role, rng, self.turn, _BULLET.findall(_text(llm_request)))
        if role == "compressor" and self.points_at_rules:
            reply["rule_changes"] = _rule_changes(self.turn)
        text = json.dumps(reply) if has_schema else str(reply["final_answer"])
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=text)]),
            partial=False,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=1_000, candidates_token_count=100
            ),
        )


def _reply(role: str, rng: random.Random, turn: int, shown: list[str]) -> dict[str, object]:
    used = shown[:3]
    match role:
        case "qualifier":
            return {"decisions": []}
        case "compressor":
            return _state(rng, turn)
        case "reflector":
            return {
                "reasoning": f"Turn {turn} went well with the lessons at hand.",
                "key_insight": lesson(rng, turn),
                "bullet_tags": [{"id": name, "tag": "helpful"} for name in used],
            }
        case "curator":
            return {"reasoning": "A new lesson.", "operations": _operations(rng, turn, shown)}
        case _:
            return {
                "reasoning": [f"looked at the state of turn {turn}"],
                "bullet_ids": used,
                "final_answer": f"Check {rng.choice(_CHECKS)} of {rng.choice(_HOSTS)} first, then "
                f"{rng.choice(_CHECKS)}. Ask the {rng.choice(_TEAMS)} team before "
                f"{rng.choice(_ACTIONS)}; nothing else is changed for now.",
            }


def _operations(rng: random.Random, turn: int, shown: list[str]) -> list[dict[str, str]]:
    """A lesson; in a playbook that is nearly full, after the removal of an old one."""
    old = shown[-1:] if turn > _NEARLY_FULL_AT else []
    section = rng.choice(_SECTIONS)
    return [
        *({"type": "REMOVE", "bullet_id": name} for name in old),
        {"type": "ADD", "section": section, "content": lesson(rng, turn)},
    ]


def _state(rng: random.Random, turn: int) -> dict[str, object]:
    """A state of about the size that the default budgets allow, of which only rules stay."""
    hosts = rng.sample(_HOSTS, 6)
    symptoms, checks = rng.sample(_SYMPTOMS, 5), rng.sample(_CHECKS, 5)
    return {
        "episodic_trace": f"In turn {turn} the user reported {symptoms[0]} on {hosts[0]} at "
        f"{rng.randint(10, 99)}%, after {symptoms[1]} on {hosts[1]} had been cleared; "
        f"{checks[0]} and {checks[1]} were looked at without a result.",
        "semantic_gist": f"{hosts[0]} has {symptoms[0]} and {hosts[2]} may be the cause; the "
        f"{rng.choice(_TEAMS)} team is on call.",
        "focal_entities": [f"server:{host}" for host in hosts],
        "relational_map": [
            f"cause: {symptom} -> {host} down"
            for symptom, host in zip(symptoms, hosts, strict=False)
        ],
        "goal_orientation": _GOAL,
        "constraints": list(RULES[: turn - 1]),
        "predictive_cue": f"Check {checks[2]} of {hosts[0]}, then {checks[3]}.",
        "uncertainty_signal": f"It is not confirmed whether {hosts[3]} shows {symptoms[2]} too.",
        "retrieved_artifacts": [],
    }


def _rule_changes(turn: int) -> list[dict[str, str]]:
    """The rule that the turn's input sets, if any."""
    return [{"kind": "add", "quote": rule} for rule in RULES[max(turn - 2, 0) : turn - 1]]


def _text(request: LlmRequest) -> str:
    texts = [part.text or "" for content in request.contents for part in content.parts or []]
    return f"{request.config.system_instruction}\n" + "\n".join(texts)
