"""What `acc-ace eval decay` and `eval dialogues` do: check, say the price, play, judge, report."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.adk.models.base_llm import BaseLlm
from pydantic import ValidationError

from acc_ace.cli.output import ExitCode
from acc_ace.config import EMBEDDED_MODEL, Settings, load_settings
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import InputError, ModelUnavailable, SpendingCeilingError
from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Inquiry
from acc_ace.ext.lab.dialogues.judging import (
    BlindItem,
    Judge,
    JudgedLine,
    judge_all,
    judge_means,
    read_judged,
)
from acc_ace.ext.lab.dialogues.plan import (
    DialoguePlan,
    DialogueTrial,
    checked_plan,
    dialogue_trials,
)
from acc_ace.ext.lab.dialogues.playing import DialogueGrade, RecordedAgent, play_dialogue
from acc_ace.ext.lab.dialogues.report import dialogue_rows, write_dialogue_report
from acc_ace.ext.lab.temptation import runs
from acc_ace.ext.lab.temptation.meter import TrialMeter
from acc_ace.ext.lab.temptation.run_folder import faults_of, open_folder, read_plan
from acc_ace.ext.lab.temptation.scripted_memory import ScriptedMemory
from acc_ace.ext.lab.temptation.session import plain_row, price_of_calls, require_model
from acc_ace.models.factory import build_model, close_models

_FILE: Final = "judged.jsonl"
_OPTIONS: Final = {"contenders": "contender", "losses": "loss", "budgets": "budget"}
"""The options of fields of a plan that are called otherwise."""


_BOUNDED: Final = {"window", "summary", "retrieval", "acc", "acc+ace"}
_KEEP_ALONE: Final = {"plain", "filter", "window", "retrieval"}
"""Contenders whose memory no model keeps."""


class HowToRun(NamedTuple):
    """What does not tell one run from another."""

    out: Path | None
    judge: str
    parallel: int
    max_cost: float | None
    dry_run: bool
    as_json: bool
    command: str


def evaluate_dialogues(
    fields: Mapping[str, Any], dialogues: Sequence[Dialogue], how: HowToRun
) -> ExitCode:
    """The exit code: FAILED when dialogues have no outcome. Raises InputError or ConfigError."""
    plan = _plan(fields, dialogues)
    if how.dry_run:
        lines = _estimate(plan, dialogues, how.judge)
        print(json.dumps(lines) if how.as_json else "\n".join(lines))
        return ExitCode.OK
    for name in filter(None, (plan.model, plan.memory, how.judge)):
        require_model(name, how.max_cost)
    name = f"{plan.suite}-{datetime.now():%Y%m%d-%H%M%S}"
    folder = how.out or load_settings().data_dir / "lab" / name
    open_folder(folder, plan)
    done = _run(plan, dialogues, folder, how)
    results = _results(folder)
    problem = ""
    if how.judge:
        items = _items(results.grades, dialogues)
        purse = runs.CostCeiling(how.max_cost, folder)
        problem = asyncio.run(_judge(items, how.judge, folder / _FILE, seed=plan.seed, purse=purse))
    verdicts = _verdicts(results.grades, folder, how.judge)
    command = f"{how.command}{'' if how.out else f' --out {folder}'}"
    page = write_dialogue_report(folder, plan, results, verdicts, command)
    _tell(results, verdicts, page, problem, as_json=how.as_json)
    return ExitCode.OK if done and not results.failures else ExitCode.FAILED


def _plan(fields: Mapping[str, Any], dialogues: Sequence[Dialogue]) -> DialoguePlan:
    try:
        plan = DialoguePlan.model_validate(fields)
    except ValidationError as error:
        raise InputError(faults_of(error, _OPTIONS)) from error
    return checked_plan(plan, dialogues)


def _estimate(plan: DialoguePlan, dialogues: Sequence[Dialogue], judge: str) -> list[str]:
    """Plays, questions and money, roughly."""
    trials = [*dialogue_trials(plan, dialogues)]
    sizes = [size for one in trials for size in _said_before(one.dialogue)]
    turns, lines = sum(len(one.dialogue.steps) for one in trials), list[str]()
    for name in plan.contenders:
        # Where nobody says otherwise, a request may have all that was said before.
        kind = name.partition(":")[0]
        context = None if kind in _BOUNDED else sum(sizes)
        keeps = 0 if kind in _KEEP_ALONE else 2 * turns
        calls = [
            (plan.model, len(sizes), context),
            (plan.memory, keeps, None),
            (judge, len(sizes), None),
        ]
        prices = [price_of_calls(*each) for each in calls if all(each[:2])]
        sure = [price for price in prices if price is not None]
        money = "no price known" if len(sure) < len(prices) else f"about ${sum(sure):.2f}"
        counts = f"{len(trials):6,} plays  {turns:8,} turns  {len(sizes):7,} questions"
        lines.append(f"{name:24} {counts}  {money}")
    return lines


def _said_before(dialogue: Dialogue) -> list[int]:
    """For each question, the tokens of all that was said before it."""
    sizes, tokens = list[int](), 0
    for step in dialogue.steps:
        if isinstance(step, Inquiry):
            sizes.append(tokens)
        else:
            tokens += estimate_tokens(step.user) + estimate_tokens(step.agent)
    return sizes


def _run(plan: DialoguePlan, dialogues: Sequence[Dialogue], folder: Path, how: HowToRun) -> bool:
    plays = {
        name: {
            trial.name: partial(_played, plan, name, trial)
            for trial in dialogue_trials(plan, dialogues)
        }
        for name in plan.contenders
    }
    purse = runs.CostCeiling(how.max_cost, folder)
    return runs.run(plays, folder, parallel=how.parallel, purse=purse)


def _results(folder: Path) -> runs.Results[DialogueGrade]:
    return runs.read_results(folder, DialogueGrade, read_plan(folder, DialoguePlan).contenders)


async def _played(
    plan: DialoguePlan, name: str, trial: DialogueTrial, meter: TrialMeter
) -> DialogueGrade:
    async with AsyncExitStack() as stack:
        models = {each: _model(each, stack) for each in {plan.model, plan.memory} if each}
        return await play_dialogue(
            name,
            trial.dialogue,
            agent=RecordedAgent(models.get(plan.model)),
            memory=models.get(plan.memory) or _engine(plan, name, trial),
            loss=trial.loss,
            budget=trial.budget,
            meter=meter,
        )


def _model(name: str, stack: AsyncExitStack) -> BaseLlm:
    settings = Settings(generator={"model": name})
    model = build_model("generator", settings)
    stack.push_async_callback(close_models, [model])
    return model


def _engine(plan: DialoguePlan, name: str, trial: DialogueTrial) -> BaseLlm:
    """The key-free engine, which loses what `loss` says."""
    engine = build_model("compressor", Settings(compressor={"model": EMBEDDED_MODEL}))
    seed = f"{plan.seed} {name} {trial.name}"
    return ScriptedMemory(engine, reads=None, loss=trial.loss, seed=seed)


def _key(grade: DialogueGrade, inquiry: str) -> str:
    place = [grade.contender, grade.dialogue, grade.loss, grade.budget, inquiry]
    return json.dumps(place, ensure_ascii=False)


def _items(grades: Sequence[DialogueGrade], dialogues: Sequence[Dialogue]) -> list[BlindItem]:
    inquiries = {
        (dialogue.name, step.name): step
        for dialogue in dialogues
        for step in dialogue.steps
        if isinstance(step, Inquiry)
    }
    return [
        BlindItem(_key(grade, reply.name), inquiries[grade.dialogue, reply.name], reply.answer)
        for grade in grades
        for reply in grade.replies
    ]


async def _judge(
    items: Sequence[BlindItem], name: str, file: Path, *, seed: int, purse: runs.CostCeiling
) -> str:
    """Why not all are judged; '' if all are."""
    settings = Settings(reflector={"model": name})
    model = build_model("reflector", settings)
    try:
        await judge_all(items, Judge(model, settings.reflector), file, seed=seed, purse=purse)
    except (SpendingCeilingError, ModelUnavailable) as error:
        return str(error)
    finally:
        await close_models([model])
    return ""


def _verdicts(
    grades: Sequence[DialogueGrade], folder: Path, judge: str
) -> dict[str, list[JudgedLine]]:
    """Without `judge`, those of whoever judged; else its own. One for each answer, asked or not."""
    every, by_name = read_judged(folder / _FILE), dict[str, list[JudgedLine]]()
    lines = {key: line for key, line in every.items() if judge in {"", line.judge}}
    if not lines:
        return by_name
    name = judge or next(iter(lines.values())).judge
    for grade in grades:
        for key in (_key(grade, reply.name) for reply in grade.replies):
            unasked = JudgedLine(key=key, judge=name, points=0, problem="not asked")
            by_name.setdefault(grade.contender, []).append(lines.get(key, unasked))
    return by_name


def _tell(
    results: runs.Results[DialogueGrade],
    verdicts: Mapping[str, Sequence[JudgedLine]],
    page: Path,
    problem: str,
    *,
    as_json: bool,
) -> None:
    every = dialogue_rows(results.grades)
    problems = [line for lines in verdicts.values() for line in lines if not line.verdict]
    if as_json:
        summary = {
            "plays": len(results.grades),
            "failed": len(results.failures),
            "unjudged": len(problems),
            "problem": problem,
            "report": str(page),
            "contenders": [plain_row(row._asdict()) for row in every],
            "judged": {
                name: judge_means(lines)._asdict() for name, lines in verdicts.items() if lines
            },
        }
        print(json.dumps(summary, ensure_ascii=False))
        return
    for row in every:
        print(
            f"{row.contender:20} shown {row.visible!s:24} right {row.right!s:24} "
            f"{row.mean_tokens:,.0f} tokens a request"
        )
    for failure in results.failures[:5]:
        print(f"not played: {failure.contender}, {failure.episode}: {failure.error}")
    if problem:
        print(f"not all answers are judged: {problem}")
    for line in problems[:5]:
        print(f"not judged: {line.key}: {line.problem}")
    print(f"{len(results.grades):,} plays, {len(results.failures):,} failed: {page}")
