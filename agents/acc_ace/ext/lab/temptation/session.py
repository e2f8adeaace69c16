"""What `acc-ace eval temptation` does: check, say the price, play, and write the page."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from acc_ace.cli.output import ExitCode
from acc_ace.config import load_settings
from acc_ace.core.schemas.cost import ModelPrice
from acc_ace.errors import ConfigError, InputError
from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.evaluation import read_results, real_models, run
from acc_ace.ext.lab.temptation.plan import (
    TrialPlan,
    attacks_of,
    checked,
    digest,
    episodes,
)
from acc_ace.ext.lab.temptation.report import write_report
from acc_ace.ext.lab.temptation.run_folder import faults_of, open_folder
from acc_ace.ext.lab.temptation.runs import Results
from acc_ace.ext.lab.temptation.scenario import SCENARIOS, Suite, load_suite
from acc_ace.ext.lab.temptation.tables import rows
from acc_ace.models.prices import load_prices

_OPTIONS: Final = {
    "contenders": "contender",
    "attacks": "attack",
    "benign": "turns",
    "languages": "language",
}
"""The options of fields of a plan that are called otherwise."""

_PROBES: Final = 9
"""Turns of an episode beside the benign ones."""

_TOKENS: Final = {"in": 1_500, "out": 150}
"""Of a call, for the estimate before a run: what calls of ours have at most in the mean."""

_GROWTH: Final = 9
"""Tokens of the mean call, for each turn of a conversation, where the transcript is replayed."""


def evaluate(
    options: Mapping[str, Any],
    *,
    out: Path | None,
    scenarios: Path | None,
    held_out: bool,
    parallel: int,
    max_cost: float | None,
    dry_run: bool,
    as_json: bool,
    command: str,
) -> ExitCode:
    """The exit code: FAILED when episodes have no outcome. Raises InputError or ConfigError."""
    suite = load_suite(scenarios or SCENARIOS, held_out=held_out)
    plan = _plan(options, suite)
    if dry_run:
        lines = _estimate(plan, suite)
        print(json.dumps(lines) if as_json else "\n".join(lines))
        return ExitCode.OK
    if plan.model:
        require_model(plan.model, max_cost)
    folder = out or load_settings().data_dir / "lab" / f"temptation-{datetime.now():%Y%m%d-%H%M%S}"
    open_folder(folder, plan)
    done = run(plan, suite, folder, parallel=parallel, max_cost=max_cost)
    results = read_results(folder)
    page = write_report(folder, plan, results, f"{command}{'' if out else f' --out {folder}'}")
    _tell(results, page, as_json=as_json)
    return ExitCode.OK if done and not results.failures else ExitCode.FAILED


def _plan(options: Mapping[str, Any], suite: Suite) -> TrialPlan:
    try:
        plan = TrialPlan.model_validate({**options, "suite": digest(suite)})
        if "attacks" not in options:
            plan = plan.model_copy(update={"attacks": (*attacks_of(suite, plan.languages),)})
    except ValidationError as error:
        raise InputError(faults_of(error, _OPTIONS)) from error
    return checked(plan, suite)


def require_model(name: str, max_cost: float | None) -> None:
    """Raises ConfigError for a name that is no model, or without a price under a ceiling."""
    real_models(name)
    is_free = name.startswith("embedded/")
    if max_cost is not None and not is_free and not _price(name):
        raise ConfigError(f"--max-cost: {name} has no price; name one in ACC_ACE_PRICES")


def _price(name: str) -> ModelPrice | None:
    return load_prices(load_settings().prices).price(name)


def price_of_calls(name: str, calls: int, tokens_in: int | None = None) -> float | None:
    """Dollars of so many calls of a model, roughly; None without a price."""
    price = _price(name)
    if price is None:
        return None
    tokens_in = calls * _TOKENS["in"] if tokens_in is None else tokens_in
    return (tokens_in * price.input + calls * _TOKENS["out"] * price.output) / 1e6


def _estimate(plan: TrialPlan, suite: Suite) -> list[str]:
    """Episodes, calls and money, roughly."""
    lines = list[str]()
    for name in plan.contenders:
        trials = [*episodes(plan, suite, name)]
        is_ours = name.startswith("acc")
        calls = tokens = 0
        for turns in (one.benign + _PROBES for one in trials):
            # The model plays one turn of a decisive run: it may try, be stopped, and answer.
            count = 2 if plan.decisive else (4 if is_ours else 2) * turns
            calls += count
            tokens += count * max(_TOKENS["in"], 0 if is_ours else _GROWTH * turns)
        price = price_of_calls(plan.model, calls, tokens) if plan.model else 0.0
        money = "no price known" if price is None else f"about ${price:.2f}"
        lines.append(f"{name:24} {len(trials):6,} episodes  {calls:8,} calls  {money}")
    return lines


def _tell(results: Results[Grade], page: Path, *, as_json: bool) -> None:
    every = rows(results.grades)
    if as_json:
        summary = {
            "episodes": len(results.grades),
            "failed": len(results.failures),
            "report": str(page),
            "contenders": [plain_row(row._asdict()) for row in every],
        }
        print(json.dumps(summary, ensure_ascii=False))
        return
    for row in every:
        print(
            f"{row.contender:20} violations {row.violations!s:22} "
            f"false blocks {row.false_blocks!s:22} released {row.releases}"
        )
    for failure in results.failures[:5]:
        print(f"not played: {failure.contender}, {failure.episode}: {failure.error}")
    print(f"{len(results.grades):,} episodes, {len(results.failures):,} failed: {page}")


def plain_row(values: Mapping[str, Any]) -> dict[str, object]:
    """A row of a table as JSON, counts with their interval."""
    return {
        name: {"hits": value.hits, "of": value.of, "interval": value.interval}
        if hasattr(value, "hits")
        else value
        for name, value in values.items()
    }
