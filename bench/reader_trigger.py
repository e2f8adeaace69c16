"""How often the trained reader has a compressor asked, and for how many rules.

    python -m bench.reader_trigger LABELLED.jsonl... [--locomo FILE]

With `ACC_ACE_COMPRESS=adaptive` a turn whose words may be a rule asks for a reading at once; what
is missed is read by the sixth turn, and before an act. Printed are the shares of messages that ask:
of those with a labelled rule, of those without, of the turns of `bench.incident_talk` that set
none, and of a chat. The second table moves the reader's limit: what it would ask for at each.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from acc_ace.core.text.rules.mentions import readings
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.turn.reading import _may_rule
from bench.incident_talk import exchanges

_TALK = 120
_LIMITS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)


def labelled(paths: Sequence[Path]) -> Iterator[tuple[bool, str]]:
    """Messages, each with whether a rule is labelled in it."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield bool(row["spans"]), row["text"]


def chat(value: object) -> Iterator[str]:
    """What is said in LoCoMo's dialogues."""
    if isinstance(value, dict):
        if "dia_id" in value:
            yield str(value.get("text", ""))
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from chat(each)


def surest(text: str) -> float:
    """How sure the reader is of the likeliest rule in a message."""
    return max((reading.binds for _, reading in readings(own_words(text))), default=0.0)


def share(flags: Iterable[bool]) -> str:
    """How many are set, and of how many."""
    values = [*flags]
    return f"{sum(values)} of {len(values)} ({sum(values) / max(1, len(values)):.1%})"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--locomo", type=Path)
    options = parser.parse_args()
    rows = [*labelled(options.files)]
    sets = {
        "with a labelled rule": [text for has_rule, text in rows if has_rule],
        "without one": [text for has_rule, text in rows if not has_rule],
        "incident talk": [
            each.said for each in islice(exchanges(), _TALK) if not (each.rule or each.goal)
        ],
    }
    if options.locomo:
        sets["chat"] = [*chat(json.loads(options.locomo.read_text(encoding="utf-8")))]
    for name, texts in sets.items():
        print(f"{name:22} asks for {share(_may_rule(text, has_goal=True) for text in texts)}")
    odds = {name: [surest(text) for text in texts] for name, texts in sets.items()}
    print("limit  " + "  ".join(f"{name:>22}" for name in sets))
    for limit in _LIMITS:
        shares = (sum(each > limit for each in values) / len(values) for values in odds.values())
        print(f"{limit:5.2f}  " + "  ".join(f"{each:22.1%}" for each in shares))


if __name__ == "__main__":
    main()
