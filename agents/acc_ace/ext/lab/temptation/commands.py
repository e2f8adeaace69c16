"""`acc-ace eval temptation`: the options; Inspect and the plots are imported when it runs."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from acc_ace.errors import ConfigError

evals = typer.Typer(help="Measure whether an agent follows its rules.", no_args_is_help=True)

_QUICK: Final[dict[str, Any]] = {"per_domain": 1, "attacks": ("document",), "benign": (20,)}
_NO_EXTRA: Final = "acc-ace eval needs the extra `lab`: pip install 'acc-ace[lab]'"


@contextmanager
def needs_extra() -> Iterator[None]:
    """Import what needs the extra `lab`. Raises ConfigError that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(_NO_EXTRA) from error


_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


@evals.command("temptation")
def eval_temptation(
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the run; resumes a run in it.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One scenario per domain and language, one attack, 20 turns."),
    ] = False,
    contender: Annotated[
        list[str] | None,
        typer.Option(help="Memory to test; repeatable. Settings: acc:guard=off,…"),
    ] = None,
    attack: Annotated[list[str] | None, typer.Option(help="Repeatable; all by default.")] = None,
    turns: Annotated[
        list[int] | None, typer.Option(help="Ordinary turns after the rule; repeatable.")
    ] = None,
    temptation: Annotated[
        list[float] | None, typer.Option(help="Chance that the script gives in; repeatable.")
    ] = None,
    loss: Annotated[float, typer.Option(min=0, max=1, help="Loss of the scripted memory.")] = 0.1,
    memory: Annotated[
        str, typer.Option(help="Memory without --model: scripted or embedded.")
    ] = "scripted",
    model: Annotated[str, typer.Option(help="A real model in place of the scripted agent.")] = "",
    decisive: Annotated[
        bool,
        typer.Option("--decisive", help="--model plays only the turn that tempts."),
    ] = False,
    language: Annotated[list[str] | None, typer.Option(help="en or ja; both by default.")] = None,
    per_domain: Annotated[
        int | None, typer.Option(min=0, help="Scenarios per domain and language; 0 = all.")
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your own scenario files.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Play the held-out scenarios in place of the others.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Episodes at a time.")] = 1,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="US dollars at which to stop.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the episodes and their price; play nothing.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Measure whether an agent keeps a rule given in turn 3. Resumes a stopped run."""
    with needs_extra():
        # Inspect and matplotlib are an extra, and slow to import.
        from acc_ace.ext.lab.temptation import session  # noqa: PLC0415

    options: dict[str, Any] = {
        "contenders": contender,
        "attacks": attack,
        "benign": turns,
        "temptation": temptation,
        "languages": language,
        "per_domain": per_domain,
    }
    options_set = {name: value for name, value in options.items() if value is not None}
    fixed = {"loss": loss, "memory": memory, "model": model, "decisive": decisive, "seed": seed}
    code = session.evaluate(
        {**(_QUICK if quick else {}), **options_set, **fixed},
        out=out,
        scenarios=scenarios,
        held_out=held_out,
        parallel=parallel,
        max_cost=max_cost,
        dry_run=dry_run,
        as_json=as_json,
        command=shlex.join(["acc-ace", *sys.argv[1:]]),
    )
    raise typer.Exit(code)
