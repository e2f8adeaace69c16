"""The recall bench as a whole."""

import tempfile
from pathlib import Path

from acc_ace.lab.recall.contenders import contenders
from acc_ace.lab.recall.data_file import read_corpora
from acc_ace.lab.recall.scoring import Score, score
from acc_ace.memory.artifact_store import Embedder
from acc_ace.schemas.limits import RecallWeights


async def bench_recall(
    data: Path,
    *,
    limit: int | None = None,
    weights: RecallWeights | None = None,
    embedder: Embedder | None = None,
) -> list[Score]:
    """Score every contender on a data file, ours first, with at most `limit` questions a corpus.

    With an embedder our store is measured twice, by words alone and fused. Raises InputError when
    the file cannot be read, EmbedderError when the embedder fails.
    """
    corpora = read_corpora(data, limit=limit)
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        async with contenders(Path(folder), weights or RecallWeights(), embedder) as measured:
            return [await score(contender, corpora) for contender in measured]
