"""Answer one question with a playbook and nothing else: no session, no state, no tools.

The Generator's own prompt is used, so that what is learnt here is what a turn is shown.
Predicting never changes a playbook.
"""

from dataclasses import replace

from acc_ace.playbook.selection import select_bullets
from acc_ace.schemas.base import Authority
from acc_ace.schemas.bullet import clean_id
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook
from acc_ace.text.prompt import Prompt
from acc_ace.turn.steps import take_input
from acc_ace.turn.structured_call import Asked, Completion, ask, input_value, parser, state_value

ALONE = CommittedState(turn=2)
"""The state of a question that stands alone; of turn 2, so that no model greets a newcomer."""


async def predict(
    text: str, playbook: Playbook, *, completion: Completion, prompt: Prompt, limits: Limits
) -> Asked[GeneratorOutput]:
    """The Generator's answer; the value is None when the model failed.

    Bullets that it names and that do not exist are left out. At most `1 + limits.repairs` model
    calls. Raises InputTooLargeError for a text beyond its budget, InputError for a blank one.
    """
    taken = take_input(text, Authority.USER, limits)
    shown = select_bullets(playbook, taken.text, max_tokens=limits.playbook_prompt_tokens)
    inputs = {
        "state": state_value(ALONE),
        "playbook": playbook.as_prompt(shown),
        "warnings": [],
        "current_input": input_value(taken),
    }
    with_input = replace(prompt, inputs=(*prompt.inputs, "current_input"))
    asked = await ask(
        completion, with_input, inputs, parser(GeneratorOutput), repairs=limits.repairs
    )
    if asked.value is None:
        return asked
    known = {bullet.id for bullet in shown}
    used = [name for name in dict.fromkeys(map(clean_id, asked.value.bullet_ids)) if name in known]
    return replace(asked, value=asked.value.model_copy(update={"bullet_ids": used}))


def question(text: str) -> TurnInput:
    """x_t of a question that stands alone."""
    return TurnInput(text=text)
