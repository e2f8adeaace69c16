"""`acc-ace workspace`: lend a folder in stages, live in it, and see what was done there."""

import asyncio
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from acc_ace.cli.output import printable, stdout_console
from acc_ace.config import load_settings
from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground_commands import Episodes, MaxCost, Model, Rules, Seed, Ticks, Ui
from acc_ace.ext.sandbox.rights import Grant, Outcome, Right, WorkLog
from acc_ace.hooks import how_to_install

try:
    from acc_ace.ext.sandbox.workspace import Workspace, rights_of
    from acc_ace.ext.survivor.cli.survive import run_survive
    from acc_ace.ext.survivor.loop import RULES, LoopOptions, Survivor
except ModuleNotFoundError as error:
    install = how_to_install("survivor")
    raise ConfigError(f"the workspace needs {error.name}; {install}") from error

app = typer.Typer(rich_markup_mode=None)

_Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that is lent.")]


@app.command()
def grant(
    right: Right,
    folder: _Folder,
    window: Annotated[str, typer.Option(help="Title of the window that gui is of.")] = "",
) -> None:
    """Lend a folder up to a right, one stage at a time; an earlier stage takes rights away."""
    WorkLog(load_settings().data_dir).give(lent := Grant(folder.resolve(), right, window))
    _say(f"{lent.folder}: {right} is granted, and what comes before it")


@app.command()
def live(
    *,
    episodes: Episodes = 8,
    ticks: Ticks = 1_000,
    seed: Seed = 0,
    model: Model = None,
    rule: Rules = None,
    max_cost: MaxCost = None,
    ui: Ui = None,
) -> None:
    """Live as `survive` does, in a world whose things are acts in the folder."""
    options = load_settings().playground
    log, box = WorkLog(load_settings().data_dir), Box(options)
    lent = log.grant()
    if lent.covers("run"):
        asyncio.run(box.require())
    withheld = [kind for kind, right in rights_of(seed).items() if not lent.covers(right)]
    rules = (*RULES, *(f"Never use a {kind}." for kind in sorted(withheld)), *(rule or ()))
    run = LoopOptions(seed, episodes, ticks, rules, tick_delay=0.0, name="work")
    of = partial(Survivor, world_of=partial(Workspace, log=log, box=box))
    raise typer.Exit(run_survive(run, model=model, max_cost=max_cost, ui=ui, survivor_of=of))


@app.command("log")
def log_() -> None:
    """Show the grant in force, and of each right how acts ended and how long they took."""
    log = WorkLog(load_settings().data_dir)
    lent, acts = log.grant(), defaultdict[tuple[Right, Outcome], list[float]](list)
    _say(f"{lent.folder}: up to {lent.right} {lent.window}")
    for right, outcome, ms in log.acts():
        acts[right, outcome].append(ms)
    for (right, outcome), took in sorted(acts.items()):
        times = f"median {median(took):.1f} ms, longest {max(took):.1f} ms"
        _say(f"{right} {outcome}: {len(took):,} ({times})")


def _say(text: str) -> None:
    stdout_console().print(printable(text), soft_wrap=True, markup=False, highlight=False)
