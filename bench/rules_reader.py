"""Train the reader of rules, and print what it can do on hands that it was not trained on.

    python -m bench.rules_reader FILE... [--also FILE...] [--ordinary FILE...] [--write] [--curve]

A file has a labelled message a line: `{"id": "a-en-001", "lang": "en", "text": "…", "spans":
[{"quote": "…", "label": "binds"}]}`; the first part of the id names the hand that wrote it. Each
hand is read by a reader trained on the others; thresholds are fixed on these readings. What stands
after `--also` (other notions of a near miss) is trained on too, and no threshold rests on it; what
stands after `--ordinary` has no rules, and is no near miss of any: thresholds hold for both.
`--write` writes the weights into the package; `--curve` trains on fewer messages, too.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.rules.reader import (
    BUCKETS,
    VERSION,
    WEIGHTS,
    Header,
    Language,
    parts,
    pieces,
)
from acc_ace.core.text.sentences import split_sentences

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[np.int64]

TARGETS: Final = ("binds", "loosens", "goal")
TARGET_OF: Final = {"binds": 0, "permits": 1, "releases": 1, "amends": 1, "goal": 2}
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")
SHARES: Final = (0.01, 0.02, 0.05, 0.06, 0.10, 0.20, 0.40)
COMMON_WORDS: Final = 250
FOREIGN_WORDS: Final = """
der das den dem des ein eine einen einem einer und oder nicht kein keine keinen nie niemals
immer nur wenn ohne mit für von zum zur auf bei ist sind wird werden bitte ich wir sie mir mich
dass vor nach bis alle
le la les un une du et ou ne pas jamais toujours seulement si sans avec pour sur dans est sont
je tu il elle nous vous mon ma mes ce cette que qui aux au plus avant après chaque tous toute
el los las una uno nunca siempre solo sólo sin con para por en es son yo mi mis que del al
no más antes después cada todos todas lo se
gli il di che ed non mai sempre solo senza con per nel della degli os um uma não nunca
sempre sem com para por em do da dos het een en niet nooit altijd zonder voor van met naar
aldrig aldri inte ikke och utan uten uden eller är får skal jag jeg mig efter etter altid alltid
jangan tidak tanpa yang saya untuk dengan kepada sebelum huwag mga nang bago nie nigdy przed tylko
zawsze nikdy asla hiç olmadan için önce älä älkää eikä koskaan ilman niciodată fără soha nélkül
không đừng kamwe
"""
"""Function words of other languages in Latin letters, by which a sentence is known as theirs."""
STRENGTH: Final = 10.0
"""How much the data weigh against small weights (the inverse of the L2 penalty)."""
UNLABELLED: Final = (1.0, 0.1, 1.0)
"""Weight of sentences without a label, by target: for `loosens` the direction matters most."""


class Example(NamedTuple):
    """A sentence and which targets it has."""

    hand: str
    language: Language
    message: str
    text: str
    targets: tuple[bool, bool, bool]


def examples(paths: Iterable[Path]) -> list[Example]:
    """The sentences of labelled messages; a sentence has the labels of spans that overlap it."""
    lines = (line for path in paths for line in path.read_text("utf-8").splitlines())
    return [example for line in lines for example in _sentences(json.loads(line))]


def _sentences(row: dict[str, Any]) -> Iterator[Example]:
    text, at = row["text"], 0
    spans = [
        (start, start + len(span["quote"]), TARGET_OF[span["label"]])
        for span in row["spans"]
        if (start := text.find(span["quote"])) >= 0
    ]
    for sentence in split_sentences(text):
        start = text.find(sentence, at)
        at = start + len(sentence)
        labels = {
            target
            for first, last, target in spans
            # Two characters are a mark and a space.
            if min(last, at) - max(first, start) >= min(3, last - first)
        }
        targets = (0 in labels, 1 in labels, 2 in labels)
        yield Example(row["id"].split("-")[0], row["lang"], row["id"], sentence, targets)


def common_words(sentences: Iterable[Example]) -> frozenset[str]:
    """The English words that most sentences have."""
    counts: Counter[str] = Counter()
    for example in sentences:
        if example.language == "en":
            counts.update(set(re.findall(r"[a-z']+", normalise(example.text))))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset(ranked[:COMMON_WORDS])


class Matrix(NamedTuple):
    """Sentences as rows of (bucket, value) pairs, one after another."""

    starts: Counts
    buckets: Counts
    values: Floats

    def scores(self, weights: Floats) -> Floats:
        """The weighted sum of each row."""
        terms = weights[self.buckets] * self.values
        return np.add.reduceat(terms, self.starts) if len(terms) else np.zeros(len(self.starts))

    def gradient(self, slopes: Floats, size: int) -> Floats:
        """How the sum of the rows, each with its slope, changes with each weight."""
        lengths = np.diff(np.append(self.starts, len(self.buckets)))
        terms = np.repeat(slopes, lengths) * self.values
        return np.bincount(self.buckets, terms, size).astype(np.float64)


def matrix(sentences: Sequence[Example], common: frozenset[str]) -> Matrix:
    """The pieces of each sentence."""
    rows = [_row(example.text, example.language, common) for example in sentences]
    lengths = [len(buckets) for buckets, _ in rows]
    return Matrix(
        np.cumsum([0, *lengths[:-1]]),
        np.concatenate([buckets for buckets, _ in rows]),
        np.concatenate([values for _, values in rows]),
    )


@cache
def _row(text: str, language: Language, common: frozenset[str]) -> tuple[Counts, Floats]:
    kinds = [(value, sorted(buckets)) for value, buckets in pieces(text, language, common)]
    return (
        np.array([bucket for _, buckets in kinds for bucket in buckets], dtype=np.int64),
        np.repeat([value for value, _ in kinds], [len(buckets) for _, buckets in kinds]),
    )


def fit(rows: Matrix, labels: Flags, importance: Floats) -> Floats:
    """Weights of a logistic regression, with the constant last.

    A piece that only one sentence has gets none.
    """
    counts = np.bincount(rows.buckets, minlength=BUCKETS)
    active = np.flatnonzero(counts > 1)
    position = np.full(BUCKETS, len(active))
    position[active] = np.arange(len(active))
    packed = rows._replace(buckets=position[rows.buckets])
    point = _minimise(packed, labels, importance, len(active))
    weights = np.zeros(BUCKETS + 1)
    weights[active], weights[-1] = point[:-2], point[-1]
    return weights


def _minimise(rows: Matrix, labels: Flags, importance: Floats, size: int) -> Floats:
    """L-BFGS; the weight before the constant belongs to rare pieces and stays 0."""

    def loss(point: Floats) -> tuple[float, Floats]:
        scores = rows.scores(point[:-1]) + point[-1]
        errors = np.logaddexp(0, np.where(labels, -scores, scores)) * importance
        slopes = (1 / (1 + np.exp(-scores)) - labels) * importance * STRENGTH
        slope = np.append(rows.gradient(slopes, size + 1) + point[:-1], slopes.sum())
        slope[-2] = 0
        return STRENGTH * errors.sum() + (point[:-1] @ point[:-1]) / 2, slope

    point = np.zeros(size + 2)
    value, slope = loss(point)
    steps: list[tuple[Floats, Floats]] = []
    for _ in range(150):
        way, length = -_curved(slope, steps), 1.0 if steps else 1e-3
        while (trial := loss(point + length * way))[0] > value + 1e-4 * length * (slope @ way):
            length /= 2
        step = length * way
        steps = [*steps[-9:], (step, trial[1] - slope)]
        close = value - trial[0] < 1e-5 * value
        point, (value, slope) = point + step, trial
        if close:
            break
    return point


def _curved(slope: Floats, steps: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The slope, bent by the inverse curvature that the last steps saw."""
    bent, factors = slope.copy(), []
    for step, change in reversed(steps):
        factors.append((step @ bent) / (step @ change))
        bent -= factors[-1] * change
    if steps:
        step, change = steps[-1]
        bent *= (step @ change) / (change @ change)
    for (step, change), factor in zip(steps, reversed(factors), strict=True):
        bent += step * (factor - (change @ bent) / (step @ change))
    return bent


def train(sentences: Sequence[Example], common: frozenset[str]) -> Floats:
    """A row of weights, with the constant last, for each target."""
    rows = matrix(sentences, common)
    labels = np.array([example.targets for example in sentences])
    blank = ~labels.any(axis=1)
    return np.array(
        [
            fit(rows, labels[:, target], np.where(blank, UNLABELLED[target], 1.0))
            for target in range(3)
        ]
    )


def scores(weights: Floats, sentences: Sequence[Example], common: frozenset[str]) -> Floats:
    """A row of three scores for each sentence: the highest of those of its parts."""
    texts = [parts(example.text) for example in sentences]
    rows = matrix(
        [
            example._replace(text=part)
            for example, of in zip(sentences, texts, strict=True)
            for part in of
        ],
        common,
    )
    starts = np.cumsum([0, *(len(of) for of in texts[:-1])])
    each = np.array([rows.scores(row[:-1]) + row[-1] for row in weights]).T
    return np.maximum.reduceat(each, starts)


def held_out(
    sentences: Sequence[Example], also: Sequence[Example] = (), *, messages: int | None = None
) -> Floats:
    """Scores of each sentence by a reader that its hand had no part in.

    Each reader learns from at most so many `messages`.
    """
    result = np.zeros((len(sentences), 3))
    for hand in sorted({example.hand for example in sentences}):
        others = [example for example in sentences if example.hand != hand]
        others = _evenly(messages, [*others, *also])
        common = common_words(others)
        for language in LANGUAGES:
            mine = [example for example in others if example.language == language]
            at = [
                i for i, one in enumerate(sentences) if (one.hand, one.language) == (hand, language)
            ]
            if at and mine:
                result[at] = scores(train(mine, common), [sentences[i] for i in at], common)
    return result


def _evenly(messages: int | None, sentences: list[Example]) -> list[Example]:
    """The sentences of so many messages, evenly from all hands."""
    names = list(dict.fromkeys(example.message for example in sentences))
    if messages is None or messages >= len(names):
        return sentences
    chosen = {names[i * len(names) // messages] for i in range(messages)}
    return [example for example in sentences if example.message in chosen]


class Curve(NamedTuple):
    """From a score to log-odds."""

    factor: float
    offset: float

    def of(self, values: Floats) -> Floats:
        """Probabilities."""
        return 1 / (1 + np.exp(-np.clip(values * self.factor + self.offset, -30, 30)))


def calibration(values: Floats, labels: Flags) -> Curve:
    """The curve that fits best, by Newton's method."""
    design = np.column_stack([values, np.ones(len(values))])
    point = np.array([1.0, 0.0])
    for _ in range(50):
        odds = 1 / (1 + np.exp(-np.clip(design @ point, -30, 30)))
        bend = (design.T * (odds * (1 - odds))) @ design + np.eye(2) * 1e-6
        point = point - np.linalg.solve(bend, design.T @ (odds - labels))
    return Curve(float(point[0]), float(point[1]))


def thresholds(odds: Floats, labels: Flags, ordinary: Flags) -> dict[str, float]:
    """The named limits, of probabilities by readers of other hands.

    Of each pair, the first is the share of near misses above it, the second that of `ordinary`
    sentences, which are most of what people say.
    """
    none = ~labels.any(axis=1)
    misses, plain, rules = none & ~ordinary, none & ordinary, labels[:, 0]
    restrictions = odds[rules & ~labels[:, 1], 1]

    def binds(of_misses: float, of_ordinary: float) -> float:
        return max(_above(odds[misses, 0], of_misses), _above(odds[plain, 0], of_ordinary))

    loosens_alone = _above(restrictions, 0.06)
    return {
        "very_sure": binds(0.01, 0.003),
        "sure": binds(0.06, 0.02),
        "half": binds(0.20, 0.06),
        "suspect": binds(0.35, 0.15),
        "certain_none": float(np.quantile(odds[rules, 0], 0.05, method="lower")),
        "loosens_believed": _above(restrictions, 0.01),
        "loosens_alone": loosens_alone,
        "loosens_asked": max(
            loosens_alone, _above(odds[misses, 1], 0.06), _above(odds[plain, 1], 0.008)
        ),
    }


def _above(values: Floats, share: float) -> float:
    if not len(values):
        return 0.0
    return float(np.quantile(values, 1 - share, method="higher"))


def reader_file(
    sentences: Sequence[Example],
    held: Floats,
    also: Sequence[Example] = (),
    plain: frozenset[str] = frozenset(),
) -> bytes:
    """The file of a reader trained on all sentences, with limits by the held-out scores.

    `plain` are the hands of ordinary messages.
    """
    lessons = [*sentences, *also]
    common = common_words(lessons)
    header: Header = {
        "version": VERSION,
        "scales": {},
        "offsets": {},
        "thresholds": {},
        "common": sorted(common),
        "foreign": sorted({*FOREIGN_WORDS.split()} - common),
    }
    planes = []
    for language in LANGUAGES:
        at = [i for i, example in enumerate(sentences) if example.language == language]
        labels = np.array([sentences[i].targets for i in at])
        curves = [calibration(held[at, target], labels[:, target]) for target in range(3)]
        odds = np.column_stack([curve.of(held[at, i]) for i, curve in enumerate(curves)])
        weights = train([one for one in lessons if one.language == language], common)
        units = np.abs(weights[:, :-1]).max(axis=1) / 127
        planes.append(np.rint(weights[:, :-1] / units[:, None]).astype(np.int8))
        header["scales"][language] = [
            float(unit * curve.factor) for unit, curve in zip(units, curves, strict=True)
        ]
        header["offsets"][language] = [
            float(row[-1] * curve.factor + curve.offset)
            for row, curve in zip(weights, curves, strict=True)
        ]
        ordinary = np.array([sentences[i].hand in plain for i in at])
        header["thresholds"][language] = thresholds(odds, labels, ordinary)
    return json.dumps(header).encode() + b"\n" + b"".join(plane.tobytes() for plane in planes)


def auc(positive: Floats, negative: Floats) -> float:
    """How often a positive score is above a negative one."""
    ranked = np.sort(negative)
    below = np.searchsorted(ranked, positive, "left") + np.searchsorted(ranked, positive, "right")
    return float(below.mean() / 2 / len(negative))


def report(sentences: Sequence[Example], held: Floats) -> Iterator[str]:
    """What readers of other hands do, by language and by hand."""
    for language in LANGUAGES:
        yield language + ": " + _line(sentences, held, {language}, {one.hand for one in sentences})
        for hand in sorted({example.hand for example in sentences if example.language == language}):
            yield f"  {hand}: " + _line(sentences, held, {language}, {hand})


def _line(
    sentences: Sequence[Example], held: Floats, languages: set[Language], hands: set[str]
) -> str:
    at = [i for i, one in enumerate(sentences) if one.language in languages and one.hand in hands]
    labels, odds = np.array([sentences[i].targets for i in at]), held[at]
    blank, binds, loosens = ~labels.any(axis=1), labels[:, 0], labels[:, 1]
    rules, misses, only = odds[binds, 0], odds[blank, 0], odds[binds & ~loosens, 1]
    recall = " ".join(f"{share:.0%}:{_share(rules, misses, share):.2f}" for share in SHARES)
    direction = odds[loosens, 1]
    return (
        f"rules {binds.sum()} of {len(at)}; AUC {auc(rules, misses):.3f}; recall at {recall}; "
        f"none below 5 % of rules {(misses < np.quantile(rules, 0.05)).mean():.2f}; "
        f"loosens over binds AUC {auc(direction, only):.3f}, "
        f"at 1% {_share(direction, only, 0.01):.2f}, 6% {_share(direction, only, 0.06):.2f}; "
        f"goal AUC {auc(odds[labels[:, 2], 2], odds[~labels[:, 2], 2]):.3f}"
    )


def _share(positive: Floats, negative: Floats, share: float) -> float:
    return float((positive > _above(negative, share)).mean())


def main() -> None:
    """Train, print and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="trained on, not read")
    parser.add_argument("--ordinary", nargs="*", type=Path, default=[], help="without any rule")
    parser.add_argument("--write", action="store_true", help="write the weights of the package")
    parser.add_argument("--curve", action="store_true", help="by the number of messages, too")
    options = parser.parse_args()
    also, ordinary = examples(options.also), examples(options.ordinary)
    sentences = [*examples(options.files), *ordinary]
    labelled = len(sentences) - len(ordinary)
    plain = frozenset(example.hand for example in ordinary)
    for messages in (1_000, 2_000, 3_000, 4_000, 5_000) if options.curve else ():
        print(
            f"{messages} messages",
            *report(sentences[:labelled], held_out(sentences, also, messages=messages)[:labelled]),
            sep="\n",
        )
    held = held_out(sentences, also)
    print("all messages", *report(sentences[:labelled], held[:labelled]), sep="\n")
    data = reader_file(sentences, held, also, plain)
    if options.write:
        WEIGHTS.write_bytes(data)
        print(f"{WEIGHTS}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
