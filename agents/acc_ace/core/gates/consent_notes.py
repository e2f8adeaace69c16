"""Notes on rules in the language of x_t: what came into force, what waits, what was not kept."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from acc_ace.core.gates.constraints import ConstraintSet, WhyNoChange
from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    ConstraintPin,
    NotKept,
    OpenQuestion,
)
from acc_ace.core.schemas.user_words import Late, Unkept, WhyUnkept
from acc_ace.core.text.normalize import language_of, one_line, same_wording
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.tokens import clip_tokens, estimate_tokens

Language = Literal["en", "ja"]

_SHOWN_TOKENS = 60
_MOST_LISTED = 8
MOST_NOT_KEPT = 20
MOST_NOT_KEPT_CHARS = 400
"""Bounds of what is listed as not kept: the newest, each whole; what is longer is always said."""

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
        ChangeKind.ADD: "Waits: {texts}. To keep it as a rule, send only: keep {id}",
        ChangeKind.PERMIT: "Waits for your consent: {texts}. To keep it, send only: keep {id}",
        ChangeKind.RELEASE: "Still in force: {rule_id} '{rule}'. To lift it, send only: "
        "lift {rule_id}",
        ChangeKind.AMEND: "Still in force: {rule_id} '{rule}'. Proposed instead: {texts}. "
        "To change it, send only: yes {id}",
        ChangeKind.GOAL: "Proposed as the goal: {texts}. To take it, send only: yes {id}",
    },
    "ja": {
        ChangeKind.ADD: "確認待ち：{texts}。ルールにするには、次の文だけを送ってください："
        "keep {id}",
        ChangeKind.PERMIT: "同意待ち：{texts}。許可するには、次の文だけを送ってください：keep {id}",
        ChangeKind.RELEASE: "{rule_id}「{rule}」は有効なままです。解除するには、次の文だけを"
        "送ってください：{rule_id} を解除",
        ChangeKind.AMEND: "{rule_id}「{rule}」は有効なままです。変更案：{texts}。"
        "変更するには、次の文だけを送ってください：はい {id}",
        ChangeKind.GOAL: "目標の案：{texts}。目標にするには、次の文だけを送ってください：はい {id}",
    },
}
_ADDED = {
    "en": "In force: {id} {rule} (to take it back, send only: no {id})",
    "ja": "有効になりました：{id} {rule}（取り消すには、次の文だけを送ってください："
    "{id} を取り消し）",
}
_KEPT = {"en": "In force: {id} {rule}", "ja": "有効になりました：{id} {rule}"}
_AGAIN = {"en": "In force already: {id} {rule}", "ja": "すでに有効です：{id} {rule}"}
_MORE_ADDED = {
    "en": "… and {more} more; {all} rules are in force: /rules",
    "ja": "…ほか {more} 件。有効なルールは {all} 件です：/rules",
}
_LIFTED = {"en": "Lifted: {id} {rule}", "ja": "解除しました：{id} {rule}"}
_AMENDED = {
    "en": "Changed: {id} '{rule}' is now {new_id} '{new}'",
    "ja": "変更しました：{id}「{rule}」は {new_id}「{new}」になりました",
}
_REFUSED = {"en": "Nothing was changed: {id}", "ja": "何も変更していません：{id}"}
_LAPSED = {
    "en": "No longer waiting, and nothing was changed: {id} ({words})",
    "ja": "確認待ちを終了しました。何も変更していません：{id}（{words}）",
}
_BARE = {
    "en": "A yes or no alone changes no rule; it names none.",
    "ja": "「はい」「いいえ」だけでは、どのルールのことか分かりません。ルールは変更していません。",
}
_UNKEPT: Final[dict[Language, dict[WhyUnkept, str]]] = {
    "en": {
        WhyUnkept.UNSURE: "Not taken as a standing rule: '{words}'. To keep it, send only: "
        "/rule {words}",
        WhyUnkept.NO_ROOM: "Not kept, as the rules or this message have no room left: '{words}'. "
        "Send it alone and shorter, lift one (/rules), or raise "
        "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS",
        WhyUnkept.UNREADABLE: "Not kept: '{words}'. To keep it as a rule, send only: /rule {words}",
        WhyUnkept.NO_WORDING: "{rule_id} stays as it is: '{words}'. To lift or change it, send "
        "only: lift {rule_id}, or: change {rule_id} to: …",
        WhyUnkept.NO_RULE: "'{words}' lifted nothing (in force: {active}). To lift a rule, send "
        "only: lift {example}",
        WhyUnkept.LANGUAGE: "Nothing of this message is kept as a rule ('{words}' …): its language "
        "is not one in which rules are told. To keep a sentence, send only: /rule and the sentence",
        WhyUnkept.OTHERS: "Not taken over, as these are others' words: '{words}'. To keep it as "
        "a rule, send only: /rule {words}",
    },
    "ja": {
        WhyUnkept.UNSURE: "ルールにはしていません：「{words}」。ルールにするには、次の文だけを"
        "送ってください：/rule {words}",
        WhyUnkept.NO_ROOM: "ルールまたはメッセージの上限に達したため、ルールにはしていません："
        "「{words}」。短くしてそれだけを送るか、ほかのルールを解除する（/rules）か、"
        "ACC_ACE_LIMITS__CONSTRAINTS_TOKENS の値を増やしてください",
        WhyUnkept.UNREADABLE: "保存していません：「{words}」。ルールにするには、次の文だけを"
        "送ってください：/rule {words}",
        WhyUnkept.NO_WORDING: "{rule_id} は変更していません：「{words}」。解除または変更するには、"
        "次の文だけを送ってください：{rule_id} を解除、または {rule_id} を「…」に変更",
        WhyUnkept.NO_RULE: "「{words}」では何も解除していません（有効：{active}）。解除するに"
        "は、次の文だけを送ってください：{example} を解除",
        WhyUnkept.LANGUAGE: "このメッセージの言語では、ルールを読み取れません（「{words}」…）。"
        "ルールにするには、「/rule 」に続けてその文だけを送ってください",
        WhyUnkept.OTHERS: "ほかの人の発言なので、ルールにはしていません：「{words}」。ルールに"
        "するには、次の文だけを送ってください：/rule {words}",
    },
}
_NONE_TO_LIFT = {
    "en": "'{words}' lifted nothing, as no rule is in force. To keep it as a rule, send only: "
    "/rule {words}",
    "ja": "有効なルールがないため、「{words}」では何も解除していません。ルールにするには、次の文"
    "だけを送ってください：/rule {words}",
}
_NO_CHANGE: Final[dict[Language, dict[WhyNoChange, str]]] = {
    "en": {
        WhyNoChange.NO_RULE: "Nothing was changed: no rule {id} is in force (active: {active})",
        WhyNoChange.NO_QUESTION: "Nothing was changed: {id} is not open: answered, or lapsed",
        WhyNoChange.SYSTEM: "Nothing was changed: {id} has system authority and is not "
        "yours to lift or change",
    },
    "ja": {
        WhyNoChange.NO_RULE: "何も変更していません：{id} という有効なルールはありません（有効："
        "{active}）",
        WhyNoChange.NO_QUESTION: "何も変更していません：{id} は回答済みか、確認待ちが終了して"
        "います",
        WhyNoChange.SYSTEM: "何も変更していません：{id} はシステムのルールです。ユーザーは"
        "解除も変更もできません",
    },
}
_PART = {
    "en": "Nothing was changed: a consent is a message of its own, and for one change.",
    "ja": "何も変更していません。同意は 1 件ずつ、ほかの文を加えずに送ってください。",
}
_LATE: Final[dict[Language, dict[Late, str]]] = {
    "en": {
        Late.UNANSWERED: "Also from your earlier message that got no answer:",
        Late.UNREAD: "From an earlier message of yours, read now:",
    },
    "ja": {
        Late.UNANSWERED: "回答のなかった前のメッセージの分：",
        Late.UNREAD: "以前のメッセージを今読み取りました：",
    },
}
_MORE_UNKEPT = {
    "en": "… and {more} more sentences were not kept as rules",
    "ja": "…ほか {more} 件もルールにはしていません",
}

_LEFT = {
    "en": "Not read for rules yet: about {tokens:,} tokens of what you wrote, from '{words}' on. "
    "The next turns read on, and an act asks until then. Send what must hold at once by itself.",
    "ja": "「{words}」以降の約 {tokens:,} トークンからは、まだルールを読み取っていません。続きは"
    "次のターンから読み取ります。それまでは操作の前に確認します。すぐに守ってほしいルールは、"
    "それだけを送ってください",
}
_LEFT_SHOWN = 16

_ONLY_LISTED = {
    "en": "The compressor has not shown that it reads rules well (acc-ace doctor). Said once: what "
    "else is not kept for that is listed at /rules.",
    "ja": "圧縮モデルがルールを正しく読み取れるかどうか、まだ確認できていません"
    "（acc-ace doctor）。そのためルールにしなかった発言は、今後は通知せず、/rules に表示します",
}


def question_text(question: OpenQuestion, pins: Sequence[ConstraintPin], language: Language) -> str:
    """What waits, as shown to the user, with the text of the rule and the way to consent."""
    rule = next((pin.text for pin in pins if pin.id == question.rule_id), "")
    quoted = [_quoted(text, language) for text in question.texts]
    return _ASK[language][question.kind].format(
        id=question.id,
        rule_id=question.rule_id,
        rule=rule,
        texts=("、" if language == "ja" else "; ").join(quoted),
    )


def not_kept(
    before: CommittedState, rules: ConstraintSet, listed: Sequence[Unkept] = ()
) -> list[NotKept]:
    """The list of what is not kept, with new words and without those in force; the oldest go."""
    if not (listed or before.not_kept):
        return []
    new = [one_line(each.words) for each in listed]
    again = {same_wording(text) for text in (*new, *(pin.text for pin in rules.pins))}
    old = [each for each in before.not_kept if same_wording(each.text) not in again]
    return [*old, *(NotKept(text=text, turn=rules.turn) for text in new)][-MOST_NOT_KEPT:]


def consent_notes(
    rules: ConstraintSet, text: str, listed: Sequence[Unkept] = (), *, is_said: bool = False
) -> tuple[str, ...]:
    """The lines after the answer to `text`: what came into force, what waits, what was not kept.

    What is only `listed` at /rules is said once, with the reason.
    """
    language = language_of(text)
    lines = [_LATE[language][rules.heard_late]] if rules.heard_late else []
    lines += [*_changes(rules, language), *_added(rules, language), *_settled(rules, language)]
    unkept = [each for each in rules.unkept if each not in listed] if is_said else rules.unkept
    lines += [_unkept(each, rules, language) for each in unkept[:_MOST_LISTED]]
    if more := len(unkept[_MOST_LISTED:]):
        lines.append(_MORE_UNKEPT[language].format(more=more))
    lines += [_ONLY_LISTED[language]] if listed and not is_said else []
    asked = rules.asked_now()
    waiting = [each for each in rules.questions if each in asked or each in rules.answered]
    lines += [_BARE[language]] if rules.is_bare_reply and waiting else []
    lines += [_PART[language]] if rules.is_part_consent and waiting else []
    lines += [question_text(question, rules.pins, language) for question in waiting]
    return tuple(lines)


def unread_notes(text: str, left: Sequence[str]) -> tuple[str, ...]:
    """What the answer to `text` says of the parts of a long message that are `left` unread."""
    if not left:
        return ()
    words, tokens = one_line(clip_tokens(left[0], _LEFT_SHOWN)), sum(map(estimate_tokens, left))
    return (_LEFT[language_of(text)].format(words=words, tokens=tokens),)


def no_change_notes(rules: ConstraintSet, language: Language = "en") -> list[str]:
    """Why a command changed nothing."""
    active = _active(rules)
    untouched = rules.no_changes
    return [_NO_CHANGE[language][why].format(id=each, active=active) for each, why in untouched]


def _changes(rules: ConstraintSet, language: Language) -> Iterator[str]:
    new = {pin.id: pin for pin in rules.added}
    for release in rules.released:
        successor = new.get(release.replaced_by or "")
        form = _AMENDED if successor else _LIFTED
        yield form[language].format(
            id=release.id,
            rule=release.text,
            new_id=successor.id if successor else "",
            new=successor.text if successor else "",
        )


def _added(rules: ConstraintSet, language: Language) -> Iterator[str]:
    successors = {release.replaced_by for release in rules.released}
    added = [pin for pin in rules.added if pin.id not in successors]
    for pin in added[:_MOST_LISTED]:
        form = _ADDED if pin.tentative else _KEPT
        yield form[language].format(id=pin.id, rule=pin.text)
    for pin in rules.again[:_MOST_LISTED]:
        yield _AGAIN[language].format(id=pin.id, rule=pin.text)
    if more := len(added[_MOST_LISTED:]):
        yield _MORE_ADDED[language].format(more=more, all=len(rules.pins))


def _settled(rules: ConstraintSet, language: Language) -> Iterator[str]:
    for question in rules.refused:
        yield _REFUSED[language].format(id=question.rule_id or question.id)
    yield from no_change_notes(rules, language)
    for question in rules.lapsed:
        words = clip_tokens(question.quote, _SHOWN_TOKENS)
        yield _LAPSED[language].format(id=question.id, words=words)


def _unkept(unkept: Unkept, rules: ConstraintSet, language: Language) -> str:
    form = _UNKEPT[language][unkept.why]
    if unkept.why is WhyUnkept.NO_RULE and not rules.pins:
        form = _NONE_TO_LIFT[language]
    example = rules.pins[0].id if rules.pins else ""
    words, active = one_line(unkept.words), _active(rules)
    if unkept.why is WhyUnkept.NO_ROOM:
        words = clip_tokens(words, _SHOWN_TOKENS)
    return form.format(words=words, rule_id=unkept.rule_id, example=example, active=active)


def _active(rules: ConstraintSet) -> str:
    ids = [pin.id for pin in rules.pins]
    return (", ".join(ids[:_MOST_LISTED]) or "-") + (", …" if len(ids) > _MOST_LISTED else "")


def invites_reply(answer: str) -> bool:
    """Whether an answer asks or offers something, so that a short reply may mean yes."""
    return _ASKS.search(answer) is not None or _OFFERS.search(answer) is not None


def _quoted(text: str, language: Language) -> str:
    return f"「{text}」" if language == "ja" else f"'{text}'"
