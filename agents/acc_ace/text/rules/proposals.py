"""Propose rule changes by the language rules of English and Japanese.

The embedded model proposes with them, through the same gate as any model; and they stand in for a
model whose reply could not be used.
"""

from collections.abc import Iterator, Sequence

from acc_ace.schemas.commit import ChangeKind, ConstraintPin, RuleChange
from acc_ace.text.normalize import language_of, normalise
from acc_ace.text.patterns import any_of
from acc_ace.text.polarity import negated
from acc_ace.text.quoted_spans import mask_quotations
from acc_ace.text.rules import mood_en, mood_ja, rule_changes
from acc_ace.text.rules.goal_detection import detect_goal
from acc_ace.text.rules.own_words import own_words
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.sentences import split_clauses
from acc_ace.text.similarity import content_words

_ENDS = any_of(
    r"\b(?:lift|drop|scrap|forget|remove|undo|cancel|release|waive|revoke|relax|delete|take back"
    r"|get rid of|do away|off the table|no longer|any ?more|instead|change|changed|update|raise"
    r"|lower|make (?:that|it)|switch|feel free|you (?:can|may)|it's (?:ok|okay|fine)|is over|ended"
    r"|don't need|no need|doesn't (?:apply|hold)|can go|lifting|dropping|scrapping|removing)\b",
    r"解除|撤回|撤廃|取り?消|やめ|外して|外し|なしで|なくて|不要|いらない|要らない|変え|変更|改め|忘れて"
    r"|解く|解い|終わり|終わった|終了|(?:ok|オーケー|オッケー)(?:に|で|です)|大丈夫|てもいい|ていい"
    r"|てよい|構いません|かまわない|許可|緩め|上げて|下げて",
)
"""Words with which somebody may end or change a rule; the gate asks, so they may be too many."""

_A_RULE = any_of(
    r"\b(?:rule|ban|freeze|restriction|constraint|limit|cap|policy)s?\b",
    r"ルール|制約|制限|決まり|禁止|規則|上限",
)

_MAY_RULE = any_of(
    r"^\W*(?:(?:please|and|also|ok(?:ay)?|so|but|then|well|first|second|third|for \w+),? )*"
    r"(?:never|always|only|no (?!idea|problem|worries|way|doubt|matter|wonder|one can|longer)"
    r"|don't (?!know|worry|think|mind|have|get|forget)|do not|nobody|make sure|make it a habit"
    r"|keep (?!up|it up|going|me|us|in touch|on)|stop \w+ing|avoid|use (?!to)|drop|cap|limit"
    r"|i want (?!to)|anything|when in doubt|while i'm|in (?:every|all|each)"
    r"|every (?!time|day|year|once)|each|at (?:least|most)|whatever|no more than)",
    r"\b(?:must(?! (?:be|have|say|admit|feel|see))|must (?:be|have) (?:a|an|the|in)"
    r"|(?:has|have) to (?:be|stay|have|carry|go|come)|without (?:asking|my|a)|from now on"
    r"|permanently|at most|at least|no later|no more than|under \d|below \d|within \d|up to \d"
    r"|not (?:allowed|above)|goes? through me|my rules?|has to have|before you"
    r"|ask me (?:first|before))\b",
    r"ないで|なしで|禁止|だけ(?:に|で|を|が)|のみ|だめ|ダメ|(?<![a-z])ng(?![a-z])|以内|以下|必ず|常に|全部|すべて|最低"
    r"|避け|守って|すな(?![ぁ-ん])|先に.*(?:聞いて|確認)|(?:しない|せず|ない|こと)(?:[。！]|$)|まで(?:で|に|や|[。！]|$)"
    r"|(?:て|で)(?:ほしい|欲しい)|(?:いつも|毎回|今後|これから).*(?:ください|下さい|お願い|頼む)"
    r"|(?:で|に|は)(?:お願い|頼む)|いりません|(?:たら|場合|ときは|時は).*(?:ください|下さい)",
)
"""Words of rules, and of much else."""

_OF_OTHERS = any_of(r"^(?:they|it|he|she)\b|\bmust have\b")
"""Statements about others, which only sound like rules."""

_ONE_OFF = any_of(
    r"\b(?:yet|after all|today|tomorrow|tonight|now|this (?:one|time|week|draft|file)|the third"
    r"|i (?:have|had|must|can't|hope|think|wish)|we (?:had|have|used)|never mind|don't worry)\b",
    r"まだ|今日は|明日|昨日|さっき|今回|気にしないで|挙げて|探して|教えて|見て$|かな|らしい|そうです|んです",
)


def proposed_changes(
    text: str, pins: Sequence[ConstraintPin], *, has_goal: bool
) -> list[RuleChange]:
    """The rules, releases, amendments and goal that a text seems to state, each with its quote.

    What only may be a rule is proposed as unsure, so that the user is asked.
    """
    changes = list(_changes(text, pins))
    ending = [change.quote for change in changes]
    rules = [
        RuleChange(
            kind=ChangeKind.ADD,
            quote=rule.text,
            sure=not _OF_OTHERS.search(normalise(rule.text)),
        )
        for rule in detect_rules(text)
        if not any(rule.text in quote or quote in rule.text for quote in ending)
    ]
    taken = [*ending, *(rule.quote for rule in rules)]
    rules += [
        RuleChange(kind=ChangeKind.ADD, quote=clause, sure=False)
        for clause in _stated(text)
        if _may_be_rule(clause) and not any(clause in t or t in clause for t in taken)
    ]
    goal = detect_goal(text)
    stated = goal is not None and (goal.explicit or not has_goal)
    goals = [RuleChange(kind=ChangeKind.GOAL, quote=goal.text)] if goal and stated else []
    return [*changes, *rules, *goals]


def _changes(text: str, pins: Sequence[ConstraintPin]) -> Iterator[RuleChange]:
    """Releases and amendments: by the strict rules, else of the rule that the words fit best."""
    strict = rule_changes.detect_changes(text, pins)
    for change in strict:
        yield RuleChange(
            kind=ChangeKind(change.kind.value),
            quote=change.quote,
            rule_id=change.constraint_id,
            text=change.new_text,
        )
    known = {change.constraint_id for change in strict}
    settled = [change.quote for change in strict]
    for clause in _stated(text):
        if any(clause in quote or quote in clause for quote in settled):
            continue
        if _ENDS.search(normalise(clause)):
            for pin in _spoken_of(clause, [pin for pin in pins if pin.id not in known]):
                known.add(pin.id)
                yield RuleChange(kind=ChangeKind.RELEASE, quote=clause, rule_id=pin.id)
    unmatched = rule_changes.unmatched_release(text, pins)
    if unmatched is not None and not known:
        yield RuleChange(kind=ChangeKind.RELEASE, quote=unmatched)


def _stated(text: str) -> Iterator[str]:
    """The clauses that are no questions and nobody's report or guess."""
    for sentence in own_words(text).sentences:
        folded = normalise(mask_quotations(sentence.text))
        mood = mood_ja if language_of(folded) == "ja" else mood_en
        if not (mood.is_question(folded) or mood.is_reported(folded) or mood.is_supposed(folded)):
            yield from split_clauses(sentence.text)


def _spoken_of(clause: str, pins: Sequence[ConstraintPin]) -> list[ConstraintPin]:
    """The rules that share the most words with a clause; the only one, if it speaks of a rule."""
    if len(pins) == 1 and _A_RULE.search(normalise(clause)):
        return list(pins)
    words = content_words(clause)
    shared = {pin.id: len(words & content_words(pin.text)) for pin in pins}
    most = max(shared.values(), default=0)
    return [pin for pin in pins if most and shared[pin.id] == most]


def _may_be_rule(clause: str) -> bool:
    folded = normalise(clause)
    return bool(_MAY_RULE.search(folded)) and not _ONE_OFF.search(folded)


def fallback_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """Proposals without a usable reply: prohibitions, and changes that become questions."""
    return [
        change
        for change in proposed_changes(text, pins, has_goal=True)
        if change.kind in {ChangeKind.RELEASE, ChangeKind.AMEND}
        or (change.kind is ChangeKind.ADD and negated(change.quote))
    ]
