"""Instead of steps 2 to 4, a classic memory strategy over the session's messages.

The state is carried over unchanged, as a new version, so that turns are numbered, listed, undone
and switched to ACC and back in the same way with any memory. The memory that an answering agent is
shown is chosen here too: CCS_t, the playbook excerpt, warnings.
"""

from google.genai import types

from acc_ace.container import Container
from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.rule_hints import warning_of_unpinned
from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CcsDiff
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import Qualification
from acc_ace.core.text.prompt import Lines, Prompt
from acc_ace.ext.strategies.history import HistorySource, load_history
from acc_ace.ext.strategies.memory_strategy import TokenCounter
from acc_ace.turn.algorithm import require
from acc_ace.turn.structured_call import state_value
from acc_ace.turn.turn_commit import prepared_entry
from acc_ace.turn.turn_record import TurnRecord

_NAME = "history"


class HistoryLoader:
    """Chooses the messages that the Generator is shown."""

    def __init__(self, container: Container, prompt: Prompt, counter: TokenCounter) -> None:
        self._container, self._prompt, self._counter = container, prompt, counter

    async def load(self, record: TurnRecord, invocation_id: str) -> None:
        """Carry the state over and choose messages. Raises InputTooLargeError or StoreError."""
        with record.stage("recaller"):
            self._warn(record)
            remembered = await load_history(
                record.memory,
                self._past(record),
                require(record.turn_input, "turn_input", _NAME),
                system_prompt=self._system_prompt(record),
                counter=self._counter,
                limits=self._container.settings.limits,
                now=self._container.clock.now(),
            )
            record.context, record.recalled = remembered.context, remembered.recalled
            record.qualification = Qualification(verdicts=list(remembered.rejected))
            record.warn(*remembered.recalled.warnings)
            state = record.previous.model_copy(
                update={"version": record.previous.version + 1, "turn": record.previous.turn + 1}
            )
            record.entry = prepared_entry(
                GateResult(state=state, diff=CcsDiff(), warnings=(), kept=True),
                invocation_id=invocation_id,
                at=self._container.clock.now(),
                warnings=record.warnings,
            )
        if remembered.summarise_through is not None:
            # Off the critical path: it is written after the turn.
            self._container.unsummarised.add(record.key)

    def _warn(self, record: TurnRecord) -> None:
        """Warn, also through the model, when x_t sets or releases a rule: none is pinned."""
        turn_input = require(record.turn_input, "turn_input", _NAME)
        reported = warning_of_unpinned(turn_input, record.previous.pins, record.memory)
        record.warn(*([reported] if reported else []))

    def _past(self, record: TurnRecord) -> HistorySource:
        session = record.session
        return HistorySource(
            key=record.key,
            evidence=self._container.evidence,
            artifacts=self._container.artifacts,
            summary=session.summary if session else None,
            after_turn=session.history_from if session else 0,
            at=self._container.local_now(),
            rules=record.rules,
        )

    def _system_prompt(self, record: TurnRecord) -> str:
        playbook = require(record.playbook, "playbook", _NAME).playbook
        topic = require(record.turn_input, "turn_input", _NAME).text
        limit = self._container.settings.limits.playbook_prompt_tokens
        inputs = {
            "playbook": Lines(
                playbook.as_prompt(select_bullets(playbook, topic, max_tokens=limit))
            ),
            "warnings": list(record.warnings),
        }
        return f"{self._prompt.text}\n{self._prompt.render(inputs)}"


def shown_bullets(record: TurnRecord, limits: Limits) -> tuple[Bullet, ...]:
    """The bullets of the excerpt: all while they fit, then the relevant ones."""
    state = require(record.entry, "entry", "memory view").state
    playbook = require(record.playbook, "playbook", "memory view").playbook
    x_t = require(record.turn_input, "turn_input", "memory view").text
    return select_bullets(
        playbook, x_t, state=_topics(state.ccs), max_tokens=limits.playbook_prompt_tokens
    )


def _topics(ccs: CompressedCognitiveState) -> str:
    """The topics of the state. Its constraints are left out: they apply to every question."""
    parts = (
        ccs.goal_orientation,
        ccs.semantic_gist,
        *ccs.focal_entities,
        ccs.predictive_cue or "",
        ccs.episodic_trace,
        *ccs.relational_map,
    )
    return " ".join(parts)


def lasting_text(record: TurnRecord, prompt: Prompt, limits: Limits) -> str:
    """What hardly changes from turn to turn: the role's words and the playbook excerpt.

    It comes first in a request, so that a provider's cache of prefixes covers it.
    """
    playbook = require(record.playbook, "playbook", "memory").playbook
    inputs = {"playbook": Lines(playbook.as_prompt(shown_bullets(record, limits)))}
    return f"{prompt.text}\n{prompt.render(inputs, beside=(*_CHANGING, 'current_input'))}"


def put_changing(
    contents: list[types.Content],
    record: TurnRecord,
    prompt: Prompt,
    *,
    current_input: object = None,
    apart: bool = False,
) -> None:
    """Put CCS_t and warnings before everything said; x_t too where a prompt has a place for it.

    They go into the first message of the user, as some models take no two in a row; with `apart`
    before it, as a host's own callbacks read the user's message.
    """
    inputs: dict[str, object] = {
        "state": state_value(require(record.entry, "entry", "memory").state),
        "warnings": list(record.warnings),
    }
    if "current_input" in prompt.inputs:
        inputs["current_input"] = current_input
    memory = types.Part(text=prompt.render(inputs, beside=("playbook",)))
    first = contents[0] if contents else types.Content(role="model")
    parts = first.parts or []
    if apart or first.role == "model" or any(part.function_response for part in parts):
        contents.insert(0, types.Content(role="user", parts=[memory]))
    else:
        # A copy: the session's events share their contents with the request.
        contents[0] = first.model_copy(update={"parts": [memory, *parts]})


_CHANGING = ("state", "warnings")
