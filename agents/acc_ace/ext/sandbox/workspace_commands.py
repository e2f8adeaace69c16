"""`acc-ace workspace`: lend a folder in stages, live in it, and see what was done there."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from acc_ace.config import load_settings
from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground_commands import say
from acc_ace.ext.sandbox.rights import Grant, NotDone, Right, WorkLog
from acc_ace.ext.sandbox.windows import Windows
from acc_ace.ext.sandbox.workspace import Workspace, is_cancelled, rights_of
from acc_ace.ext.survivor.cli.commands import (
    Episodes,
    MaxCost,
    Model,
    Rules,
    Seed,
    TickDelay,
    Ticks,
    Ui,
)
from acc_ace.ext.survivor.cli.survive import run_survive
from acc_ace.ext.survivor.loop import RULES, LoopOptions, Survivor

app = typer.Typer(rich_markup_mode=None)


@app.command()
def grant(
    right: Right,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that is lent.")],
    window: Annotated[str, typer.Option(help="Title of the window that gui may use.")] = "",
) -> None:
    """Lend a folder up to a right, one stage at a time; an earlier stage takes rights away."""
    lent = WorkLog(load_settings().data_dir).give(folder, right, window)
    say(f"{lent.folder}: {right} is granted, and what comes before it")


@app.command()
def revoke() -> None:
    """Take the folder back."""
    WorkLog(load_settings().data_dir).revoke()
    say("no folder is lent any more")


@app.command()
def live(
    *,
    episodes: Episodes = 8,
    ticks: Ticks = 1_000,
    seed: Seed = 0,
    model: Model = None,
    rule: Rules = None,
    tick_delay: TickDelay = None,
    max_cost: MaxCost = None,
    ui: Ui = None,
) -> None:
    """Live as `survive` does, in a world whose things are acts in the folder."""
    settings = load_settings()
    log, box = WorkLog(settings.data_dir), Box(settings.playground)
    lent = log.grant()
    _require(lent, box)
    withheld = [kind for kind, right in rights_of(seed).items() if not lent.covers(right)]
    rules = (*RULES, *(f"Never use a {kind}." for kind in sorted(withheld)), *(rule or ()))
    run = LoopOptions(seed, episodes, ticks, rules, tick_delay, name="work")
    of = partial(Survivor, world_of=partial(Workspace, log=log, box=box))
    raise typer.Exit(run_survive(run, model=model, max_cost=max_cost, ui=ui, survivor_of=of))


def _require(lent: Grant, box: Box) -> None:
    """Try what the grant needs. Raises ConfigError, StoreError."""
    with lent.opened():
        if lent.covers("run"):
            asyncio.run(box.require())
        if lent.covers("gui"):
            try:
                Windows(lent.window, cancel=is_cancelled).require()
            except NotDone as error:
                raise ConfigError(f"the right gui cannot be used: {error} (DISPLAY)") from error


@app.command("log")
def log_() -> None:
    """Show the grant in force and, for each right, how acts ended and how long they took."""
    log = WorkLog(load_settings().data_dir)
    lent = log.grant()
    say(f"{lent.folder}: up to {lent.right} {lent.window}")
    for right, outcome, count, mean, most in log.sums():
        say(f"{right} {outcome}: {count:,} (mean {mean:.1f} ms, longest {most:.1f} ms)")
