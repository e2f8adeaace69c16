"""`acc-ace playground`: live with experiments; list, run and promote scripts."""

import asyncio
from functools import partial
from typing import Annotated, Any

import typer

from acc_ace.cli.output import printable, stdout_console
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.box import Box
from acc_ace.ext.sandbox.playground import Playground
from acc_ace.hooks import how_to_install

try:
    from acc_ace.ext.sandbox.experiments import Experimenter, Life, run_again
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
except ModuleNotFoundError as error:
    install = how_to_install("survivor")
    raise ConfigError(f"the playground needs {error.name}; {install}") from error

app = typer.Typer(rich_markup_mode=None)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A script, such as harms.py.")]


@app.command("live")
def live_(
    *,
    episodes: Episodes = 1,
    ticks: Ticks = 200,
    seed: Seed = 0,
    model: Model = None,
    rule: Rules = None,
    tick_delay: TickDelay = None,
    max_cost: MaxCost = None,
    ui: Ui = None,
) -> None:
    """Live as `survive` does; after each life a script is proposed and run in the sandbox."""
    settings, rules = load_settings(), (*RULES, *(rule or ()))
    box, playground = Box(settings.playground), Playground(settings.data_dir)
    asyncio.run(box.require())

    async def experiment(container: Container, key: SessionKey, life: Life) -> None:
        texts = await Experimenter(container, playground, box).after(key, life)
        say("\n".join(f"  {name}: {text.strip()}" for name, text in texts.items()))

    def of(container: Container, **parts: Any) -> Survivor:  # noqa: ANN401 - what the loop is given
        return Survivor(container, after_life=partial(experiment, container), **parts)

    run = LoopOptions(seed, episodes, ticks, rules, tick_delay)
    raise typer.Exit(run_survive(run, model=model, max_cost=max_cost, ui=ui, survivor_of=of))


@app.command("list")
def list_() -> None:
    """Show the scripts: what each is for, which ask to be promoted, which may go."""
    playground = Playground(load_settings().data_dir)
    for name, entry in playground.book().items():
        say(f"{name} [{entry.state}, {entry.runs} runs] {entry.purpose}; {entry.wish}")
    if not playground.names():
        say(f"no scripts in {playground.folder}; `acc-ace playground live` makes some")
    for name, why in playground.untidy().items():
        say(f"{name} may go ({why}): rm {playground.folder / name}")


@app.command("run")
def run_(name: _Name, *, seed: Seed = 0) -> None:
    """Review a script and run it in the sandbox, on the newest life of a run."""
    say(asyncio.run(run_again(name, LoopOptions(seed=seed))).rstrip())


@app.command()
def promote(name: _Name) -> None:
    """Grant that a script runs after every life as it is; show it, and copy it to `promoted/`."""
    path = Playground(load_settings().data_dir).promote(name)
    say(f"{path.read_text('utf-8', 'replace')}\npromoted: {path}")


def say(text: str) -> None:
    """Print a line for people."""
    stdout_console().print(printable(text), soft_wrap=True, markup=False, highlight=False)
