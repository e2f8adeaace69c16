"""`acc-ace bench`: measure recall on a data file of yours."""

import asyncio
from pathlib import Path

from cli.streams import json_line
from config import load_settings
from lab.recall.bench import bench_recall
from lab.recall.table import table


def run_recall(data: Path, *, limit: int | None, as_json: bool) -> None:
    """Print the table, or the same as JSON. Raises InputError for a file that cannot be read."""
    scores = asyncio.run(bench_recall(data, limit=limit, weights=load_settings().recall))
    if as_json:
        print(json_line({"scores": [score.model_dump(mode="json") for score in scores]}))
    else:
        print(table(scores))
