"""Print scores as a table."""

from collections.abc import Sequence

from acc_ace.lab.recall.scoring import DEPTHS, Score


def table(scores: Sequence[Score]) -> str:
    """The scores of all contenders, one line for each category and contender."""
    lines = [_line("category", "contender", "n", *(f"recall@{depth}" for depth in DEPTHS))]
    for category in dict.fromkeys(row.category for score in scores for row in score.rows):
        for score in scores:
            for row in score.rows:
                if row.category == category:
                    values = (f"{row.recall[depth]:.3f}" for depth in DEPTHS)
                    lines.append(_line(category, row.contender, str(row.questions), *values))
    lines += ["", _line("", "contender", "", "p50 ms", "p95 ms", "store s")]
    for score in scores:
        timing = score.timing
        took = (f"{timing.p50_ms:.2f}", f"{timing.p95_ms:.2f}", f"{timing.store_s:.2f}")
        lines.append(_line("", timing.contender, "", *took))
    return "\n".join(line.rstrip() for line in lines)


def _line(category: str, contender: str, count: str, *values: str) -> str:
    return f"{category:12} {contender:22} {count:>5} " + " ".join(f"{v:>10}" for v in values)
