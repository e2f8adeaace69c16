"""What a user says of their own life in common wordings, English and Japanese, by its subject."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from acc_ace.core.schemas.interaction import AboutUser
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.self_statements import JOINTS
from acc_ace.core.text.similarity import content_words
from acc_ace.ext.embedded.speech_acts import is_question

_ME: Final = r"\b(?:i|we)(?:['’](?:m|ve|re)| am| are| have)?(?: (?:\w+ly|just))?"
_KINDS: Final = re.compile(
    rf"(?P<home>{_ME} (?:live|based|moved(?! (?:the|it|our|all)\b)"
    r"|(?:from|in(?: the)?) (?-i:[A-Z]\w*))\b|住んで|住まい|在住|引っ越)"
    r"|(?P<age>\bi(?:['’]m| am) \d{1,3}(?![\w%])|\bmy birthday\b|\d[歳才])"
    r"|(?P<diet>\b(?:vegan|vegetarian|gluten)\b|\bi (?:do not |don['’]t |only )?(?:eat|drink)\b"
    r"|(?:食べ|飲み)ま(?:す|せん)|食べられ|飲め)"
    r"|(?P<health>\ballerg|\bdiabet|\bintoleran|アレルギー|糖尿|苦手)"
    r"|(?P<name>\bcall me\b|\bmy name is\b|名前は|と呼んで)"
    r"|\bmy (?P<who>(?:wife|husband|partner|sons?|daughters?|kids|children|twins|mother|father|mum"
    r"|mom|dad|brother|sister|dog|cat|supervisor|boss|manager)(?: (?-i:[A-Z]\w+))?)\b"
    r"|(?P<who_ja>妻|夫|息子|娘|子ども|両親|母|父|兄|弟|姉|妹|犬|猫)(?=[のはがと])"
    rf"|(?P<job>{_ME} (?:an? (?!bit|little|lot|few)\S|work (?:as|at|for|from|in)|teach|run an?"
    r"|own|study|retired|been made|switched|promoted)|\bwork (?:as|at|for)\b|\bretired\b"
    r"|\b(?:student|engineer|nurse) here\b"
    r"|で働|勤め|勤務|(?:職業|仕事)は|(?:師|会社員|学生|エンジニア)です)"
    rf"|(?P<habit>{_ME} (?:drive|play|speak|type|bike|cycle|walk|get up)\b"
    rf"|{_ME} .{{1,40}}\bevery (?:day|morning|evening|week)\b)|(?P<習慣>毎[朝晩].*て(?:い)?ま?す)",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    r"\b(?:i|we|my|me|our)\b|\b(?:now|these days|any ?more)\b|今は|最近|になりました|変え|代わり",
    re.IGNORECASE,
)
_LINKS: Final = re.compile(
    r"\b(?:for|on|in|at|to|with|of|before|after|every|each|work|day|morning|evening|week)\b"
)
_WORD: Final = re.compile(r"[A-Za-z][\w-]+")
_STEM: Final = 8


def about_user(texts: Sequence[str], subjects: Sequence[str]) -> Iterator[AboutUser]:
    """The sentences of the messages that say such, numbered on from one message to the next.

    `subjects` are known: what shares a word with one and tells of a change is of that one.
    """
    sentences = (each.text for text in texts for each in own_words(text).sentences)
    for number, sentence in enumerate(sentences, 1):
        if not is_question(sentence) and not sentence.endswith((":", "：")):
            yield from _statements(number, sentence, subjects)


def _statements(number: int, sentence: str, subjects: Sequence[str]) -> Iterator[AboutUser]:
    parts = [*_parts(sentence, subjects)]
    if not parts and _CHANGE.search(sentence) and (subject := _known(sentence, subjects)):
        parts = [(subject, sentence)]
    for subject, quote in parts:
        quoted = quote if len(parts) > 1 else ""
        yield AboutUser(subject=subject, sentence=number, quote=quoted)


def _parts(sentence: str, subjects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The subjects of a sentence, each with the words that say something of it."""
    cuts = [*JOINTS.finditer(sentence)]
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(sentence)]
    subject, begin, until = "", 0, 0
    for start, end in zip(starts, ends, strict=True):
        named = _subject(sentence[start:end], subjects)
        if subject and named and named != subject:
            yield subject, sentence[begin:until]
            begin = start
        subject, until = named or subject, end
    if subject:
        yield subject, sentence[begin:until]


def _subject(part: str, subjects: Sequence[str]) -> str:
    match = _KINDS.search(part)
    if match is None:
        return ""
    kind = str(match.lastgroup)
    if kind == "habit":
        return _known(part, subjects) or _thing(part[match.end() :]) or match[kind]
    return match[kind] if kind.startswith("who") else kind


def _thing(text: str) -> str:
    """The last word of the first phrase that has one: of "an old van for work" the van."""
    phrases = (_WORD.findall(each) for each in _LINKS.split(text))
    return next((words[-1] for words in phrases if words), "")


def _known(text: str, subjects: Sequence[str]) -> str:
    """The known subject that shares a word with a text, or the beginning of a long one, or ''.

    A kind is none: "my job failed" is of no user's job.
    """
    words = {each[:_STEM] for each in content_words(text)}
    named = (each for each in subjects if each not in _KINDS.groupindex)
    return next(
        (each for each in named if words & {word[:_STEM] for word in content_words(each)}), ""
    )
