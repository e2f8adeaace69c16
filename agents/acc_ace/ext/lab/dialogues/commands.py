"""`acc-ace eval decay` and `eval dialogues`: the options; what they do is imported when it runs."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from acc_ace.ext.lab.temptation.commands import evals, needs_extra

app = typer.Typer(rich_markup_mode=None)
app.add_typer(evals, name="eval")

_Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of the run; resumes a run in it.")
]
_Contender = Annotated[
    list[str] | None,
    typer.Option(help="Memory to test; repeatable. Settings: acc:guard=off,…"),
]
_Budget = Annotated[
    list[int] | None, typer.Option(help="Tokens of history in a request; repeatable.")
]
_Model = Annotated[
    str, typer.Option(help="Model that answers; without one, a script says what it is shown.")
]
_Memory = Annotated[
    str, typer.Option(help="Model that keeps memories; the key-free engine without one.")
]
_Judge = Annotated[str, typer.Option(help="Model that judges the answers of a run.")]
_Seed = Annotated[int, typer.Option(min=0)]
_Parallel = Annotated[int, typer.Option(min=1, max=64, help="Dialogues at a time.")]
_MaxCost = Annotated[float | None, typer.Option(min=0, help="US dollars at which to stop.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the dialogues; play nothing.")]
_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]


@evals.command("decay")
def eval_decay(
    *,
    out: _Out = None,
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Number of dialogues.")] = 5,
    turns: Annotated[int, typer.Option(min=1, max=1_000, help="Exchanges of each.")] = 50,
    loss: Annotated[
        list[float] | None, typer.Option(help="Loss of the key-free memory; repeatable.")
    ] = None,
    budget: _Budget = None,
    contender: _Contender = None,
    model: _Model = "",
    memory: _Memory = "",
    judge: _Judge = "",
    seed: _Seed = 0,
    parallel: _Parallel = 1,
    max_cost: _MaxCost = None,
    dry_run: _DryRun = False,
    as_json: _Json = False,
) -> None:
    """Measure which values are still known many turns later, on a small budget."""
    fields = {"contenders": contender, "losses": loss, "budgets": budget}
    fixed = {"suite": "decay", "model": model, "memory": memory, "seed": seed}
    how = {"out": out, "judge": judge, "parallel": parallel, "max_cost": max_cost}
    from acc_ace.ext.lab.dialogues.decay import decay_dialogues  # noqa: PLC0415 — keeps --help quick

    _evaluate(
        {**_named(fields), **fixed},
        decay_dialogues(count, turns, seed),
        {**how, "dry_run": dry_run, "as_json": as_json},
    )


@evals.command("dialogues")
def eval_dialogues(
    *,
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SET", help="beam, multichallenge, locomo, locomo-plus or longmemeval."
        ),
    ],
    data: Annotated[Path, typer.Option(metavar="PATH", help="The set's file, or BEAM's folder.")],
    kind: Annotated[
        list[str] | None, typer.Option(help="Only questions of this kind; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")] = None,
    out: _Out = None,
    budget: _Budget = None,
    contender: _Contender = None,
    model: _Model = "",
    memory: _Memory = "",
    judge: _Judge = "",
    seed: _Seed = 0,
    parallel: _Parallel = 1,
    max_cost: _MaxCost = None,
    dry_run: _DryRun = False,
    as_json: _Json = False,
) -> None:
    """Measure what is remembered of public sets of long dialogues, which you download."""
    fields = {"contenders": contender, "budgets": budget}
    fixed = {"suite": suite, "model": model, "memory": memory, "seed": seed}
    how = {"out": out, "judge": judge, "parallel": parallel, "max_cost": max_cost}
    from acc_ace.ext.lab.dialogues.plan import only_kinds  # noqa: PLC0415 — keeps --help quick
    from acc_ace.ext.lab.dialogues.public_sets import load_dialogues  # noqa: PLC0415 — the same

    _evaluate(
        {**_named(fields), **fixed},
        only_kinds(load_dialogues(suite, data, limit=limit), kind or []),
        {**how, "dry_run": dry_run, "as_json": as_json},
    )


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _evaluate(fields: dict[str, Any], dialogues: Sequence[Any], how: dict[str, Any]) -> None:
    with needs_extra():
        # Inspect and matplotlib are an extra, and slow to import.
        from acc_ace.ext.lab.dialogues import session  # noqa: PLC0415

    command = shlex.join(["acc-ace", *sys.argv[1:]])
    code = session.evaluate_dialogues(fields, dialogues, session.HowToRun(**how, command=command))
    raise typer.Exit(code)
