"""What Reflector and Curator are shown of a turn: words of others stand as placeholders.

Prose of tools, documents, attachments and quotations is not shown, and neither is an answer that
may rest on it. What is concluded from this view can therefore carry nobody else's words, in no
wording and no language.
"""

from typing import Final, NamedTuple

from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.text.answer_scoring import score_answer
from acc_ace.memory.long_input import ends
from acc_ace.turn.foreign_text import Veil
from acc_ace.turn.structured_call import input_value, state_value
from acc_ace.turn.turn_record import TurnOutcome


class LessonView(NamedTuple):
    """The turn as prompts of learning show it."""

    state: object
    current_input: dict[str, object]
    generation: dict[str, object]
    tool_results: list[dict[str, object]]
    previous_input: str
    previous_answer: str
    feedback: list[dict[str, object]]
    hides: bool
    """Whether placeholders stand in it."""


_MOST: Final = 8_192
"""Tokens of an input that a lesson is drawn from."""


def _ends(text: str, most: int = _MOST) -> str:
    return ends(text, most, "not shown") if len(text) > most else text


def lesson_view(outcome: TurnOutcome, *, whole: bool = False) -> LessonView:
    """The turn for a Reflector or Curator; `whole` is with the words of others."""
    before, generation = outcome.previous, outcome.generation
    veil = Veil(outcome, is_lifted=whole or outcome.is_experience)
    attachments = outcome.turn_input.attachments
    shown_input = input_value(outcome.turn_input) | {"text": _ends(veil.words(outcome.turn_input))}
    if attachments:
        texts = [veil.text(each.text, "an attachment") for each in attachments]
        shown_input["attachments"] = [_ends(text, _MOST // len(attachments)) for text in texts]
    results = veil.results(outcome.tool_calls, outcome.tool_results)
    if before is not None:
        veil.results(before.tool_calls, before.tool_results)
    previous_input = _ends(veil.words(before.input)) if before else ""
    # Only feedback makes an answer evidence; without it, it is the agent's word alone.
    rests_on_own = bool(outcome.feedback) and not (
        veil.hides or outcome.documents or outcome.state.has_foreign_text
    )
    answer = generation.final_answer
    shown_answer = answer if rests_on_own else veil.text(answer, "the answer")
    shown_generation: dict[str, object] = {
        "final_answer": shown_answer,
        "bullet_ids": generation.bullet_ids,
    }
    if rests_on_own or veil.is_lifted:
        shown_generation["reasoning"] = generation.reasoning
    decision = before.decision if before else None
    return LessonView(
        state=state_value(outcome.state if veil.is_lifted else _own_state(outcome.state)),
        current_input=shown_input,
        generation=shown_generation,
        tool_results=results,
        previous_input=previous_input,
        previous_answer=veil.text(decision.final_answer, "the answer") if decision else "",
        feedback=[
            _judgement(item.judgement(), answer, is_hidden=shown_answer != answer)
            for item in outcome.feedback
        ],
        hides=veil.hides or bool(outcome.documents),
    )


def _own_state(state: CommittedState) -> CommittedState:
    """The state without what a model wrote: rules, the user's goal, the number of the turn."""
    own: dict[str, object] = {"constraints": state.ccs.constraints}
    if state.goal_pin is not None:
        own["goal_orientation"] = state.ccs.goal_orientation
    return state.model_copy(update={"ccs": empty_ccs().model_copy(update=own)})


def _judgement(item: dict[str, object], answer: str, *, is_hidden: bool) -> dict[str, object]:
    """Feedback; where the answer is hidden, code says how far it is the right one."""
    truth = item.get("ground_truth")
    if not (is_hidden and isinstance(truth, str)):
        return item
    return {**item, "score": score_answer(answer, truth)}
