"""Which rules in force a message may lift or change.

Three things together make a question of it: the message speaks of what the rule speaks of, it is
no question and no report, and a word permits, ends or alters something, or names another number
than the rule's. The words are closed classes, in English, Japanese and a little of others.
"""

import re
from collections.abc import Iterator, Sequence

from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin, RuleChange
from acc_ace.core.text.normalize import language_of, normalise
from acc_ace.core.text.patterns import any_of, lazy_pattern, one_of
from acc_ace.core.text.rules import mood_en, mood_ja
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.possible_rules import is_question, is_reported, is_supposed
from acc_ace.core.text.rules.quoted_spans import mask_quotations
from acc_ace.core.text.rules.verbs_en import ONE_OFF
from acc_ace.core.text.sentences import remembered
from acc_ace.core.text.similarity import content_words

_PERMITS = any_of(
    r"\b(?:can(?!'t)|may|could(?!n't)|free|fine|ok|okay|all ?right|alright|allowed|permitted"
    r"|welcome|go ahead|go back|back (?:to|on|in)|enough|plenty|blessing|go nuts|needn't|no need"
    r"|don't (?:need|have|bother|worry)|unnecessary|again|as you see fit"
    r"|up to you|your call|don't mind|bring back)\b|(?:not|n't) (?:needed|necessary|required)\b"
    r"|(?:\bis|\bare|'s) (?:back |now )?(?:in|off|out|on|open)\b",
    r"[てで]も?(?:いい|良い|よい|よろしい|ええ|よし|構|かま|大丈夫|ok|問題|差し支え|結構)"
    r"|なくて?も?(?:いい|ええ|よ)|んで(?:も)?ええ|許可|解禁|自由に|どうぞ|じゃんじゃん|再開"
    r"|もう(?:ええ|いい|[^。]*(?:ない|ません))|大丈夫|平気|十分|ok",
)
_ENDS = any_of(
    r"\b(?:lift\w*|dropp?\w*|scrap\w*|forget|remov\w+|undo|cancel\w*|releas\w+|waiv\w+|revok\w+"
    r"|relax\w*|delet\w+|stop|quit|take back|get rid|(?:do|done) away|off the table|no longer"
    r"|any ?more|any longer|over|done|finished|ended|gone|expired?|void|obsolete|history|can go"
    r"|ignore|retire\w*|abolish\w*|suspend\w*|isn't a thing|thaw\w*|withdraw\w*|ease\w*)\b",
    r"解除|撤回|撤廃|廃止|取り?消|取消|やめ|止め|外し|外す|外れ|なし[でにと]|不要|いらない|いりません"
    r"|要らない|必要(?:は)?(?:もう)?(?:な|あり)|忘れ|解く|解い|解け|終わ|終了|おしまい|無効|卒業"
    r"|気にしなく|省いて|省略|なくす|戻し|失効|緩め|緩和|なくな|なくし|適用",
)
_ALTERS = any_of(
    r"\b(?:instead|from (?:now|today|here|then|\w+ on)|start \w+ing|loosen\w*"
    r"|chang\w+|updat\w+|rais\w+|lower\w*|increas\w+"
    r"|reduc\w+|extend\w*|shorten\w*|switch\w*|swap\w*|replac\w+|make (?:it|that|the)|rather than"
    r"|in place of|after all|as of|except\w*|unless|apart from|going forward|should be"
    r"|went (?:up|down)|bump\w*|cut|widen\w*|tighten\w*|as well|include)\b",
    r"変え|切り替え|変更|改め|(?:じゃ|では|や)なく|代わり|引き[上下]げ|上げ|下げ|増や|減ら|延長|短縮|だけは|に限"
    r"|追加|今後は|これからは|今日から|からに|いただけると|まで(?:ok|可|よし|使)",
)
_MAY_ALTER = any_of(r"\b(?:now|only|also|add|up to|too|mov\w+)\b", r"にして|にする")
"""What alters a rule only if more than one of its words is there, too."""

_CHANGES_ELSEWHERE = any_of(
    r"取消|可以|改成|不用|снима|отмен|больше не|можно|теперь|바꿔|취소|해제|괜찮|이제|ألغ|يمكنك"
    r"|لم يعد|हटा|बदल",
    r"\b(?:olvid\w+|ya puedes|cancel\w+|quit\w+|cambi\w+|aufheb\w+|gilt nicht mehr|vergiss"
    r"|darfst|ab jetzt|statt|ändere)\b",
)
_UPHOLDS = any_of(
    r"^only \w+(?: \w+)? (?:may|can)\b|\b(?:still|not yet|yet|leave it)\b"
    r"|\bkeep (?:the|that|it|this) (?:rule|ban|limit|cap)\b",
    r"\b(?:don't|do not|never|not|won't|can't|nobody|isn't|aren't) (?:\w+ ){0,2}?(?:lift|drop"
    r"|remov|cancel|releas|chang|over\b|revok|scrap|waiv|fine|ok\b|okay|allowed)",
    r"まだ|引き続き|継続|(?:解除|撤廃|撤回|変更|外さ|忘れ|やめ)(?:し)?(?:ない|ません)|外せへん|ままで",
    r"\b(?:just this|this once|only (?:tonight|today|this)|(?:just|only) this one)\b",
    r"今回だけ|今日だけ|一度だけ|この一|次からは",
)
"""What keeps a rule, or leaves it for one time only."""
_SUPPOSED = any_of(
    r"^(?:if i|if we|once|as soon as|suppose|imagine|what if|let's say)\b",
    r"^もし|^(?:昔|以前|かつて)|と[^、。]{0,10}(?:言わ|言っ|言う|聞い|頼ま)|(?:たら|れば)(?:どう|、)"
    r"|かも|かな|だろう|でしょう|のに|といいな|ばいいな|はず|らしい|そう(?:です|だ)|みたい|ようです"
    r"|んだって|んやけど",
)
_OF_OTHERS = any_of(
    r"^(?:and |but |so )*(?:he|she|they|somebody|someone|people|my|his|her|their|our) "
    r"(?!rule|limit|ban|cap)|\b(?:its|their)\b"
    r"|\bi (?!changed|lifted|dropped|decided)(?:\w+ed|was|had|read|heard?|paid|spent"
    r"|bought|got|went|saw|took|made|gave|found|sent|wrote)\b",
    r"(?:さん|くん|ちゃん|妹|弟|姉|兄|妻|夫|友だち|友達|上司|隣).*[がはも].*(?:た|る|ます|です)[。]?$",
    r"\b(?:was|were)\b|\bin (?:19|20)\d\d\b"
    r"|が[^、。]{0,12}を[^、。]*(?:ました|ていた|た)[。]?$|んです(?:よ|ね)",
)
"""What others do, or what was long ago."""

_SINGLE_ORDER = lazy_pattern(
    rf"^(?:please |and |(?:can|could|would|will) you |now )*{one_of(ONE_OFF - {'drop', 'stop'})} "
)
_REQUEST = lazy_pattern(r"^(?:so |and |ok |please )*(?:can|could|would|will) (?:you|we) ")
_A_RULE = any_of(
    r"\b(?:rule|ban|freeze|restriction|constraint|limit|cap|policy)s?\b",
    r"ルール|制約|制限|決まり|禁止|規則|上限|縛り|約束",
)
_ALL = any_of(
    r"\b(?:all|both|every|each) (?:of )?(?:my|the|our|these|those)\b",
    r"全部|すべて|全て|両方|二つの",
)
_PARTS = lazy_pattern(r"(?<!\d)[,;:] ?|[,;:] |[、。] ?| - ")
_NUMBERS = lazy_pattern(
    r"(?<![A-Za-z0-9-])\d+(?:[.,]\d+)?|[一二三四五六七八九十百千万・]+(?=[個件字文人名円時分日月グ回つ])"
)
"""Values; a number within a name, as in 'db-02', is none."""

_PLURAL = lazy_pattern(r"[a-z]{4,}s\b")
_WORD = lazy_pattern(r"\w{3,}")
_QUOTED_OR_NAMED = lazy_pattern(r"(?<=「)[^」]+|\d+|[a-z\d]+[\u4e00-\u9fff]")
_HYPHEN = lazy_pattern(r"(?<=[a-z])-(?=[a-z])")
"""Of a word in parts; what is before a number is no word of its own: 'db-01'."""

_BEGINNING = 4
"""Letters of a word that endings leave alone, in scripts that no stemmer here knows."""


def possible_changes(text: str, pins: Sequence[ConstraintPin]) -> list[RuleChange]:
    """What a message may do to the rules in force, once for each rule, in the order said."""
    sentences = [sentence.text for sentence in own_words(text).sentences] if pins else []
    whole = " ".join(sentences)
    changes: dict[str, RuleChange] = {}
    for sentence in sentences:
        for pin, alters in _changed_by(sentence, whole, pins):
            changes.setdefault(pin.id, _change(sentence, pin, alters=alters))
    return list(changes.values())


def _change(sentence: str, pin: ConstraintPin, *, alters: bool) -> RuleChange:
    """The end of a rule, or other words for it."""
    kind, text = (ChangeKind.AMEND, sentence) if alters else (ChangeKind.RELEASE, None)
    return RuleChange(kind=kind, quote=sentence, rule_id=pin.id, text=text)


def unmatched_end(text: str) -> str | None:
    """The first sentence that ends something that it calls a rule, or None."""
    for sentence in own_words(text).sentences:
        folded = normalise(mask_quotations(sentence.text))
        if _A_RULE.search(folded) and any(map(_ends, _parts(folded))):
            return sentence.text
    return None


_UNASKED = any_of(
    r"\b(?:don't|do not|never|stop|no) (?:\w+ )?(?:ask|ping|check|confirm|approv|log|wait|bother|"
    r"requir|verif|validat|review|block|limit|restrict|enforc|encrypt|protect|monitor|audit)",
    r"(?:聞|確認|承認|報告|記録|相談|許可|要求|必須|検証|制限|監視|保護)[^、。]{0,4}(?:な[いくし]|ず|不要)",
)
"""What is negated here watches over the agent."""


def may_loosen(text: str, pins: Sequence[ConstraintPin]) -> bool:
    """Whether it permits, ends or alters something, does away with checks, or is about a rule.

    "Don't limit spending" adds a prohibition to other rules, and loosens the one that limits it.
    """
    signs = (_PERMITS, _ENDS, _ALTERS, _UNASKED)
    return bool(_nearest(text, pins)) or any(each.search(normalise(text)) for each in signs)


def _ends(part: str) -> bool:
    return bool(_ENDS.search(part))


def _changed_by(
    sentence: str, whole: str, pins: Sequence[ConstraintPin]
) -> Iterator[tuple[ConstraintPin, bool]]:
    """The rules that a sentence of a message may change, and whether to other words."""
    folded = normalise(mask_quotations(sentence))
    parts = _parts(folded)
    signs = [part for part in parts if _is_sign(part)]
    for part in signs:
        alters = bool(_ALTERS.search(part)) and not _ENDS.search(part)
        for pin in _spoken_of(part, sentence, whole, pins):
            yield pin, alters or _has_other_value(folded, pin)
    past = mood_ja if language_of(folded) == "ja" else mood_en
    if parts and not signs and not _SINGLE_ORDER.search(folded) and not past.is_past(folded):
        slightly = any(_MAY_ALTER.search(part) for part in parts)
        for pin in _nearest(sentence, pins):
            shared = _topic(sentence) & _topic(pin.text)
            if len(shared) > 1 and (slightly or _has_other_value(folded, pin)):
                yield pin, True


def _parts(sentence: str) -> list[str]:
    """The parts of a sentence that may change something: said by the speaker, of the agent."""
    if _UPHOLDS.search(sentence) or _SUPPOSED.search(sentence) or is_question(sentence):
        return []
    if language_of(sentence) == "en" and is_supposed(sentence):
        return []
    request = _REQUEST.sub("", sentence)
    return [
        part for part in _PARTS.split(request) if not (_OF_OTHERS.search(part) or is_reported(part))
    ]


def _is_sign(part: str) -> bool:
    """Whether it permits, ends or alters something; to order once is not to permit."""
    if any(sign.search(part) for sign in (_ENDS, _ALTERS, _CHANGES_ELSEWHERE)):
        return True
    return bool(_PERMITS.search(part)) and not _SINGLE_ORDER.search(part)


def _has_other_value(sentence: str, pin: ConstraintPin) -> bool:
    """Whether it names a number where the rule names another."""
    ruled = set(_NUMBERS.findall(normalise(pin.text)))
    return bool(ruled) and bool(set(_NUMBERS.findall(sentence)) - ruled)


def _spoken_of(
    part: str, sentence: str, whole: str, pins: Sequence[ConstraintPin]
) -> Sequence[ConstraintPin]:
    """The rules that a part means: by its own words, its sentence's, or the message's."""
    folded = normalise(sentence)
    if _A_RULE.search(folded) and (len(pins) == 1 or _ALL.search(folded)):
        return pins
    named = [pin for pin in pins if pin.id in folded]
    return (
        named
        or _nearest(part, pins)
        or _nearest(sentence, pins)
        # Some word of a whole message is soon a rule's, too.
        or _nearest(whole, pins, least=2)
    )


def _nearest(text: str, pins: Sequence[ConstraintPin], *, least: int = 1) -> list[ConstraintPin]:
    """The rules that share the most words with a text, and no fewer than `least`."""
    words = _topic(text)
    shared = {pin.id: len(words & _topic(pin.text)) for pin in pins}
    most = max(shared.values(), default=0)
    return [pin for pin in pins if most >= least and shared[pin.id] == most]


@remembered
def _topic(text: str) -> frozenset[str]:
    """Content words, the parts of hyphened ones, numbers, and beginnings of words elsewhere."""
    folded = normalise(text)
    return (
        content_words(folded)
        | content_words(_HYPHEN.sub(" ", folded))
        | {word.removesuffix("s") for word in _PLURAL.findall(folded)}
        | {word[:_BEGINNING] for word in _WORD.findall(folded) if _is_elsewhere(word[0])}
        | set(_QUOTED_OR_NAMED.findall(folded))
    )


def _is_elsewhere(char: str) -> bool:
    """Whether a letter is of a script that content words leave out, and that puts spaces."""
    return not char.isascii() and (char < "\u2e80" or re.match("[가-힣]", char) is not None)
