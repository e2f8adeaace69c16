"""A change of the rules that an agent wants, and the question to the person, if it is one.

What binds the agent more is in force at once. All else, and whatever the reader is not sure of,
waits for the person.
"""

import shlex
from typing import Final, Literal, NamedTuple

from acc_ace.core.gates.consent_notes import question_text
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, RuleScope
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.normalize import has_words, language_of, same_wording
from acc_ace.core.text.rules.reading import read_user_words
from acc_ace.errors import InputError, NotFoundError

Action = Literal["list", "propose", "lift", "answer"]

_ALWAYS: Final = "always "
_QUESTIONS: Final = {
    "en": {
        "propose": "An agent proposes a standing rule: '{text}'. Shall it hold?",
        "replace": "An agent wants to replace the rule {id} '{rule}' by '{text}'. Do you agree?",
        "lift": "An agent wants to lift the rule {id} '{rule}'. Do you agree?",
        "answer": "{waits} Do you agree?",
    },
    "ja": {
        "propose": "エージェントが次のルールを提案しています：「{text}」。有効にしますか。",
        "replace": "エージェントがルール {id}「{rule}」を「{text}」に変更しようとしています。"
        "同意しますか。",
        "lift": "エージェントがルール {id}「{rule}」を解除しようとしています。同意しますか。",
        "answer": "{waits} 同意しますか。",
    },
}


class RuleChangeWanted(NamedTuple):
    """What an agent asks for."""

    action: Action
    text: str = ""
    """The rule; of a proposal."""
    id: str = ""
    """The rule to lift or replace, or the question."""
    scope: RuleScope = RuleScope.SESSION

    def question(self, state: CommittedState) -> str:
        """What the person is asked; '' where nobody need be.

        Raises InputError for a missing text or id, NotFoundError for an unknown id.
        """
        rule = self._rule(state)
        waits = self._waits(state)
        if self.action == "propose" and not has_words(self.text):
            raise InputError("the rule has no words; give 'text', what must hold")
        if self.action == "list" or (not self.id and binds_only(self.text, state)):
            return ""
        form = "replace" if self.action == "propose" and self.id else self.action
        return _QUESTIONS[language_of(rule or waits or self.text)][form].format(
            text=self.text, id=self.id, rule=rule, waits=waits
        )

    def command(self, key: SessionKey) -> str:
        """What the person types instead, in a terminal where the memory is."""
        app, user, session = key
        words = ["acc-ace", "rules", "--app", app, "--user", user, "--session", session]
        if self.action == "answer":
            return shlex.join([*words, "--answer", f"{self.id}=yes"])
        if self.action == "propose":
            # A first word 'always' would be taken for the option of that name.
            is_wide = self.scope is RuleScope.USER or self.text.lower().startswith(_ALWAYS)
            words += ["--pin", f"{_ALWAYS if is_wide else ''}{self.text}"]
        return shlex.join([*words, *(["--forget", self.id] if self.id else [])])

    def _rule(self, state: CommittedState) -> str:
        if self.action == "answer" or not (self.id or self.action == "lift"):
            return ""
        for pin in state.pins:
            if pin.id == self.id:
                return pin.text
        known = ", ".join(pin.id for pin in state.pins) or "none"
        raise NotFoundError(f"no rule '{self.id[:40]}' is in force; in force: {known}")

    def _waits(self, state: CommittedState) -> str:
        if self.action != "answer":
            return ""
        for each in state.questions:
            if each.id == self.id:
                return question_text(each, state.pins, language_of(each.quote))
        known = ", ".join(each.id for each in state.questions) or "none"
        raise NotFoundError(f"no question '{self.id[:40]}' is open; open: {known}")


def binds_only(text: str, state: CommittedState) -> bool:
    """Whether all of a text binds the agent more, as the reader is sure, or holds already."""
    if any(same_wording(pin.text) == same_wording(text) for pin in state.pins):
        return True
    words = read_user_words(TurnInput(text=text), None, state.pins)
    is_whole = same_wording(" ".join(each.text for each in words.binding)) == same_wording(text)
    is_doubtful = words.rules or words.loosening or words.unkept
    return is_whole and not is_doubtful and not words.against(state.pins)(text)
