"""A change of the rules that an agent wants, and the question to the person.

Only words of the person make rules, so that every change waits for them, whatever it says.
"""

import shlex
from typing import Final, Literal, NamedTuple

from acc_ace.core.gates.consent_notes import question_text
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState, RuleScope
from acc_ace.core.text.normalize import has_words, language_of, one_line
from acc_ace.errors import InputError, NotFoundError

Action = Literal["list", "propose", "lift", "answer"]

LONGEST_RULE: Final = 500  # Characters; the person is shown all of them.

_QUESTIONS: Final = {
    ("en", "propose"): "An agent proposes a standing rule{all}: '{text}'. Shall it hold?",
    ("en", "replace"): "An agent wants '{text}'{all} in place of {id} '{old}'. Do you agree?",
    ("en", "lift"): "An agent wants to lift the rule {id} '{old}'. Do you agree?",
    ("en", "answer"): "{old} Do you agree?",
    ("ja", "propose"): "エージェントが{all}ルールを提案しています：「{text}」。有効にしますか？",
    ("ja", "replace"): "ルール {id}「{old}」を{all}「{text}」に変更する提案です。同意しますか？",
    ("ja", "lift"): "ルール {id}「{old}」を解除する提案です。同意しますか？",
    ("ja", "answer"): "{old} 同意しますか？",
}
_FOR_ALL: Final = {"en": " for every session", "ja": "すべてのセッションの"}


class RuleChangeWanted(NamedTuple):
    """What an agent asks for."""

    action: Action
    text: str = ""  # The rule; of a proposal.
    id: str = ""  # The rule to lift or replace, or the question.
    scope: RuleScope = RuleScope.SESSION

    @property
    def rule(self) -> str:
        """The proposed text, as the person sees it and as it is kept."""
        return _shown(self.text)

    def question(self, state: CommittedState) -> str:
        """What the person is asked; '' where nothing is to change.

        Raises InputError for a rule without words, NotFoundError for an id that names nothing.
        """
        if self.action == "list":
            return ""
        if self.action == "propose" and not has_words(self.rule):
            raise InputError("the rule has no words; give 'text', what must hold")
        is_new = self.action == "propose" and not self.id
        old = "" if is_new else _shown(self._old(state))
        form = "replace" if self.action == "propose" and old else self.action
        language = language_of(old or self.rule)
        place = _FOR_ALL[language] if self.scope is RuleScope.USER else ""
        return _QUESTIONS[language, form].format(text=self.rule, id=self.id, old=old, all=place)

    def command(self, key: SessionKey) -> str:
        """What the person types instead, in a terminal where the memory is."""
        words = ["acc-ace", "rules"]
        for name, value in zip(("--app", "--user", "--session"), key, strict=True):
            words += [name, value]
        if self.action == "answer":
            return shlex.join([*words, "--answer", f"{self.id}=yes"])
        if self.action == "propose":
            words += ["--pin", self.rule, "--scope", self.scope]
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


def _shown(text: str) -> str:
    """Within a bound, and without what could hide a word or drive a terminal."""
    line = one_line(text.replace("\u061c", ""))  # The one direction mark that it leaves.
    return line if len(line) <= LONGEST_RULE else f"{line[: LONGEST_RULE - 1]}…"
