"""Measure rule and change detection on the labelled sentences, and its silence on chat.

    python -m bench.rule_detection [--data DIR] [--locomo PATH] [--json]

Prints precision and recall by half and language, beside a keyword matcher in the same run.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from acc_ace.schemas.base import Authority
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.text.rules.rule_changes import detect_changes
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.sentences import split_sentences

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "rules"
_KEYWORDS = re.compile(
    r"\b(?:must|never|always|should|don't|do not|only|cannot|can't)\b|禁止|必ず|ないで|こと|べき",
    re.I,
)
_SESSION = re.compile(r"session_\d+")


class Row(TypedDict):
    """One line of a labelled file; `pins` and `expected` in the files of changes only."""

    text: str
    lang: str
    label: str
    kind: str
    pins: NotRequired[list[dict[str, str]]]
    expected: NotRequired[list[str]]


@dataclass(frozen=True)
class Score:
    """Counts of one measurement."""

    name: str
    found: int
    """True positives."""
    false: int
    """False positives."""
    missed: int

    @property
    def precision(self) -> float:
        """Share of what was flagged that is right; 1.0 when nothing was flagged."""
        return self.found / (self.found + self.false) if self.found + self.false else 1.0

    @property
    def recall(self) -> float:
        """Share of what is right that was flagged; 1.0 when there is nothing."""
        return self.found / (self.found + self.missed) if self.found + self.missed else 1.0


@dataclass(frozen=True)
class Chat:
    """Sentences of ordinary chat that were taken for rules."""

    sentences: int
    flagged: int

    @property
    def per_thousand(self) -> float:
        """Flagged sentences in a thousand."""
        return 1_000 * self.flagged / self.sentences if self.sentences else 0.0


def states_a_rule(text: str) -> bool:
    """The detector, as a yes or no."""
    return bool(detect_rules(text))


def has_a_keyword(text: str) -> bool:
    """The baseline: a modal or a negation somewhere."""
    return bool(_KEYWORDS.search(text))


def score_rules(
    half: str, *, lang: str | None = None, data: Path = DATA, flag: Callable[[str], bool]
) -> Score:
    """Score a matcher on `dev` or `test`, of one language or both."""
    pairs = [
        (row["label"] == "rule", flag(row["text"]))
        for row in _rows(data / f"{half}.jsonl")
        if lang in (None, row["lang"])
    ]
    return _score(f"{half} {lang or 'all'}", pairs)


def score_changes(half: str, *, lang: str | None = None, data: Path = DATA) -> Score:
    """Score releases and amendments on `dev` or `test`: each pin of each case is one decision."""
    pairs: list[tuple[bool, bool]] = []
    for row in _rows(data / f"changes_{half}.jsonl"):
        if lang not in (None, row["lang"]):
            continue
        pins = [_pin(pin["id"], pin["text"]) for pin in row["pins"]]
        changed = {change.constraint_id for change in detect_changes(row["text"], pins)}
        pairs += [(pin.id in row["expected"], pin.id in changed) for pin in pins]
    return _score(f"changes {half} {lang or 'all'}", pairs)


def score_chat(path: Path) -> Chat:
    """Count flagged sentences in a LoCoMo file."""
    sentences = [
        sentence
        for sample in json.loads(path.read_text(encoding="utf-8"))
        for name, session in sample["conversation"].items()
        if _SESSION.fullmatch(name)
        for utterance in session
        for sentence in split_sentences(utterance["text"])
    ]
    return Chat(len(sentences), sum(map(states_a_rule, sentences)))


def _rows(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row: Row = json.loads(line)
        yield row


def _pin(name: str, text: str) -> ConstraintPin:
    return ConstraintPin(id=name, text=text, authority=Authority.USER, origin_turn=1, quote=text)


def _score(name: str, pairs: Iterable[tuple[bool, bool]]) -> Score:
    counted = list(pairs)
    return Score(
        name,
        found=sum(wanted and got for wanted, got in counted),
        false=sum(got and not wanted for wanted, got in counted),
        missed=sum(wanted and not got for wanted, got in counted),
    )


def _all_scores(data: Path) -> list[Score]:
    scores: list[Score] = []
    for half in ("dev", "test"):
        for lang in ("en", "ja", None):
            scores.append(score_rules(half, lang=lang, data=data, flag=states_a_rule))
            scores.append(score_changes(half, lang=lang, data=data))
    baseline = score_rules("test", data=data, flag=has_a_keyword)
    return [*scores, Score("keywords test all", baseline.found, baseline.false, baseline.missed)]


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--locomo", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scores = _all_scores(options.data)
    chat = score_chat(options.locomo) if options.locomo else None
    if options.json:
        rows = [{**asdict(s), "precision": s.precision, "recall": s.recall} for s in scores]
        print(json.dumps({"scores": rows, "chat": asdict(chat) if chat else None}))
        return
    print(f"{'set':<20} {'precision':>9} {'recall':>7} {'found':>6} {'false':>6} {'missed':>7}")
    for s in scores:
        print(
            f"{s.name:<20} {s.precision:>9.3f} {s.recall:>7.3f} {s.found:>6} {s.false:>6}"
            f" {s.missed:>7}"
        )
    if chat:
        print(f"chat: {chat.flagged} of {chat.sentences} ({chat.per_thousand:.1f} in 1,000)")


if __name__ == "__main__":
    main()
