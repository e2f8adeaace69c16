"""Answer a question with a formula that it gives: find the number for each variable, calculate.

Which number belongs to which variable is told by the words around it: those of the formula's own
explanation, and those that lessons of the playbook add.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from core.domain.arithmetic import evaluate
from core.domain.language.words import content_words
from core.errors import InputError

_NAMED = re.compile(r"\bformula\s+(?P<name>\S.{0,119}?)\s+to answer\b")
_PARTS = ("Formula:", "Explanation:", "Question:")
_PART_CHARS = (300, 1_500, 4_000)
_MEANING = re.compile(r"(?:^|,\s*)(?P<key>[^,:]{1,60}):\s*(?P<told>[^:]*?)(?=,\s*[^,:]{1,60}:|$)")
_TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?)|(?P<sign>[-−+*/×÷^()])"
    r"|(?P<name>(?:Cov|Var)\([^)]{1,40}\)|[^\W\d](?:[\w'’.&_]|\s+(?=[^\W\d])|-(?=\w))*)"
)
_NUMBER = re.compile(
    r"(?P<minus>(?<![\w)])-)?[$€£¥]?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<rest>\.\d+)?"
    r"\s*(?P<unit>%|percent\b|thousand\b|million\b|billion\b|trillion\b)?",
    re.IGNORECASE,
)
_UNITS = {
    "%": 0.01,
    "percent": 0.01,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
}
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d][\w'’]*(?:_[\w]+)?")
_SYMBOL = re.compile(r"[^\W\d]\w?|[^\W\d]{1,3}_\w{1,3}|[A-Z]{2,6}")
_MARK = re.compile(r"[,;.]\s|\band\b|\n")

_MOST_NUMBERS = 7
_MOST_VARIABLES = 5
_NEAR = 6
"""Words on each side of a number that are about it."""

_SYMBOL_WEIGHT = 3.0
"""A variable's own symbol beside a number ("(R_p)") is as good as three shared words."""


@dataclass(frozen=True)
class Given:
    """A number of the question, and the words around it, nearest first."""

    value: float
    words: tuple[str, ...]
    symbols: frozenset[str]


@dataclass(frozen=True)
class Formula:
    """The right-hand side with its variables, and what each is explained by."""

    name: str
    tokens: tuple[str, ...]
    variables: tuple[str, ...]
    meanings: Mapping[str, str]


@dataclass(frozen=True)
class Problem:
    """A formula, and the numbers that a question gives for it."""

    formula: Formula
    given: tuple[Given, ...]


Cues = Mapping[str, Iterable[str]]
"""Words that lessons add, by variable."""

_NO_CUES: Cues = {}


def read_problem(text: str) -> Problem | None:
    """The problem that a text sets, or None when it sets none that can be calculated."""
    parts = _read_parts(text[:20_000])
    if parts is None:
        return None
    name, equation, explanation, question = parts
    meanings = {
        match["key"].strip(): match["told"].strip() for match in _MEANING.finditer(explanation)
    }
    formula = _formula(name, equation, meanings)
    given = _given(question)
    if formula is None or not len(formula.variables) <= len(given) <= _MOST_NUMBERS:
        return None
    return Problem(formula, given)


def _read_parts(text: str) -> tuple[str, str, str, str] | None:
    """Name, formula, explanation and question, each cut to its bound; None unless all are there.

    Found one after the other: one pattern for all of them could be made to look for ages.
    """
    named = _NAMED.search(text)
    at = named.end() if named else len(text)
    places = []
    for part in _PARTS:
        at = text.find(part, at)
        if at < 0:
            return None
        places.append(at)
        at += len(part)
    if named is None:
        return None
    ends = (*places[1:], len(text))
    formula, explanation, question = (
        text[start + len(part) : end].strip()[:most]
        for start, part, end, most in zip(places, _PARTS, ends, _PART_CHARS, strict=True)
    )
    return named["name"], formula.rstrip(","), explanation.rstrip("."), question


def assignments(problem: Problem) -> Iterable[tuple[Given, ...]]:
    """Every way to give each variable a number of its own."""
    return permutations(problem.given, len(problem.formula.variables))


def likeliest(problem: Problem, cues: Cues = _NO_CUES) -> tuple[Given, ...]:
    """The way that the words around the numbers speak for; of equals, the order of the text."""
    variables = problem.formula.variables
    fit = {
        (variable, id(given)): _fit(variable, given, problem.formula, cues)
        for variable in variables
        for given in problem.given
    }
    return max(
        assignments(problem),
        key=lambda way: sum(
            fit[item, id(given)] for item, given in zip(variables, way, strict=True)
        ),
    )


def result(problem: Problem, way: Sequence[Given]) -> float | None:
    """What the formula gives for that way; None where it gives nothing."""
    values = dict(zip(problem.formula.variables, (given.value for given in way), strict=True))
    tokens = [
        f"({values[token]!r})" if token in values else token for token in problem.formula.tokens
    ]
    try:
        return evaluate(" ".join(tokens))
    except InputError:
        return None


def _fit(variable: str, given: Given, formula: Formula, cues: Cues) -> float:
    """How much the words around a number speak of a variable; nearer words count more."""
    wanted = content_words(f"{variable.replace('_', ' ')} {formula.meanings.get(variable, '')}")
    learnt = content_words(" ".join(cues.get(variable, ())))
    score = _SYMBOL_WEIGHT * (variable.casefold() in given.symbols)
    seen: set[str] = set()
    for distance, word in enumerate(given.words):
        terms = content_words(word) - seen
        seen |= terms
        score += len(terms & wanted) / (1 + 0.2 * distance)
        score += len(terms & (learnt - wanted)) / (1 + 0.2 * distance)
    return score


def _formula(name: str, text: str, meanings: Mapping[str, str]) -> Formula | None:
    left, equals, right = text.partition("=")
    if not equals or _MARKS.search(left):
        return None
    tokens: list[str] = []
    variables: list[str] = []
    at = 0
    for match in _TOKEN.finditer(right):
        if right[at : match.start()].strip():
            return None
        at = match.end()
        fresh = _parts(match, meanings)
        variables += [part for part in fresh if match["name"] and part not in variables]
        for part in fresh:
            if tokens and _touches(tokens[-1]) and (part == "(" or part not in _SIGNS):
                tokens.append("*")
            tokens.append(part)
    if right[at:].strip() or not 1 <= len(variables) <= _MOST_VARIABLES:
        return None
    return Formula(name.strip(), tuple(tokens), tuple(variables), meanings)


_MARKS = re.compile(r"[-+*/×÷^()]\s|\s[-+*/×÷^(]")
_SIGNS = frozenset("+-*/^()")
_PLAIN = str.maketrans({"−": "-", "×": "*", "÷": "/"})


def _touches(part: str) -> bool:
    """Whether a name or a bracket right behind it is multiplied with it."""
    return part == ")" or part not in _SIGNS


def _parts(match: re.Match[str], meanings: Mapping[str, str]) -> list[str]:
    """A token; a run of symbols without a sign ('nt') as the symbols that are explained."""
    if match["name"] is None:
        return [match[0].translate(_PLAIN)]
    name = match["name"].strip()
    if name in meanings:
        return [name]
    keys = sorted(meanings, key=len, reverse=True)
    rest, parts = name, []
    while rest:
        key = next((item for item in keys if rest.startswith(item)), None)
        if key is None:
            return [name]
        parts.append(key)
        rest = rest[len(key) :].strip()
    return parts


def _given(question: str) -> tuple[Given, ...]:
    found = [match for match in _NUMBER.finditer(question) if not _is_year(match)]
    given: list[Given] = []
    for at, match in enumerate(found):
        before = question[found[at - 1].end() if at else 0 : match.start()]
        after = question[match.end() : found[at + 1].start() if at + 1 < len(found) else None]
        given.append(_number(match, before, after))
    return tuple(given)


def _number(match: re.Match[str], before: str, after: str) -> Given:
    value = float(match["digits"].replace(",", "") + (match["rest"] or ""))
    value *= _UNITS.get((match["unit"] or "").casefold(), 1.0)
    if match["minus"]:
        value = -value
    # What stands behind a comma or an "and" is about the next number.
    ahead = _WORD.findall(_MARK.split(after, maxsplit=1)[0])[:_NEAR]
    behind = _WORD.findall(before)[: -_NEAR - 1 : -1]
    words = [word for pair in zip(behind, ahead, strict=False) for word in pair]
    longer = behind if len(behind) > len(ahead) else ahead
    words += longer[min(len(behind), len(ahead)) :]
    symbols = frozenset(word.casefold() for word in behind[:3] if _SYMBOL.fullmatch(word))
    return Given(value, tuple(words), symbols)


def _is_year(match: re.Match[str]) -> bool:
    bare = match["unit"] is None and match["rest"] is None and not match[0].startswith("$")
    return bare and _YEAR.fullmatch(match["digits"]) is not None
