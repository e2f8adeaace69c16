"""Find the task a speaker states."""

import re
from dataclasses import dataclass

from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern
from acc_ace.core.text.rules import mood_en, mood_ja, rules_ja
from acc_ace.core.text.rules.quoted_spans import mask_quotations, own_sentences
from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.sentences import remembered

_GOAL_EN = r"(?:goal|objective|task|mission|aim|job|target|priority|purpose)"
_GOAL_JA = r"(?:目標|目的|ゴール|課題|ミッション|タスク|狙い|優先事項)"
_AIM_VERB = (
    r"(?:restore|fix|find|migrate|investigate|resolve|build|write|plan|prepare|understand|reduce"
    r"|improve|ship|launch|deliver|recover|design|debug|diagnose|organi[sz]e|analy[sz]e|figure out"
    r"|work out|bring|get|make|decide|choose|finish|complete|set up|move|cut|stabili[sz]e|clean"
    r"|create|draft|review|compare|rebuild|replace|upgrade|track down|identify|determine|sort out)"
)

_OUTRIGHT = any_of(
    rf"\bnew {_GOAL_EN}\b ?(?:is\b|:|-)|\b(?:change|update|switch|set|replace) (?:the|our"
    rf"|my) {_GOAL_EN}\b",
    rf"\bthe {_GOAL_EN} (?:is now|has changed|changes)\b|\b(?:from now on|now),? (?:the|our"
    rf"|my) {_GOAL_EN} is\b",
    r"^(?:ok,? |okay,? |so,? |now,? |actually,? )*let's (?:switch|move on|pivot|turn"
    r"|change over) to\b",
    rf"^{_GOAL_EN}: ?\S|\bforget (?:that|the old|the previous) {_GOAL_EN}\b.*\b(?:now|instead)\b",
    rf"新しい{_GOAL_JA}|新{_GOAL_JA}|(?:今|これ)から(?:の|は){_GOAL_JA}",
    rf"^{_GOAL_JA}[::]",
    r"(?:方針|作業|話)を.*に切り替え(?:ます|よう|ましょう|てください)",
)
_CHANGED_JA = any_of(rf"{_GOAL_JA}(?:を|は).*(?:変更|変え|切り替え|改め|設定)")
_STATED = any_of(
    rf"\b(?:our|my|the|your|today's|this week's|first|main|top) (?:\w+ )?{_GOAL_EN} (?:here "
    r"|today |now |for \w+ )?(?:is|are|:)",
    r"^(?:hi,? |hello,? |hey,? |please |can you |could you |so,? )*(?:please )?help (?:me|us|our"
    r"|the)\b",
    r"^(?:so,? |ok,? |today,? |right now,? )?(?:we|i) (?:really |urgently |just )?(?:need|want"
    rf"|have|are trying|'re trying|would like|'d like) (?:you )?to {_AIM_VERB}\b",
    r"^(?:i'm|we're|i am|we are) (?:trying|working|looking|planning) (?:to|on)\b"
    rf"|^let's {_AIM_VERB}\b",
    r"\bi need (?:your )?help (?:with|to)\b|\bi'd like (?:your )?help\b",
    rf"{_GOAL_JA}は.+|(?:調査|復旧|調べ|解決|支援|手伝っ|特定|対応|計画|作成|準備|改善|移行|分析"
    r"|修正|検討|整理|設計|手助け|サポート)(?:し)?て(?:ほしい|欲しい|もらいたい|いただきたい"
    r"|もらえ|ください|くれ)",
    r"(?:復旧|解決|移行|調査|特定|達成|改善|実現|修正|完成|準備|整理|対応)(?:さ)?(?:せ"
    r"|し)(?:たい|る必要が|なければ|ましょう)|を手伝って",
)
_ASKED_HELP = any_of(
    r"^(?:please )?(?:can|could|will|would) you (?:please )?help\b|(?:て|で)(?:もらえ|いただけ"
    r"|くれ)(?:ます|ません)(?:でしょう)?か"
)
_SMALL = lazy_pattern(r"^(?:please )?help (?:me|us)[.!]?$|\bhelp yourself\b|\bso help me\b")

_POINTS_BACK = any_of(
    r"\b(?:it|them)\b|\b(?:this|that|these|those)\W*$",
    r"(?:それ|これ)(?:を|の|に|は)|(?:その|この)(?:件|こと)",
)
"""A task that names its object in the sentence before only: "Help me fix it."."""

_MAX_REFERENT = 200
"""Characters of the sentence before that may join the goal, so that the task itself is kept."""


@dataclass(frozen=True)
class GoalSpan:
    """A goal, verbatim; `explicit` where its words replace a goal that is already there."""

    text: str
    explicit: bool


@remembered
def detect_goal(text: str) -> GoalSpan | None:
    """The goal that a text states: an explicit one if any, else the first; None without one.

    Questions, reports, guesses, quoted text and rules state no goal; "could you help us …?" does.
    A task that points back ("help me plan it") is quoted with the sentence before it.
    """
    stated: GoalSpan | None = None
    before = ""
    for sentence in own_sentences(text):
        folded, referent, before = normalise(mask_quotations(sentence)), before, sentence
        if _is_unsaid(folded):
            continue
        if _OUTRIGHT.search(folded) or _is_changed_in(sentence, folded):
            return GoalSpan(sentence, explicit=True)
        if stated is None and _states_goal(folded) and not detect_rules(sentence):
            goal = _with_referent(sentence, folded, referent, text)
            stated = GoalSpan(goal, explicit=False)
    return stated


def _with_referent(sentence: str, folded: str, before: str, text: str) -> str:
    """The sentence, with the one right before it when it points back to that one."""
    if not before or len(before) > _MAX_REFERENT or not _POINTS_BACK.search(folded):
        return sentence
    start = text.find(before)
    gap, separator, _ = text[start + len(before) :].partition(sentence)
    if start < 0 or not separator or gap.strip() or detect_rules(before):
        return sentence
    return f"{before}{gap}{sentence}"


def _is_changed_in(sentence: str, folded: str) -> bool:
    """Whether Japanese words change the goal, and do not only rule on changing it."""
    if not _CHANGED_JA.search(folded):
        return False
    return rules_ja.changes_goal(folded) or not any(
        _CHANGED_JA.search(normalise(rule.text)) for rule in detect_rules(sentence)
    )


def _states_goal(folded: str) -> bool:
    if _SMALL.search(folded):
        return False
    return bool(_STATED.search(folded) or _ASKED_HELP.search(folded))


def _is_unsaid(folded: str) -> bool:
    if _ASKED_HELP.search(folded):
        return False
    if language_of(folded) == "ja":
        return mood_ja.is_question(folded) or mood_ja.is_reported(folded) or mood_ja.is_past(folded)
    # "I'd like to …" is no mere wish here; a guess is.
    guessed = re.search(r"\b(?:maybe|perhaps|might|suppose|imagine|if we)\b", folded)
    return mood_en.is_question(folded) or mood_en.is_reported(folded) or bool(guessed)
