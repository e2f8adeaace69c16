"""How often ordinary text is taken for an order to its reader.

    python -m bench.hidden_orders FILE... [--json]

Reads every text in JSON files (LoCoMo and JSQuAD among them), sentence by sentence, and counts
those that the qualification gate would leave out as instruction-like. Ordinary text should have
none; each one found is printed.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.sentences import split_sentences


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for path in options.files:
        sentences = [
            sentence
            for text in _texts(json.loads(path.read_text(encoding="utf-8")))
            for sentence in split_sentences(text)
        ]
        started = time.process_time()
        found = [sentence for sentence in sentences if instruction_like(sentence)]
        spent = (time.process_time() - started) / max(1, len(sentences)) * 1e6
        counts = {"file": path.name, "sentences": len(sentences), "flagged": len(found)}
        if options.json:
            print(json.dumps({**counts, "us_each": round(spent, 1), "texts": found}))
            continue
        print(f"{path.name}: {len(found)} of {len(sentences)} sentences, {spent:.0f} CPU-µs each")
        for sentence in found:
            print(f"  {sentence}")


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)


if __name__ == "__main__":
    main()
