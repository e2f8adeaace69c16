"""Ask the Reflector, for as many rounds as it still changes its mind (ACE, section 3)."""

from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook
from acc_ace.schemas.reflection import Reflection
from acc_ace.text.prompt import Prompt
from acc_ace.turn.completion import Completion
from acc_ace.turn.reply_parsing import parser
from acc_ace.turn.structured_call import Asked, ask
from acc_ace.turn.turn_outcome import TurnOutcome, reflector_inputs


async def reflect(
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
    max_rounds: int = 1,
) -> Asked[Reflection]:
    """What helped and what harmed, of this turn and of the one that x_t corrects.

    From the second round on the Reflector sees its last reflection; it ends when that stays, or
    after `max_rounds`. A round that fails leaves the reflection of the round before. At most
    `max_rounds * (1 + limits.repairs)` model calls.
    """
    inputs = reflector_inputs(outcome, playbook, limits)
    asked: Asked[Reflection] = Asked(value=None)
    for _ in range(max_rounds):
        last = asked.value
        inputs["previous_reflection"] = last.model_dump(mode="json") if last else None
        fresh = await ask(completion, prompt, inputs, parser(Reflection), repairs=limits.repairs)
        asked = _after(asked, fresh)
        if fresh.value is None or (last is not None and _same(last, fresh.value)):
            break
    return asked


def _after(before: Asked[Reflection], fresh: Asked[Reflection]) -> Asked[Reflection]:
    """The newest reflection there is, and what all rounds cost."""
    return Asked(
        value=before.value if fresh.value is None else fresh.value,
        model=fresh.model or before.model,
        tokens_in=before.tokens_in + fresh.tokens_in,
        tokens_out=before.tokens_out + fresh.tokens_out,
        calls=before.calls + fresh.calls,
        warnings=(*before.warnings, *fresh.warnings),
    )


def _same(one: Reflection, other: Reflection) -> bool:
    """Whether two rounds say the same; how they argue for it does not count."""
    return one.model_copy(update={"reasoning": ""}) == other.model_copy(update={"reasoning": ""})
