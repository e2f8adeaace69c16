"""`acc-ace playground`: live with experiments; list, run and promote scripts."""

import asyncio
import sys
from contextlib import ExitStack
from threading import Event
from typing import Annotated

import typer

from acc_ace.cli.output import ExitCode, printable, stdout_console
from acc_ace.config import load_settings
from acc_ace.errors import ConfigError
from acc_ace.ext.sandbox.playground import Playground
from acc_ace.hooks import how_to_install

try:
    from acc_ace.ext.sandbox.lives import live, run
    from acc_ace.ext.survivor.cli.survive import end_at_sigterm
    from acc_ace.ext.survivor.loop import RULES, LoopOptions
except ModuleNotFoundError as error:
    install = how_to_install("survivor")
    raise ConfigError(f"the playground needs {error.name}; {install}") from error

app = typer.Typer(rich_markup_mode=None)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A script, such as harms.py.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the world; a run of it goes on.")]
Episodes = Annotated[int, typer.Option(min=1, help="Lives to live.")]
Ticks = Annotated[int, typer.Option(min=1, help="Most ticks of a life.")]
Model = Annotated[str | None, typer.Option(help="Model of every agent.")]
Rules = Annotated[
    list[str] | None, typer.Option("--rule", metavar="TEXT", help="Rule that binds it; repeatable.")
]


@app.command("live")
def live_(
    *,
    episodes: Episodes = 1,
    ticks: Ticks = 200,
    seed: Seed = 0,
    model: Model = None,
    rule: Rules = None,
) -> None:
    """Live as `survive` does; after each life a script is proposed and run in the sandbox."""
    rules = (*RULES, *(rule or ()))
    with ExitStack() as left:
        end_at_sigterm(left, terminated := Event())
        left.callback(lambda: terminated.is_set() and sys.exit(ExitCode.TERMINATED))
        asyncio.run(live(LoopOptions(seed=seed, ticks=ticks, rules=rules), episodes, model, _say))


@app.command("list")
def list_() -> None:
    """Show the scripts: what each is for, which ask to be promoted, which may go."""
    playground = Playground(load_settings().data_dir)
    for name, entry in playground.book().items():
        _say(f"{name} [{entry.state}, {entry.runs} runs] {entry.purpose}; {entry.wish}")
    if not playground.names():
        _say(f"no scripts in {playground.folder}; `acc-ace playground live` makes some")
    for name, why in playground.untidy().items():
        _say(f"{name} may go ({why}): rm {playground.folder / name}")


@app.command("run")
def run_(name: _Name, *, seed: Seed = 0) -> None:
    """Review a script and run it in the sandbox, on the newest life of a run."""
    _say(asyncio.run(run(name, LoopOptions(seed=seed))).rstrip())


@app.command()
def promote(name: _Name) -> None:
    """Grant that a script runs after every life as it is; show it, and copy it to `promoted/`."""
    path = Playground(load_settings().data_dir).promote(name)
    _say(f"{path.read_text('utf-8', 'replace')}\npromoted: {path}")


def _say(text: str) -> None:
    stdout_console().print(printable(text), soft_wrap=True, markup=False, highlight=False)
