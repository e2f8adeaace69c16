"""Measure what the embedded model takes for rules and changes on labelled sentences, and on chat.

    python -m bench.rule_detection [--data DIR] [--locomo PATH] [--json]

Prints precision and recall by half and language, beside a keyword matcher in the same run. Two
readings of changes: `asked` becomes a question at the gate, `read` is what lifts a rule where no
question can be asked: in what is screened, and in a memory that pins no rules.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NotRequired, TypedDict

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.possible_changes import possible_changes
from acc_ace.core.text.rules.reading import proposed_changes
from acc_ace.core.text.rules.rule_changes import detect_changes
from acc_ace.core.text.rules.rule_detection import detect_rules
from acc_ace.core.text.sentences import split_sentences

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "rules"
_KEYWORDS = re.compile(
    r"\b(?:must|never|always|should|don't|do not|only|cannot|can't)\b|禁止|必ず|ないで|こと|べき",
    re.I,
)
RULES = (
    "Never call me at work.",
    "No dairy in any recipe.",
    "Keep the weekly budget under 120 dollars.",
)
"""Rules in force beside the chat, of words that it has too."""

Changes = Callable[[str, list[ConstraintPin]], Iterable[str]]
"""The ids of the rules that a text changes."""

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
    """What ordinary chat was taken for."""

    sentences: int
    pinned: int
    asked: int
    """Sentences of which the user is asked, without rules in force."""
    changes_asked: int
    """Messages, not sentences, of which the user is asked with `RULES` in force."""
    messages: int


def states_a_rule(text: str) -> bool:
    """The detector, as a yes or no."""
    return bool(detect_rules(text))


def asked(text: str, pins: list[ConstraintPin]) -> set[str]:
    """The rules that the user is asked about."""
    return {change.rule_id or "" for change in possible_changes(text, pins)}


def read(text: str, pins: list[ConstraintPin]) -> set[str]:
    """The rules that are lifted or changed where no question can be asked."""
    return {change.rule_id or "" for change in detect_changes(text, pins)}


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


def score_changes(
    half: str, *, reading: Changes, lang: str | None = None, data: Path = DATA
) -> Score:
    """Score releases and amendments on `dev` or `test`: each pin of each case is one decision."""
    pairs: list[tuple[bool, bool]] = []
    for row in _rows(data / f"changes_{half}.jsonl"):
        if lang not in (None, row["lang"]):
            continue
        pins = [_pin(pin["id"], pin["text"]) for pin in row["pins"]]
        changed = set(reading(row["text"], pins))
        pairs += [(pin.id in row["expected"], pin.id in changed) for pin in pins]
    return _score(f"changes {half} {lang or 'all'}", pairs)


def score_chat(path: Path) -> Chat:
    """What the embedded model makes of a LoCoMo file; each sentence alone, then each message."""
    said = [
        utterance["text"]
        for sample in json.loads(path.read_text(encoding="utf-8"))
        for name, session in sample["conversation"].items()
        if _SESSION.fullmatch(name)
        for utterance in session
    ]
    sentences = [sentence for text in said for sentence in split_sentences(text)]
    taken = list(map(_taken_for, sentences))
    pins = [_pin(f"c-{number:04d}", rule) for number, rule in enumerate(RULES, start=1)]
    return Chat(
        sentences=len(sentences),
        pinned=taken.count("pinned"),
        asked=taken.count("asked"),
        changes_asked=sum(bool(asked(text, pins)) for text in said),
        messages=len(said),
    )


def _taken_for(sentence: str) -> str:
    """Whether a message of this sentence pins, asks, or neither."""
    own = own_words(sentence)
    found = [
        quote if change.sure else quote._replace(doubtful=True)
        for change in proposed_changes(sentence, [], has_goal=True)
        for quote in own.find_all(change.quote)
    ]
    if any(not quote.doubtful for quote in found):
        return "pinned"
    return "asked" if found else ""


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
            for reading in (asked, read):
                score = score_changes(half, reading=reading, lang=lang, data=data)
                scores.append(replace(score, name=f"{score.name} {reading.__name__}"))
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
    print(f"{'set':<26} {'precision':>9} {'recall':>7} {'found':>6} {'false':>6} {'missed':>7}")
    for s in scores:
        print(
            f"{s.name:<26} {s.precision:>9.3f} {s.recall:>7.3f} {s.found:>6} {s.false:>6}"
            f" {s.missed:>7}"
        )
    if chat:
        print(f"chat: {chat.pinned} of {chat.sentences} sentences pinned, {chat.asked} asked about")
        print(f"with rules in force: {chat.changes_asked} of {chat.messages} messages asked about")


if __name__ == "__main__":
    main()
