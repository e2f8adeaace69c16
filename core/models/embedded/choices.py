"""Choose one of many named options for each of some questions: tagging, classifying, routing.

An option is chosen by its name ("DebtWeightedAverageInterestRate" speaks of debt and interest)
and by lessons of the playbook, which say what words a question had whose answer is known.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from core.domain.language.words import content_words
from core.models.embedded.views import BulletView

_OPTIONS = re.compile(
    r"\b(?:options?|labels?|tags?|classes|categories)\b[^:.\n]{0,40}:\s*,?"
    r"(?P<list>[A-Za-z][\w.-]*(?:\s*,\s*[A-Za-z][\w.-]*){3,600})"
)
_QUESTION = re.compile(r"^\s*\d{1,2}[.)]\s+(?P<text>\S.{0,3999})$", re.MULTILINE)
_ASKED = re.compile(r'["“](?P<what>[^"”]{1,80})["”](?:\s+in (?:the )?(?:sentence|text|phrase))?')
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[%$€£]|[A-Za-z][A-Za-z'-]*|\d[\d.,]*")
_UNITS = {"%": "percent", "$": "dollars", "€": "euros", "£": "pounds"}
_LESSON = re.compile(r'Asked about "(?P<words>[^"]{1,600})", choose (?P<option>[\w.-]{1,120})\.')

_AROUND = 10
"""Words on each side of what is asked about that a lesson takes up."""

_LESSON_WORDS = 12
_LESSON_WEIGHT = 2.0
"""A lesson that fits wholly counts twice what a name that fits wholly does."""

_HALF = 0.5
"""A lesson speaks only where it fits by half: most words come up in questions of many kinds."""

_MAX_QUESTIONS = 50


@dataclass(frozen=True)
class Question:
    """One question, and the words around what it asks about, nearest first."""

    text: str
    words: tuple[str, ...]

    @property
    def terms(self) -> frozenset[str]:
        """The words in the form they are compared in."""
        return _terms(self.words)


@dataclass(frozen=True)
class Task:
    """Options, and questions that are answered by one each."""

    options: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Chosen:
    """The option for a question, and the lesson that spoke for it ('' for none)."""

    option: str
    bullet_id: str


@dataclass(frozen=True)
class _Lesson:
    bullet_id: str
    option: str
    terms: frozenset[str]


def read_task(text: str) -> Task | None:
    """The task that a text sets, or None when it sets none."""
    found = _OPTIONS.search(text)
    if found is None:
        return None
    asked = [match["text"].strip() for match in _QUESTION.finditer(text[found.end() :])]
    options = tuple(dict.fromkeys(item.strip(" .") for item in found["list"].split(",")))
    if not asked:
        return None
    return Task(options, tuple(_question(item) for item in asked[:_MAX_QUESTIONS]))


def choose(task: Task, bullets: Sequence[BulletView]) -> list[Chosen]:
    """An option for each question, in order."""
    names = {option: _terms(_CAMEL.findall(option)) for option in task.options}
    rarity = _rarities(names.values())
    lessons = [lesson for lesson in map(_lesson, bullets) if lesson and lesson.option in names]
    rare_words = _rarities(lesson.terms for lesson in lessons)
    chosen = []
    for question in task.questions:
        fit = {option: _likeness(terms, question.terms, rarity) for option, terms in names.items()}
        best: dict[str, tuple[float, str]] = {}
        for lesson in lessons:
            likeness = _likeness(lesson.terms, question.terms, rare_words)
            if likeness >= _HALF and likeness > best.get(lesson.option, (0.0, ""))[0]:
                best[lesson.option] = (likeness, lesson.bullet_id)
        total = {
            option: fit[option] + _LESSON_WEIGHT * best.get(option, (0.0, ""))[0] for option in fit
        }
        option = max(task.options, key=lambda name: total[name])
        chosen.append(Chosen(option, best.get(option, (0.0, ""))[1]))
    return chosen


def lesson_of(question: Question, option: str) -> str:
    """What a question whose answer is known teaches: its words, no name and no number; or ''."""
    # Lower case alone: what is written large may be a name.
    words = dict.fromkeys(word for word in question.words if word.islower() and _terms([word]))
    told = list(words)[:_LESSON_WORDS]
    return f'Asked about "{", ".join(told)}", choose {option}.' if told else ""


def option_of(content: str) -> str:
    """The option that a lesson names, or '' when it is no such lesson."""
    match = _LESSON.fullmatch(content.strip())
    return match["option"] if match else ""


def _lesson(bullet: BulletView) -> _Lesson | None:
    match = _LESSON.fullmatch(bullet.content.strip())
    if match is None or bullet.harmful > bullet.helpful:
        return None
    return _Lesson(bullet.id, match["option"], _terms(match["words"].split(", ")))


def _question(text: str) -> Question:
    """A question with the words around what it quotes first, or all of its words."""
    quoted = _ASKED.search(text)
    rest = text[quoted.end() :] if quoted else text
    words = [_UNITS.get(word, word) for word in _WORD.findall(rest)]
    at = _position(words, quoted["what"]) if quoted else 0
    near = sorted(range(len(words)), key=lambda position: (abs(position - at), position))
    around = [words[position] for position in near if abs(position - at) <= _AROUND]
    return Question(text, tuple(around if quoted else words))


def _position(words: Sequence[str], what: str) -> int:
    first = _WORD.findall(what)[:1]
    return words.index(first[0]) if first and first[0] in words else 0


def _terms(words: Iterable[str]) -> frozenset[str]:
    return content_words(" ".join(word.casefold() for word in words))


def _rarities(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    """The weight of each term: the more, the fewer texts hold it."""
    held = list(texts)
    spread = Counter(term for terms in held for term in terms)
    return {term: log(1 + len(held) / count) for term, count in spread.items()}


def _likeness(terms: frozenset[str], asked: frozenset[str], rarity: dict[str, float]) -> float:
    """Cosine of two sets of terms, each term weighted by its rarity; 0 to 1."""
    shared = sum(rarity[term] ** 2 for term in sorted(terms & asked))
    if not shared:
        return 0.0
    own = sum(rarity[term] ** 2 for term in sorted(terms))
    # Words that no text knows cannot tell for or against one of them.
    other = sum(rarity.get(term, 0.0) ** 2 for term in sorted(asked))
    return shared / sqrt(own * other)
