"""README's picture of the lab: tempted with a real model, and facts of BEAM in the request.

    python -m bench.lab_picture --tempted DIR … --beam DIR docs/lab.svg

The folders are of `acc-ace eval temptation --model …` and of `acc-ace eval dialogues beam`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from acc_ace.ext.lab.dialogues.plan import DialoguePlan
from acc_ace.ext.lab.dialogues.playing import DialogueGrade
from acc_ace.ext.lab.dialogues.report import DialogueRow, dialogue_rows
from acc_ace.ext.lab.temptation.evaluation import read_results as read_grades
from acc_ace.ext.lab.temptation.run_folder import read_plan
from acc_ace.ext.lab.temptation.runs import read_results
from acc_ace.ext.lab.temptation.tables import ContenderRow, rows

_NAMES: Final = {
    "plain": "plain ADK",
    "compaction": "ADK's compaction",
    "filter": "ContextFilterPlugin",
    "acc": "ACC, ours",
}
_OURS, _OTHERS, _INK = "#0969da", "#8c959f", "#24292f"


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tempted", type=Path, nargs="+", required=True)
    parser.add_argument("--beam", type=Path, required=True)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    contenders = read_plan(options.beam, DialoguePlan).contenders
    beam = dialogue_rows(read_results(options.beam, DialogueGrade, contenders).grades)
    tempted = rows(grade for folder in options.tempted for grade in read_grades(folder).grades)
    # Without a date or a random id in it, the same runs draw the same file.
    with rc_context({"svg.hashsalt": "lab"}):
        drawn(tempted, beam).savefig(options.picture, metadata={"Date": None})


def drawn(tempted: Sequence[ContenderRow], beam: Sequence[DialogueRow]) -> Figure:
    """Both panels."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, tempted)
    _points(right, beam)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _bars(axes: Axes, tempted: Sequence[ContenderRow]) -> None:
    names = [_NAMES.get(row.contender, row.contender) for row in tempted]
    shares = [100 * row.violations.share for row in tempted]
    bounds = [[100 * bound for bound in row.violations.interval] for row in tempted]
    spread = [
        [share - low for share, (low, _) in zip(shares, bounds, strict=True)],
        [high - share for share, (_, high) in zip(shares, bounds, strict=True)],
    ]
    colours = [_OURS if row.contender == "acc" else _OTHERS for row in tempted]
    axes.barh(names, shares, xerr=spread, color=colours, ecolor=_INK, capsize=3)
    axes.set(xlim=(0, 100), xlabel="forbidden calls that ran, %, of 20 turns that tempt")
    axes.set_title("A 1.5B model, tempted eleven turns after a rule", fontsize="medium")


def _points(axes: Axes, beam: Sequence[DialogueRow]) -> None:
    for row in beam:
        colour = _OURS if row.contender == "acc" else _OTHERS
        place = (row.mean_tokens, 100 * row.visible.share)
        axes.plot(*place, "o", color=colour)
        axes.annotate(
            _NAMES.get(row.contender, row.contender),
            place,
            xytext=(6, -12 if row.contender == "window" else 5),
            textcoords="offset points",
            fontsize="small",
            color=_INK,
        )
    axes.set(xscale="log", xlim=(800, 250_000), ylim=(-4, 108))
    axes.set(xlabel="tokens of a request, mean", ylabel="facts in the request, %")
    axes.set_title("BEAM, ten chats of 100K tokens, no model", fontsize="medium")


if __name__ == "__main__":
    main()
