"""Whether a whole message consents to a change that waits, or refuses it, by naming it.

Consent is authority, so it is told by code, from closed classes of words in English and Japanese:
one plain sentence that affirms, names the change or says 'rule', and names what it is about.
Whatever else stands in the message (a negation, a condition, another time, a question) makes it
none; nor is a bare yes or no, which may be meant for the agent.
"""

from acc_ace.core.schemas.commit import ChangeKind, OpenQuestion
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern
from acc_ace.core.text.similarity import content_words
from acc_ace.core.text.topic_words import topic_words

_MOST_CHARS = 200
MOST_ANSWERED = 2 * _MOST_CHARS
"""Characters of a message in which an answer is looked for."""
_SHORT = 24
"""Characters of a message that may be an answer, whatever its words are."""
_YES = (
    r"(?:yes|yep|yeah|yup|y|ok|okay|sure|right|correct|agreed|absolutely|certainly|definitely|fine"
    r"|of course|sure thing|by all means|why not|for sure|will do|go for it|go ahead|do it|do so"
    r"|do|please|please do|exactly|indeed|confirmed|i agree"
    r"|sounds? good|that.s right"
    r"|はい|ええ|うん|せや|そう|そうです|もちろん|了解|りょ|承知|お願い|いい|結構|構いません"
    r"|大丈夫|それで|オーライ|おk"
    r"|ok|オッケー|オーケー|どうぞ|その通り)"
)
_NO = r"(?:no|nope|nah|n|いいえ|いや|いえ|ううん|だめ|ダメ|あかん|ちゃう|やめて?)"
_END = (
    r"(?:です|ですよ|だよ|だね|よね|やで|で|よ|ね|わ|、?お願いします|お願い|します|しました"
    r"|してください|ます)?"
)
_BARE_YES = lazy_pattern(
    rf"(?:{_YES}{_END}[ ,.!、。！]*)+(?:thanks?|thank you|ありがとう\w*)?[ .!。！]*"
)
_BARE_NO = lazy_pattern(rf"(?:{_NO}{_END}[ ,.!、。！]*)+(?:thanks?|thank you|please)?[ .!。！]*")
_AFFIRMS = lazy_pattern(rf"^{_YES}(?=$|[^a-z])")
_REFUSES = any_of(
    rf"^{_NO}(?=$|[^a-z])",
    r"\b(?:keep|leave|stays?|stay|remains?)\b|\b(?:don't|do not|never) (?:lift|drop|remove|release"
    r"|change|touch|allow|waive|raise|lower)\b",
    r"そのまま|まんま|のまま|ままで|維持|守って"
    r"|(?:解除|変更|撤回|許可)(?:は|を)?し(?:ない|ません|ん)",
)
_KEEPS = any_of(r"^(?!no\b|don't\b).*\bkeep\b")
_OTHERWISE = any_of(
    r"\b(?:no|not|\w+n't|never|if|unless|when|once|until|till|while|after|before|tomorrow|later"
    r"|maybe|perhaps|probably|might|could|should|would|but|except|only|tonight|today|next|first"
    r"|almost|what|why|how|which|who|whether|wait|hold on|yet|soon|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|this time|for now|one time|or|and)\b",
    r"ない|ません|へん|あかん|なら|たら|れば|場合|まで|明日|明後日|後で|あとで|かも|たぶん|多分"
    r"|でも|けど|のに|まだ|今度|今回|一旦|いったん|とりあえず|ちょっと|来週|今日|以外|ただし|もし|前に|後に"
    r"|てから|か$",
    r"[?？]",
)
"""What makes a consent something else."""
_CHANGES = {
    ChangeKind.RELEASE: any_of(
        r"\b(?:lift|lifted|drop|remove|release|cancel|waive|end|delete|scrap|withdraw|forget)\b",
        r"解除|外し|外す|解い|撤回|撤廃|取り消|取消|削除|なくし|廃止|やめ",
    ),
    ChangeKind.AMEND: any_of(
        r"\b(?:change|update|raise|lower|increase|reduce|extend|shorten|amend|adjust|switch|replace"
        r"|make|set|adopt|use)\b",
        r"変更|変え|更新|上げ|下げ|引き上|引き下|延長|短縮|修正|改め|差し替え|に(?:して|します)",
    ),
    ChangeKind.PERMIT: any_of(
        r"\b(?:keep|allow|permit|grant|add|store|remember)\b", r"許可|残し|残す|認め|追加|覚え"
    ),
    ChangeKind.ADD: any_of(r"\b(?:keep|add|store|remember)\b", r"残し|残す|追加|覚え"),
    ChangeKind.GOAL: any_of(
        r"\b(?:make|change|set|take|adopt|switch)\b", r"変更|変え|に(?:して|します)"
    ),
}
_NOUN = any_of(
    r"\b(?:rule|ban|freeze|restriction|constraint|limit|cap|policy|permission|prohibition)\b",
    r"ルール|制約|制限|禁止|規則|上限|許可|決まり",
)
_GOAL = any_of(r"\bgoal\b", r"目標|ゴール")


def consents(text: str, question: OpenQuestion, rule: str) -> bool | None:
    """True if the message consents to the question's change by naming it, False if it refuses.

    `rule` is the text of the rule that the question is about, or ''. None for any other message;
    a refusal too must name what it refuses.
    """
    folded = normalise(text).strip(" .!。！")
    if not folded or len(folded) > _MOST_CHARS or not _names(text, folded, question, rule):
        return None
    keeps = question.kind in {ChangeKind.ADD, ChangeKind.PERMIT} and _KEEPS.search(folded)
    if _REFUSES.search(folded) and not keeps:
        return None if folded.endswith(("?", "？")) else False
    topic = " ".join([rule, *question.texts])
    rest = _without_phrases(folded, normalise(topic))
    if _OTHERWISE.search(rest) or _is_several(folded):
        return None
    changes = _CHANGES[question.kind].search(rest) is not None
    affirms = _AFFIRMS.search(folded) is not None
    starts = _CHANGES[question.kind].match(folded) or _REQUEST_JA.search(folded)
    if changes and (affirms or starts is not None):
        return True
    return True if affirms and _restates(folded, question, rule) else None


_REQUEST_JA = lazy_pattern(r"(?:ください|下さい|お願いします|お願い|して|ええよ|いいよ|します)$")


def _without_phrases(folded: str, topic: str) -> str:
    """A message without the longer phrases that it repeats of the rule or its new wording.

    'before noon' in the name of a rule is no condition of the consent to lift it.
    """
    for size in range(min(len(folded), len(topic)), _PHRASE, -1):
        for start in range(len(topic) - size + 1):
            phrase = topic[start : start + size].strip()
            is_long = len(phrase) > (_PHRASE_EN if phrase.isascii() else _PHRASE)
            if is_long and phrase in folded:
                return folded.replace(phrase, " ")
    return folded


def _restates(folded: str, question: OpenQuestion, rule: str) -> bool:
    """Whether a message repeats most of what would come into force, and what is new of it."""
    words = content_words(folded)
    wanted = content_words(" ".join(question.texts))
    new = wanted - content_words(rule)
    return bool(new & words) and len(words & wanted) >= _MOST * len(wanted)


_PHRASE, _PHRASE_EN = 3, 8
"""Characters of a phrase that is too short to mean the rule's: Japanese, English."""
_MOST = 0.6


def consent_opens(text: str) -> bool:
    """Whether a message begins with a yes."""
    return _AFFIRMS.search(normalise(text[:_MOST_CHARS])) is not None


def seems_to_answer(text: str, question: OpenQuestion, rule: str) -> bool:
    """Whether a message that settles nothing may be meant for the question."""
    is_short = 0 < len(text.strip()) <= _SHORT and not text.rstrip().endswith(("?", "？"))
    if is_short or bare_reply(text) is not None:
        return True
    folded = normalise(text[:MOST_ANSWERED])
    if len(text) > _MOST_CHARS:
        return False
    if names_question(folded):
        return True
    topic = content_words(" ".join([rule, *question.texts]))
    is_about = _CHANGES[question.kind].search(folded) and content_words(folded) & topic
    return _AFFIRMS.search(folded) is not None or bool(is_about)


def names_question(text: str) -> bool:
    """Whether words give the number of a question: 'q-0002', 'q-2'."""
    return _NUMBERED.search(normalise(text)) is not None


def bare_reply(text: str) -> bool | None:
    """True or False for a whole message that only says yes or no, and not to what; else None."""
    folded = _DECORATION.sub(" ", normalise(text[:MOST_ANSWERED])).strip()
    if _BARE_NO.fullmatch(folded):
        return False
    return True if _BARE_YES.fullmatch(folded) else None


def plain_answer(text: str) -> bool | None:
    """As `bare_reply`, for a question about an act: only yes and no, no 'fine' or 'please'."""
    folded = normalise(text[:MOST_ANSWERED]).strip(" .!。！")
    if _PLAIN_NO.fullmatch(folded):
        return False
    return True if _PLAIN_YES.fullmatch(folded) else None


_PLAIN_YES = lazy_pattern(
    r"(?:yes|y|yep|yeah|yup|はい|ええ|うん|si|oui|ja|네|да)(?:,? please|、?お願いします)?"
)
_PLAIN_NO = lazy_pattern(
    r"(?:no|n|nope|nah|いいえ|いや|ううん|やめて|non|nein|아니요|нет)(?:,? thanks|,? thank you)?"
)
_DECORATION = lazy_pattern(
    r"[^\w\s.,!?、。！？']|[〜~ー]+(?=\W|$)|(?<=[ぁ-ん])[っぁぃぅぇぉ](?=\W|$)"
)
"""Emojis, drawn-out vowels and the like."""


def _names(text: str, folded: str, question: OpenQuestion, rule: str) -> bool:
    """Whether a message speaks of the change's rule, by id, topic or as 'the rule', and no more."""
    shown = " ".join([rule, *question.texts])
    words, topic = topic_words(_IDS.sub(" ", folded)), content_words(shown)
    named, other = words & topic, words - topic
    numbers = set(_DIGITS.findall(_IDS.sub(" ", folded)))
    if numbers - set(_DIGITS.findall(normalise(shown))):
        return False
    noun = _GOAL if question.kind is ChangeKind.GOAL else _NOUN
    # An id in capitals is some ticket's.
    by_id = bool(question.rule_id) and question.rule_id in _IDS.findall(text)
    by_id = by_id and _AFFIRMS.search(folded) is not None
    is_meant = bool(named) or by_id or (noun.search(folded) is not None and not _IDS.search(folded))
    return is_meant and len(other) <= (_MOST_OTHER if len(named) > 1 else 0)


_DIGITS = lazy_pattern(r"\d+(?:[.,:]\d+)*")
_NUMBERED = lazy_pattern(r"\bq-\d")
_IDS = lazy_pattern(r"[cu]-\d{4,}")
_MOST_OTHER = 1
"""Words of a consent that neither the rule nor its new wording has."""


def _is_several(folded: str) -> bool:
    """Whether a message says more than one sentence behind its yes."""
    parts = [part for part in _SENTENCE.split(folded) if part and not _BARE_YES.fullmatch(part)]
    return len(parts) > 1


_SENTENCE = lazy_pattern(r"[.!。！;；\n]\s*")
