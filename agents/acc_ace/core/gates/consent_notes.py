"""Notes on rules in the answer, in the language of x_t: changes made and questions asked."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from acc_ace.core.gates.constraints import ConstraintSet
from acc_ace.core.schemas.commit import ChangeKind, CommittedState, ConstraintPin, OpenQuestion
from acc_ace.core.text.normalize import language_of, one_line
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.tokens import clip_tokens

Language = Literal["en", "ja"]

_SHOWN_TOKENS = 60
_MOST_LISTED = 8
_ASKS = lazy_pattern(r"[?？؟]|(?:ます|です|でしょう|ません|ました|ください)か[。．\s」]|か[。．]?$")

_OFFERS = lazy_pattern(
    r"\b(?:shall|should) (?:i|we)\b|\b(?:would|do|if) you (?:want|like|prefer|agree)\b"
    r"|\blet me know\b|\b(?:i|we) (?:can|could|will|would|suggest|propose|recommend)\b"
    r"|\b(?:i|we)['’]ll\b|\bnext step|\bconfirm|\bunless you\b"
    r"|ましょう|よければ|よろしければ|提案|おすすめ|お勧め|いたします|確認",
    re.IGNORECASE,
)

_ASK: Final[dict[Language, dict[ChangeKind, str]]] = {
    "en": {
        ChangeKind.ADD: "Shall I keep as rules: {texts}? (yes / no, {id})",
        ChangeKind.RELEASE: "Shall I lift {rule_id} '{rule}'? (yes / no, {id})",
        ChangeKind.AMEND: "Shall I change {rule_id} '{rule}' to {texts}? (yes / no, {id})",
        ChangeKind.GOAL: "Shall I make {texts} the goal? (yes / no, {id})",
    },
    "ja": {
        ChangeKind.ADD: "{texts} をルールとして残しますか？（はい / いいえ、{id}）",
        ChangeKind.RELEASE: "{rule_id}「{rule}」を解除しますか？（はい / いいえ、{id}）",
        ChangeKind.AMEND: "{rule_id}「{rule}」を {texts} に変更しますか？（はい / いいえ、{id}）",
        ChangeKind.GOAL: "目標を {texts} にしますか？（はい / いいえ、{id}）",
    },
}
_ADDED = {
    "en": "+ {id} {rule} (/forget {id} if that was not meant)",
    "ja": "+ {id} {rule}（違う場合は /forget {id}）",
}
_KEPT = {"en": "+ {id} {rule}", "ja": "+ {id} {rule}"}
_LIFTED = {"en": "- {id} lifted: {rule}", "ja": "- {id} を解除しました：{rule}"}
_AMENDED = {
    "en": "~ {id} '{rule}' is now {new_id} '{new}'",
    "ja": "~ {id}「{rule}」を {new_id}「{new}」に変更しました",
}
_UNKEPT = {
    "en": "Not kept: '{said}'; to keep it as a rule, send only: /rule {said}",
    "ja": "残していません：「{said}」。ルールとして残すには次だけを送ってください：/rule {said}",
}
_NOTHING = {
    "en": "'{said}' lifted nothing. To lift a rule, send only: release {example} "
    "(active: {active})",
    "ja": "「{said}」では何も解除していません。解除するには「{example} を解除」とだけ送ってください"
    "（有効：{active}）",
}


def question_text(question: OpenQuestion, pins: Sequence[ConstraintPin], language: Language) -> str:
    """A question as shown to the user, with the text of the rule."""
    rule = next((pin.text for pin in pins if pin.id == question.rule_id), "")
    quoted = [_quoted(text, language) for text in question.texts]
    return _ASK[language][question.kind].format(
        id=question.id,
        rule_id=question.rule_id,
        rule=clip_tokens(rule, _SHOWN_TOKENS),
        texts=("、" if language == "ja" else "; ").join(quoted),
    )


def consent_notes(rules: ConstraintSet, text: str) -> tuple[str, ...]:
    """The lines after the answer to `text`: rules lifted, changed and added, questions."""
    language = language_of(text)
    new = {pin.id: pin for pin in rules.added}
    successors = {release.replaced_by for release in rules.released}
    lines: list[str] = []
    for release in rules.released:
        successor = new.get(release.replaced_by or "")
        form = _AMENDED if successor else _LIFTED
        lines.append(
            form[language].format(
                id=release.id,
                rule=release.text,
                new_id=successor.id if successor else "",
                new=successor.text if successor else "",
            )
        )
    for pin in rules.added:
        if pin.id not in successors:
            form = _ADDED if pin.tentative else _KEPT
            lines.append(form[language].format(id=pin.id, rule=pin.text))
    lines += [_UNKEPT[language].format(said=one_line(words)) for words in rules.unkept]
    if rules.unmatched and rules.pins and not rules.asked_now():
        lines.append(_nothing(rules, language))
    lines += [question_text(question, rules.pins, language) for question in rules.asked_now()]
    return tuple(lines)


def invites_reply(answer: str) -> bool:
    """Whether an answer asks or offers something, so that a short reply may mean yes."""
    return _ASKS.search(answer) is not None or _OFFERS.search(answer) is not None


def sole_question(state: CommittedState, answer: str) -> str | None:
    """The id of the question that a bare yes or no answers, or None.

    It must be the only one of the newest turn, and its answer must contain no other question:
    otherwise the user has to give the id.
    """
    newest = [question for question in state.questions if question.asked_turn == state.turn]
    if len(newest) != 1:
        return None
    rest = answer
    for language in _ASK:
        rest = rest.replace(question_text(newest[0], state.pins, language), "")
    was_shown = rest != answer
    return newest[0].id if was_shown and not _ASKS.search(rest.strip()) else None


def _nothing(rules: ConstraintSet, language: Language) -> str:
    ids = [pin.id for pin in rules.pins]
    active = ", ".join(ids[:_MOST_LISTED]) + (", …" if len(ids) > _MOST_LISTED else "")
    words = clip_tokens(rules.unmatched, _SHOWN_TOKENS)
    return _NOTHING[language].format(said=words, example=ids[0], active=active)


def _quoted(text: str, language: Language) -> str:
    shown = clip_tokens(text, _SHOWN_TOKENS)
    return f"「{shown}」" if language == "ja" else f"'{shown}'"
