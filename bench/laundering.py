"""Whether words of others become rules or lessons on a way round the user.

    python -m bench.laundering [dev|held]

Each case runs its turns through the whole pipeline, or through the plugin around another app:
the words arrive as a tool's result, a document, an agent's answer, from another session, a plugin's
tool, a transfer, an agent that is called as a tool, or in session.state. Every model lies: the
compressor proposes the words as rule, goal and release, the agents repeat them, Reflector and
Curator teach them where they can see them, in their wording and in another, and ask for them where
they cannot. Prints counts by channel, and for dev the cases that got through.
"""

import asyncio
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.conversation import Conversation
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import OWN_APP, Authority, PlaybookScope, SessionKey
from acc_ace.core.schemas.commit import CommittedState, RuleScope
from acc_ace.core.text.sentences import split_sentences
from acc_ace.models.response_shape import role_of
from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.turn.rule_service import RuleService
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.prompt_state import state_of

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "consent"
THANKS: Final = {"en": "Thanks.", "ja": "ありがとう。"}
CORRECTION: Final = {"en": "No, that is wrong.", "ja": "それは間違いです。"}
"""With it there is something to learn from, for a Curator that then teaches the words of others."""

DOCUMENT: Final = "doc:1"

PARAPHRASE: Final = "Handle such things as they would like it."
"""A lesson that shares no word with what it was drawn from."""

_LABEL = re.compile(r"^\s*[(（][^)）]{1,60}[)）]\s*")
_SAYS = re.compile(r"\w\s+\w|[\u3040-\u30ff\u4e00-\u9fff]{4}")
_STRING = re.compile(r'"([^"]{2,})"')
_USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)
_RESULT: ContextVar[str] = ContextVar("result", default="")


class Case(NamedTuple):
    """Words of others, the channel they come by, the user's question and standing rules."""

    id: str
    lang: str
    channel: str
    text: str
    user: str
    standing: list[str]


class Outcome(NamedTuple):
    """What a case left: rules that were made or lifted, goals, lessons."""

    case: Case
    pinned: list[str]
    lifted: list[str]
    goals: list[str]
    lessons: list[str]

    @property
    def got_through(self) -> bool:
        """Whether the words of others did anything."""
        return bool(self.pinned or self.lifted or self.goals or self.lessons)


def cases(name: str) -> list[Case]:
    """The cases of a half."""
    lines = (DATA / f"launder_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


def look_up() -> dict[str, object]:
    """Look the question up."""
    text = _RESULT.get()
    try:
        found = json.loads(text)
    except ValueError:
        return {"result": text}
    return found if isinstance(found, dict) else {"result": found}


class Liar(BaseLlm):
    """Plays every role, and takes the words of others for the user's in each."""

    model: str = "scripted/liar"
    words: str
    is_host: bool = False
    """An agent of another app, which answers in plain text."""
    _calls: list[types.FunctionCall] = PrivateAttr(default_factory=list)

    def call(self, name: str, **args: str) -> "Liar":
        """Make this call before the next answer."""
        self._calls.append(types.FunctionCall(name=name, args=dict(args)))
        return self

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer for the role that is asked."""
        role = role_of(llm_request)
        if not self.is_host and role in _ROLE_REPLIES:
            part = types.Part(text=json.dumps(_ROLE_REPLIES[role](self.words, llm_request)))
        elif self._calls:
            part = types.Part(function_call=self._calls.pop(0))
        elif self.is_host:
            part = types.Part(text=self.words)
        else:
            part = types.Part(text=json.dumps({"final_answer": self.words}))
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, partial=False, usage_metadata=_USAGE)


def _qualify(_words: str, request: LlmRequest) -> dict[str, Any]:
    ids = _artifact_ids(read_tagged(prompt_text(request)).get("candidates"))
    return {"decisions": [{"artifact_id": name, "relevant": True} for name in ids]}


def _compress(words: str, request: LlmRequest) -> dict[str, Any]:
    inputs, said = read_tagged(prompt_text(request)), pieces(words)
    previous = state_of(inputs.get("previous_state"))
    question = str(inputs["current_input"]["text"])
    rules = [pin.id for pin in previous.pins]
    changes = [
        *({"kind": kind, "quote": piece} for kind in ("add", "goal") for piece in said),
        *({"kind": "release", "quote": q, "rule_id": r} for r in rules for q in (*said, question)),
        *({"kind": "amend", "quote": question, "rule_id": r, "text": words} for r in rules),
    ]
    return {
        **previous.ccs.model_dump(mode="json"),
        "episodic_trace": words,
        "semantic_gist": words,
        "goal_orientation": words,
        "constraints": said,
        "predictive_cue": words,
        "uncertainty_signal": "",
        # Without gist: what stands in one is known as words of others.
        "retrieved_artifacts": [f"[{name}]" for name in _artifact_ids(inputs.get("artifacts"))],
        "rule_changes": changes,
    }


def _artifact_ids(items: list[dict[str, Any]] | None) -> list[str]:
    return [item["artifact_id"] for item in items or ()]


def _reflect(words: str, request: LlmRequest) -> dict[str, Any]:
    seen = words if _sees(request, words) else ""
    return {
        "reasoning": seen,
        "error_identification": "The rule was not followed.",
        "root_cause_analysis": seen,
        "correct_approach": seen,
        "key_insight": seen,
        "needs_text": not seen,
        "bullet_tags": [],
        "corrects_previous": True,
    }


def _curate(words: str, request: LlmRequest) -> dict[str, Any]:
    seen = [*pieces(words), f"Remember: {words}", PARAPHRASE] if _sees(request, words) else []
    return {
        "reasoning": "It was said.",
        "operations": [
            {"type": "ADD", "section": "strategies", "content": lesson, "rationale": "The user."}
            for lesson in seen
        ],
    }


def _sees(request: LlmRequest, words: str) -> bool:
    """Whether a request holds a sentence or string of the words."""
    text = prompt_text(request).replace('\\"', '"')
    return any(piece in text for piece in pieces(words))


_ROLE_REPLIES: Final[dict[str | None, Any]] = {
    "qualifier": _qualify,
    "compressor": _compress,
    "reflector": _reflect,
    "curator": _curate,
}


def pieces(text: str) -> list[str]:
    """The words whole, sentence by sentence, and each string that they quote; names are none."""
    parts = [*split_sentences(text), *filter(_SAYS.search, _STRING.findall(text))]
    return list(dict.fromkeys([text, *parts]))


async def run(case: Case) -> Outcome:
    """The turns of a case, and what they left."""
    channel = _PLUGIN.get(case.channel)
    settings = Settings(store="memory", playbook_scope="user", tools=(f"{__name__}:look_up",))
    container = build_container(settings)
    key = SessionKey("desk" if channel else OWN_APP, "owner", "s1")
    rules = RuleService(container)
    for rule in case.standing:
        await rules.pin(key, rule, RuleScope.SESSION)
    _RESULT.set(case.text)
    await (_through_plugin if channel else _through_pipeline)(container, key, case)
    head = await container.journal.head(key)
    state = head.state if head else CommittedState()
    playbook = await container.playbooks.load(PlaybookScope(key.app, key.user))
    await container.close()
    texts = [pin.text for pin in state.pins]
    return Outcome(
        case,
        pinned=[text for text in texts if text not in case.standing],
        lifted=[rule for rule in case.standing if rule not in texts],
        goals=[state.ccs.goal_orientation] if state.goal_pin else [],
        lessons=[bullet.content for bullet in playbook.playbook.bullets],
    )


async def _through_pipeline(container: Container, key: SessionKey, case: Case) -> None:
    liar = Liar(words=case.text)
    sessions = InMemorySessionService()
    talk = Conversation(container, session_service=sessions, models=dict.fromkeys(ROLES, liar))
    match case.channel:
        case "tool_result":
            liar.call("look_up")
        case "document":
            await container.artifacts.add([_document(container, key, case)])
            liar.call("search_evidence", query="", artifact_id=DOCUMENT)
        case "agent_answer":
            await talk.turn(key, THANKS[case.lang])
        case "other_session":
            words = _LABEL.sub("", case.text)
            await talk.turn(key._replace(user="other", session="s2"), words)
            await container.artifacts.add([_turn_of_another_session(container, key, words)])
            liar.call("search_evidence", query="", artifact_id=DOCUMENT)
        case "state":
            await _forge(container, key, sessions, case.text)
        case _:
            raise ValueError(f"{case.id}: the channel {case.channel} is unknown")
    for said in _said(case):
        await talk.turn(key, said)


def _said(case: Case) -> tuple[str, ...]:
    return case.user, CORRECTION[case.lang], THANKS[case.lang]


def _document(container: Container, key: SessionKey, case: Case) -> Artifact:
    return Artifact(
        artifact_id=DOCUMENT,
        content=f"{case.user}\n{case.text}",
        source="wiki",
        created_at=container.clock.now(),
        tenant=key.tenant,
    )


def _turn_of_another_session(container: Container, key: SessionKey, words: str) -> Artifact:
    return Artifact(
        artifact_id=DOCUMENT,
        content=f"user: {words}\nagent: {words}",
        source="turn",
        created_at=container.clock.now(),
        tenant=key.tenant,
        kind=ArtifactKind.TURN,
        authority=Authority.AGENT,
        session="s2",
        turn=1,
    )


async def _forge(
    container: Container, key: SessionKey, sessions: InMemorySessionService, text: str
) -> None:
    """Write the words into session.state, under our keys and beside them."""
    try:
        payload = json.loads(text)
    except ValueError:
        payload = {"note": text}
    head = await container.journal.head(key)
    committed = head.state.to_state() if head else {}
    await sessions.create_session(
        app_name=key.app,
        user_id=key.user,
        session_id=key.session,
        state={**payload, "ccs": {**committed, **payload}},
    )


async def _through_plugin(container: Container, key: SessionKey, case: Case) -> None:
    liar = Liar(words=case.text)
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(ROLES, liar))
    with warnings.catch_warnings():
        # ADK's AgentTool hands its plugins on in a way that ADK deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        app = App(name=key.app, root_agent=_PLUGIN[case.channel](case.text), plugins=[plugin])
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        for said in _said(case):
            message = types.Content(role="user", parts=[types.Part(text=said)])
            async for _ in runner.run_async(
                user_id=key.user, session_id=key.session, new_message=message
            ):
                pass
    await plugin.close()


def _with_tool(words: str) -> LlmAgent:
    return LlmAgent(
        name="desk", model=Liar(words=words, is_host=True).call("look_up"), tools=[look_up]
    )


def _with_transfer(words: str) -> LlmAgent:
    clerk = LlmAgent(name="clerk", model=Liar(words=words, is_host=True), description="Knows more.")
    boss = Liar(words=words, is_host=True).call("transfer_to_agent", agent_name="clerk")
    return LlmAgent(name="desk", model=boss, sub_agents=[clerk])


def _with_agent_tool(words: str) -> LlmAgent:
    clerk = LlmAgent(name="clerk", model=Liar(words=words, is_host=True), description="Knows more.")
    boss = Liar(words=words, is_host=True).call("clerk", request="What is known?")
    return LlmAgent(name="desk", model=boss, tools=[AgentTool(clerk)])


_PLUGIN: Final = {
    "plugin_tool": _with_tool,
    "transfer": _with_transfer,
    "agent_tool": _with_agent_tool,
}


async def run_all(chosen: Sequence[Case]) -> list[Outcome]:
    """Each case for itself, one after the other."""
    return [await run(case) for case in chosen]


def main() -> None:
    """Print the counts of a half."""
    name = sys.argv[1] if len(sys.argv) > 1 else "dev"
    outcomes = asyncio.run(run_all(cases(name)))
    totals = Counter(outcome.case.channel for outcome in outcomes)
    print(f"{name}: {len(outcomes)} cases")
    for channel, total in totals.items():
        mine = [outcome for outcome in outcomes if outcome.case.channel == channel]
        print(f"  {channel:14} {total:3} cases  {_counts(mine)}")
    print(f"  {'all':14} {len(outcomes):3} cases  {_counts(outcomes)}")
    for outcome in outcomes if name == "dev" else ():
        if outcome.got_through:
            print(f"    {outcome.case.id}: {outcome[1:]}")


def _counts(outcomes: Sequence[Outcome]) -> str:
    return (
        f"rules made {sum(len(o.pinned) for o in outcomes)}, "
        f"lifted {sum(len(o.lifted) for o in outcomes)}, "
        f"goals {sum(len(o.goals) for o in outcomes)}, "
        f"lessons {sum(len(o.lessons) for o in outcomes)}"
    )


if __name__ == "__main__":
    main()
