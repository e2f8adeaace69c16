"""ACC without one of its parts. No settings of the product: without them it keeps no promise."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from google.adk.models.base_llm import BaseLlm

from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.adk.turn_parts import TurnParts
from acc_ace.container import Container
from acc_ace.core.gates.consent_notes import consent_notes
from acc_ace.core.gates.constraints import ConstraintSet
from acc_ace.core.gates.screening import verdict
from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.schemas.commit import ChangeKind, CompressorReply, ConstraintPin
from acc_ace.core.schemas.qualification import Qualification, QualificationReason
from acc_ace.core.text.normalize import same_wording
from acc_ace.core.text.prompt import Prompt
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.errors import ModelOutputError
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.steps import Prepared
from acc_ace.turn.structured_call import Completion, Reply
from acc_ace.turn.turn_record import TurnStart

ABLATIONS: Final = ("gate", "pins", "provisional", "quotations")
"""What can be off.

- gate: all that is recalled qualifies.
- pins: the compressor writes the list of rules, and one that it leaves out is gone.
- provisional: what binds waits for the user's consent before it is in force.
- quotations: the state quotes nothing of memory.
"""


class AblatedParts(TurnParts):
    """The parts of a driver, some of them off."""

    def __init__(self, off: Collection[str], memory: BaseLlm) -> None:
        """`memory` is the compressor's model."""
        self._off, self._memory = off, memory
        if "gate" in off:
            self.qualify = _qualify_all

    async def compress(
        self,
        container: Container,
        start: TurnStart,
        qualified: Qualification,
        observer: TurnObserver,
        model: Completion,
        **more: Any,  # noqa: ANN401 - passed on
    ) -> Prepared:
        """Step 4, without what is off."""
        lister = _RuleLister(self._memory, _RulesReply, container.settings.compressor)
        compressor = lister if "pins" in self._off else model
        prepared = await super().compress(container, start, qualified, observer, compressor, **more)
        state = prepared.entry.state
        rules = ConstraintSet.of(state, turn=state.turn)
        rules.pins = [
            pin for pin in rules.pins if pin.origin_turn == state.turn or lister.keeps(pin)
        ]
        waiting = [pin for pin in rules.pins if pin.tentative and "provisional" in self._off]
        for pin in waiting:
            rules.pins.remove(pin)
            rules.ask(ChangeKind.ADD, pin.quote, texts=[pin.text])
        # That it is in force is not true any more.
        notes = [line for line in prepared.notes if not any(pin.id in line for pin in waiting)]
        notes += consent_notes(rules, start.x_t.text) if waiting else ()
        content: dict[str, Any] = {"constraints": [pin.text for pin in rules.pins]}
        if "quotations" in self._off:
            content["retrieved_artifacts"] = []
        update = {
            "ccs": state.ccs.model_copy(update=content),
            **{name: getattr(rules, name) for name in ("pins", "questions", "next_question")},
        }
        entry = prepared.entry.model_copy(update={"state": state.model_copy(update=update)})
        return prepared._replace(entry=entry, notes=tuple(dict.fromkeys(notes)))


async def _qualify_all(
    container: Container, start: TurnStart, recalled: Recall, *_: object, **__: object
) -> Qualification:
    del container, start
    artifacts, why = [each.artifact for each in recalled.candidates], QualificationReason.RELEVANT
    verdicts = [verdict(each, why, "no gate") for each in artifacts]
    return Qualification(verdicts=verdicts, qualified=artifacts)


class _RulesReply(CompressorReply):
    """The compressor's reply with the list of rules, which the product does not ask for."""

    constraints: list[str] | None = None


class _RuleLister(DirectCompletion):
    """The compressor's model, asked for the rules too."""

    _listed: list[str] | None = None

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        """One call. Raises ModelError when the model did not answer."""
        reply = await super().complete(replace(prompt, text=prompt.text + _LIST), user_text)
        with suppress(ModelOutputError):  # Who asked reads it too, and asks again.
            self._listed = read_reply(_RulesReply, reply.text).constraints
        return reply

    def keeps(self, pin: ConstraintPin) -> bool:
        """Whether the last reply lists a rule, or no reply says which there are."""
        words = same_wording(pin.text)
        return self._listed is None or any(words in same_wording(each) for each in self._listed)


_LIST: Final = (
    "\n- `constraints`: the rules that hold from now on, word for word. Always write it: "
    "what it leaves out is gone.\n"
)
