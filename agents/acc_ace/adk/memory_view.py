"""What an answering agent is shown: CCS_t, the playbook excerpt, warnings."""

from google.genai import types

from acc_ace.core.playbook.rule_screen import ScreenedBullets, screened
from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.prompt import Lines, Prompt
from acc_ace.turn.structured_call import state_value
from acc_ace.turn.turn_record import TurnRecord


def screened_bullets(record: TurnRecord, limits: Limits) -> ScreenedBullets:
    """The bullets of the excerpt, and those left out of it for a rule in force."""
    bullets = select_bullets(
        record.lessons,
        record.start.brief(limits).text,
        state=_topics(record.state.ccs),
        max_tokens=limits.playbook_prompt_tokens,
    )
    return screened(bullets, record.rules)


def shown_bullets(record: TurnRecord, limits: Limits) -> tuple[Bullet, ...]:
    """The bullets of the excerpt: all while they fit, then the relevant ones.

    What orders or permits the forbidden is not shown.
    """
    return screened_bullets(record, limits).shown


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


def lasting_text(
    record: TurnRecord, prompt: Prompt, limits: Limits, *, with_ids: bool = True
) -> str:
    """What hardly changes from turn to turn: the role's words and the playbook excerpt.

    It comes first in a request, so that a provider's cache of prefixes covers it. A model that is
    not asked for ids of bullets reads none.
    """
    shown = shown_bullets(record, limits)
    lines = (
        record.lessons.as_prompt(shown) if with_ids else "\n".join(f"- {b.content}" for b in shown)
    )
    inputs = {"playbook": Lines(lines)}
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
    before it, as a host's own callbacks read the user's message. Without warnings none are named.
    """
    inputs: dict[str, object] = {"state": state_value(record.state)}
    if warnings := list(record.observer.warnings):
        inputs["warnings"] = warnings
    if current_input is not None:
        inputs["current_input"] = current_input
    beside = ("playbook", *({"warnings", "current_input"} - inputs.keys()))
    memory = types.Part(text=prompt.render(inputs, beside=beside))
    first = contents[0] if contents else types.Content(role="model")
    parts = first.parts or []
    if apart or first.role == "model" or any(part.function_response for part in parts):
        contents.insert(0, types.Content(role="user", parts=[memory]))
    else:
        # A copy: the session's events share their contents with the request.
        contents[0] = first.model_copy(update={"parts": [memory, *parts]})


_CHANGING = ("state", "warnings")
