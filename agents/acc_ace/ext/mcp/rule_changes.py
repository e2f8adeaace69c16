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
    ("en", "propose"): "An agent proposes a standing rule: '{text}'. Shall it hold?",
    ("en", "replace"): "An agent wants '{text}' in place of the rule {id} '{old}'. Do you agree?",
    ("en", "lift"): "An agent wants to lift the rule {id} '{old}'. Do you agree?",
    ("en", "answer"): "{old} Do you agree?",
    ("ja", "propose"): "エージェントがルールを提案しています：「{text}」。有効にしますか？",
    ("ja", "replace"): "エージェントがルール {id}「{old}」を「{text}」に変更しようとしています。"
    "同意しますか？",
    ("ja", "lift"): "エージェントがルール {id}「{old}」を解除しようとしています。同意しますか？",
    ("ja", "answer"): "{old} 同意しますか？",
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

        Raises InputError for a rule without words, NotFoundError for an id that names nothing.
        """
        if self.action == "propose" and not has_words(self.text):
            raise InputError("the rule has no words; give 'text', what must hold")
        is_new = self.action == "propose" and not self.id
        if self.action == "list" or (is_new and binds_only(self.text, state)):
            return ""
        old = "" if is_new else self._old(state)
        form = "replace" if self.action == "propose" and old else self.action
        question = _QUESTIONS[language_of(old or self.text), form]
        return question.format(text=self.text, id=self.id, old=old)

    def command(self, key: SessionKey) -> str:
        """What the person types instead, in a terminal where the memory is."""
        words = ["acc-ace", "rules"]
        for name, value in zip(("--app", "--user", "--session"), key, strict=True):
            words += [name, value]
        if self.action == "answer":
            return shlex.join([*words, "--answer", f"{self.id}=yes"])
        if self.action == "propose":
            # A first word 'always' would be taken for the mark of a rule for every session.
            is_wide = self.scope is RuleScope.USER or self.text.lower().startswith(_ALWAYS)
            words += ["--pin", f"{_ALWAYS * is_wide}{self.text}"]
        return shlex.join([*words, *(["--forget", self.id] if self.id else [])])

    def _old(self, state: CommittedState) -> str:
        """The rule or the question that the id names."""
        if self.action == "answer":
            questions = state.questions
            named = {q.id: question_text(q, state.pins, language_of(q.quote)) for q in questions}
        else:
            named = {pin.id: pin.text for pin in state.pins}
        if self.id not in named:
            raise NotFoundError(f"nothing is called '{self.id}' here; ids: {', '.join(named)}")
        return named[self.id]


def binds_only(text: str, state: CommittedState) -> bool:
    """Whether all of a text binds the agent more, as the reader is sure, or holds already."""
    if any(same_wording(pin.text) == same_wording(text) for pin in state.pins):
        return True
    words = read_user_words(TurnInput(text=text), None, state.pins)
    is_whole = same_wording(" ".join(each.text for each in words.binding)) == same_wording(text)
    is_doubtful = words.rules or words.loosening or words.unkept
    return is_whole and not is_doubtful and not words.against(state.pins)(text)
