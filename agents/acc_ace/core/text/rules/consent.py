"""Whether a whole message consents to a change that waits, or refuses it, by naming it.

Consent is authority, so it is told by code, from closed classes of words in English and Japanese:
one plain sentence that affirms, says what is done to the rule, and names it. Every word of it is of
the rule, of its new wording, or of these classes. Whatever else stands in the message (a negation,
a condition, another time, another thing) makes it none; nor is a bare yes or no, which may be
meant for the agent, nor an act that the rule is about.
"""

from typing import Final

from acc_ace.core.schemas.commit import ChangeKind, OpenQuestion
from acc_ace.core.text.lexicon_en import root_of
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern, words_of
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
    r"|sounds? good|that.s right|no problem"
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
_YES_FIRST = lazy_pattern(rf"^(?:{_YES}{_END}(?=$|[^a-z])[ ,.!、。:;-]*(?:and )?)+")
_REFUSES = any_of(
    rf"^{_NO}(?=$|[^a-z])",
    r"\b(?:keep|leave|stays?|stay|remains?)\b|\b(?:don't|do not|never) (?:lift|drop|remove|release"
    r"|change|touch|allow|waive|raise|lower)\b",
    r"そのまま|まんま|のまま|ままで|維持|守って"
    r"|(?:解除|変更|撤回|許可)(?:は|を)?し(?:ない|ません|ん)",
)
_KEEPS = any_of(r"^(?!no\b|don't\b).*\bkeep\b")
_VERBS: Final = {
    ChangeKind.RELEASE: "lift drop remove release cancel waive end delete scrap withdraw forget",
    ChangeKind.AMEND: "change update raise lower increase reduce extend shorten amend adjust "
    "switch replace make set adopt use allow permit",
    ChangeKind.PERMIT: "keep allow permit grant add store remember",
    ChangeKind.ADD: "keep add store remember",
    ChangeKind.GOAL: "make change set take adopt switch",
}
_VERBS_JA: Final = {
    ChangeKind.RELEASE: lazy_pattern(
        r"解除|外[しす]|解い|撤回|撤廃|取り?消し?|削除|廃止|な(?=くし)|(?=やめ)"
    ),
    ChangeKind.AMEND: lazy_pattern(
        r"変更|変え|更新|引き?[上下]げ|[上下]げ|延長|短縮|修正|改め|差し替え|(?=に(?:して|します))"
    ),
    ChangeKind.PERMIT: lazy_pattern(r"許可|残[しす]|認め|追加|覚え"),
    ChangeKind.ADD: lazy_pattern(r"残[しす]|追加|覚え"),
    ChangeKind.GOAL: lazy_pattern(r"変更|変え|(?=に(?:して|します))"),
}
_OFF = any_of(
    r"\bcan (?:now )?go$|\b(?:is|are) (?:now )?(?:off|gone|over)\b|\bget rid of\b"
    r"|\bno longer (?:needed|necessary|applies|holds)\b",
    r"なし|無し|不要|(?:要|い)(?:りません|らない)|終わり",
)
"""What is said of a rule that is to hold no more."""
_AGAIN = any_of(
    r"^(?=.*\b(?:may|can|allowed|permitted)\b).*\b(?:again|from now on|whenever)\b",
    r"(?:もう|また|今後|これから|いつでも).*[てで]も?(?:いい|よい|大丈夫|ok)",
)
"""A permission that stands: without these words it may be for an act of the agent."""
_RULE = (
    r"(?:rule|ban|freeze|restriction|constraint|limit|cap|policy|permission|prohibition"
    r"|requirement)"
)
_NOUN = any_of(rf"\b{_RULE}\b", r"ルール|制約|制限|禁止|規則|上限|許可|決まり")
_GOAL = any_of(r"\bgoal\b", r"目標|ゴール")
_NEGATED_NAME = lazy_pattern(
    rf"\bno[ -](?=[\w-]+ {_RULE}\b)|(?<=\babout )(?:not|never) (?=\w+ing\b)"
)
"""A negation that belongs to the name of a rule: 'the no-restart rule'."""
_PLAIN: Final = words_of(
    "a about again against all also an any anymore are as at be can completely fine for from go "
    "good i i'd i'm in instead into is it it's its just limit like may me more my new now of off "
    "ok okay on our over please so that the this to too up us want we with you your allowed "
    "permitted whenever thanks thank"
)
_PLAIN_JA = lazy_pattern(
    r"(?:[はをがのにへでもおよねや]|もう|また|この|その|これから|いつでも|という|について|に関する"
    r"|ください|ねがい|いたし|して?|ても?|くし|いい|よい|です|ます|たい|する|くれ|もらって|やめて?)*"
)
_POLITE_JA = lazy_pattern(
    r"下さい|願いします|願い(?:いた|致)します|頼みます|(?:構|かま)(?:いません|わない|わん)"
    r"|問題(?:ありません|ない)|大丈夫|結構|今後|以後|新しい|新|例の|件"
)
_WEAK: Final = words_of("make set use adopt switch replac allow permit")
_LOWERS: Final = words_of("lower reduc shorten 下げ 引き下げ 引下げ 短縮")
"""Verbs of a change that may be of an act too, or that may be against the change."""
_RULES_ONLY = any_of(r"\b(?:lift|release|waive|withdraw)", r"解除|撤")
"""What is done to rules, and hardly to what they are about."""
_WISH = lazy_pattern(r"\bwould like\b")
_ASKS = lazy_pattern(
    r"^(?:is|are|can|may|do|does|am|to)\b|\b(?:can|may) (?:i|we)\b|\b(?:i|we) may\b"
)
_CLAIMS = lazy_pattern(
    r"\b(?:i|you|we) [a-z]+ed\b|\b(?!allowed|permitted)[a-z]+ed (?:it|this|that|the|my|our)\b"
)
"""What was done is no consent to doing it."""
_WORD = lazy_pattern(
    r"[a-z0-9]+(?:[-_.:/@'][a-z0-9]+)*|[ぁ-ゟ]+|[゠-ヿー]+|[一-鿿々]+|[^\s,.!、。・:;-]"
)
_REQUEST_JA = lazy_pattern(r"(?:ください|下さい|お願いします|お願い|して|ええよ|いいよ|します)$")


def consents(text: str, question: OpenQuestion, rule: str) -> bool | None:
    """True if the message consents to the question's change by naming it, False if it refuses.

    `rule` is the text of the rule that the question is about, or ''. None for any other message;
    a refusal too must name what it refuses.
    """
    folded = normalise(text).strip(" .!。！")
    ids = set(_IDS.findall(folded))
    # An id in capitals is some ticket's.
    is_other = bool(ids - {question.rule_id} or ids - set(_IDS.findall(text)))
    if not folded or len(folded) > _MOST_CHARS or is_other:
        return None
    message = _Message(_IDS.sub(" ", folded), question, rule, by_id=bool(ids))
    if not message.is_about:
        return None
    if message.restates():
        return True
    keeps = question.kind in {ChangeKind.ADD, ChangeKind.PERMIT} and _KEEPS.search(folded)
    if _REFUSES.search(folded) and not keeps:
        return False if message.is_only_about and not folded.endswith("?") else None
    return True if message.grants() else None


class _Message:
    """What a message says to a question, word by word."""

    def __init__(self, folded: str, question: OpenQuestion, rule: str, *, by_id: bool) -> None:
        self._kind = question.kind
        self._rest = _NEGATED_NAME.sub("", _WISH.sub("want", _YES_FIRST.sub("", folded)))
        self._affirms = _AFFIRMS.search(folded) is not None
        self._wording = normalise(" ".join(question.texts)).strip(".。")
        self._all_words = f"{normalise(rule)} {self._wording}"
        self._topic = content_words(self._all_words)
        self._new = content_words(self._wording) - content_words(rule)
        self._noun = _GOAL if self._kind is ChangeKind.GOAL else _NOUN
        self._common = content_words(self._rest) & self._topic
        self._says_rule = by_id or self._noun.search(self._rest) is not None
        self.is_about = bool(self._common) or self._says_rule
        others = topic_words(self._rest) - self._topic
        self.is_only_about = len(others) <= (_MOST_OTHER if len(self._common) > 1 else 0)

    def grants(self) -> bool:
        """Whether it affirms the change that was shown, and says nothing else."""
        rest = self._rest
        if not self._has_its_numbers() or _ASKS.search(rest) or _CLAIMS.search(rest):
            return False
        first = _WORD.match(rest)
        is_order = first is not None and root_of(first.group()) in self._verbs()
        if not (self._affirms or is_order or _REQUEST_JA.search(rest)):
            return False
        return self._does_it() and self._is_plain(rest, self._all_words) and not self._goes_on()

    def _goes_on(self) -> bool:
        """Whether it speaks of the rule's matter again, after it has said what is done."""
        parts, verb = _PAUSE.split(self._rest), _VERBS_JA[self._kind]
        says = [bool(self._acts_in(part) or verb.search(part)) for part in parts]
        after = parts[says.index(True) + 1 :] if any(says) else []
        return bool(content_words(" , ".join(after)) & self._topic)

    def changes_it(self) -> bool:
        """Whether it speaks of the rule and has a word of what is done to rules."""
        is_act = self._acts_in(self._rest) or _VERBS_JA[self._kind].search(self._rest)
        return bool(is_act and self._common)

    def _acts_in(self, text: str) -> set[str]:
        return {root_of(word) for word in _WORD.findall(text)} & self._verbs()

    def _verbs(self) -> set[str]:
        return {root_of(verb) for verb in _VERBS[self._kind].split()}

    def _has_its_numbers(self) -> bool:
        """Whether its numbers are the change's, and an old one stands as what was."""
        own, every = set(_DIGITS.findall(self._rest)), set(_DIGITS.findall(self._all_words))
        wording = set(_DIGITS.findall(self._wording))
        old = own - wording if self._new & wording else set[str]()
        before = set(_OLD.findall(self._rest)) if old else set[str]()
        is_new = not old or bool(own & self._new)
        return own <= every and is_new and old <= {"".join(each) for each in before}

    def _does_it(self) -> bool:
        """Whether it says what is done to the rule, in no words of the rule's own matter."""
        rest, verb = self._rest, _VERBS_JA[self._kind].search(self._rest)
        noun, verbs = self._noun.search(rest), self._acts_in(rest)
        acts = verbs - self._topic
        is_act = bool(acts or (verb and verb.group() not in self._all_words))
        is_rule = self._says_rule and (noun is None or noun.group() not in self._all_words)
        if self._kind is ChangeKind.RELEASE:
            of_rule = is_rule and bool(is_act or verbs or verb or _OFF.search(rest))
            of_rule |= self._says_rule and is_act and _RULES_ONLY.search(rest) is not None
            return of_rule or bool(self._common and _AGAIN.search(rest))
        is_new, is_it = bool(self._common & self._new), _IT.search(rest) is not None
        if (acts | {verb.group() if verb else ""}) & _LOWERS and not is_new:
            return False
        if is_rule and (is_act or verbs or verb):
            return True
        if self._kind is ChangeKind.AMEND and is_rule:
            return is_new
        weak = _WEAK if self._kind is ChangeKind.AMEND else frozenset[str]()
        is_strong = bool(acts - weak or (verb and verb.group() and is_act)) or (is_act and is_it)
        return is_strong and (is_new or self._says_rule) and self._kind is not ChangeKind.GOAL

    def restates(self) -> bool:
        """Whether it affirms by repeating the new wording, with all that is new of it."""
        if not self._affirms or not self._has_its_numbers():
            return False
        if not self._wording.isascii():
            before, found, after = self._rest.partition(self._wording)
            return bool(found) and self._is_plain(before + after, "")
        wording, words = _WORD.findall(self._wording), set(_WORD.findall(self._rest))
        is_whole = sum(word in words for word in wording) >= _MOST * len(wording) > 0
        return is_whole and self._new <= self._common and words <= _PLAIN | set(wording)

    def _is_plain(self, text: str, known_from: str) -> bool:
        """Whether nothing but words of the rule, of the change, and of closed classes is left."""
        rest = _without_phrases(text, known_from)
        for known in (_OFF, self._noun, _POLITE_JA, _VERBS_JA[self._kind]):
            rest = known.sub(" ", rest)
        return all(self._is_known(word, known_from) for word in _WORD.findall(rest))

    def _is_known(self, word: str, known_from: str) -> bool:
        if "ぁ" <= word[0] <= "ゟ":
            return _PLAIN_JA.fullmatch(word) is not None
        if not word.isascii():
            return word in known_from
        is_own = word in _PLAIN or root_of(word) in self._verbs()
        if is_own or content_words(word) & self._topic:
            return True
        first, hyphen, others = word.partition("-")
        parts = (first, others)
        return bool(hyphen) and all(self._is_known(part, known_from) for part in parts)


def _without_phrases(folded: str, topic: str) -> str:
    """A message without the longest phrase that it repeats of the rule or its new wording.

    'before noon' in the name of a rule is no condition of the consent to lift it.
    """
    for size in range(min(len(folded), len(topic)), _PHRASE, -1):
        for start in range(len(topic) - size + 1):
            phrase = topic[start : start + size].strip()
            is_long = len(phrase) > (_PHRASE_EN if phrase.isascii() else _PHRASE)
            if is_long and not "ぁ" <= phrase[0] <= "ゟ":
                before, found, after = folded.partition(phrase)
                edges = (before[-1:] + phrase[0], phrase[-1] + after[:1])
                if found and not any(map(_CUT.search, edges)):
                    return f"{before} {after}"
    return folded


_PHRASE, _PHRASE_EN = 3, 8
"""Characters of a phrase that is too short to mean the rule's: Japanese, English."""
_MOST = 0.8
"""Share of the words of a new wording that is repeated."""
_CUT = lazy_pattern(r"[a-z0-9]{2}")
_PAUSE = lazy_pattern(r"[,;:、]")
_IT = lazy_pattern(r"\b(?:it|that)\b")
_OLD = lazy_pattern(r"\b(?:from|instead of) (\d+(?:[.,:]\d+)*)|(\d+(?:[.,:]\d+)*)[^\d\s]{0,4}から")
_MOST_OTHER = 1
"""Words of a refusal that neither the rule nor its new wording has."""
_DIGITS = lazy_pattern(r"\d+(?:[.,:]\d+)*")
_NUMBERED = lazy_pattern(r"\bq-\d")
_IDS = lazy_pattern(r"[cu]-\d{4,}")


def consent_opens(text: str) -> bool:
    """Whether a message begins with a yes."""
    return _AFFIRMS.search(normalise(text[:_MOST_CHARS])) is not None


_NAMED = 2
"""Content words of a rule or of its change that a message shares, so that it may answer."""


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
    message = _Message(folded, question, rule, by_id=False)
    topic = content_words(f"{rule} {question.quote}") & content_words(text)
    return _AFFIRMS.search(folded) is not None or message.changes_it() or len(topic) >= _NAMED


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
