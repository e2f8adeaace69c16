"""`acc-ace learn`: offline learning."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast, get_args

from acc_ace.adk.student_models import STUDENTS, StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.cli.names import require_app
from acc_ace.cli.output import ExitCode, json_line
from acc_ace.config import load_settings
from acc_ace.container import Container
from acc_ace.errors import InputError
from acc_ace.ext.lab.learning_plan import wilson
from acc_ace.ext.lab.offline_run import continue_run, read_samples, run_folder, started
from acc_ace.ext.lab.run_state import (
    Bill,
    FeedbackMode,
    HeldoutScore,
    RunOptions,
    RunState,
    Sample,
)
from acc_ace.ext.lab.sample_sets import offline_sets, online_sets


def checked_feedback(name: str) -> FeedbackMode:
    """Validate a feedback mode; raises InputError for an unknown one."""
    for mode in get_args(FeedbackMode):
        if mode == name:
            return cast(FeedbackMode, mode)
    allowed = ", ".join(get_args(FeedbackMode))
    raise InputError(f"--feedback must be one of {allowed}; got {name!r:.40}")


def run_learn(
    data: Path,
    *,
    app: str,
    epochs: int,
    heldout: float,
    test: str | None,
    online: bool,
    warm_up: Path | None,
    seed: int,
    feedback: str,
    limit: int | None,
    resume: bool,
    restart: bool,
    as_json: bool,
) -> ExitCode:
    """Learn and print the result.

    Raises InputError for invalid data or options, ModelUnavailable when the model keeps
    failing, StoreError; an interrupted run can be resumed.
    """
    settings = load_settings()
    samples = read_samples(data, limit=limit)
    if warm_up and not online:
        raise InputError("--warm-up goes with --online; to learn offline, name its file as DATA")
    sets = online_sets(samples, test, warm_up) if online else offline_sets(samples, test, heldout)
    run = RunOptions(
        epochs=epochs,
        heldout=heldout,
        seed=seed,
        feedback=checked_feedback(feedback),
        app=app,
        test=sets.test,
        online=online,
    )
    container = build_container(settings)

    async def learn() -> RunState:
        try:
            await require_app(container.directory, app)
            async with (
                StudentModels(container) as students,
                started(
                    container, sets.samples, run, apart=sets.apart, resume=resume, restart=restart
                ) as the_run,
            ):
                _report_models(container, sys.stderr)
                _report_missing_targets([*sets.samples, *sets.apart], sys.stderr)
                progress = Progress(sys.stderr)
                return await continue_run(container, the_run, students, progress=progress.report)
        finally:
            await container.close()

    state = asyncio.run(learn())
    if as_json:
        print(json_line(state.model_dump(mode="json")))
    else:
        print(summary(state, run_folder(container, state.run)))
    return ExitCode.FAILED if state.outcome == "conflict" else ExitCode.OK


_REPORT_EVERY = 25
"""Samples between progress lines when the output is not a terminal."""


class Progress:
    """Reports a run's progress: in place on a terminal, else a line per _REPORT_EVERY samples."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._live, self._said = out, out.isatty(), ""

    def report(self, state: RunState) -> None:
        """Print the progress if it changed."""
        line = position(state)
        if line == self._said:
            return
        self._said = line
        if self._live:
            end = "\n" if state.position == 0 and not state.scoring else ""
            print(f"\r\033[K{line}", end=end, file=self._out, flush=True)
        elif (state.scoring.samples if state.scoring else state.position) % _REPORT_EVERY == 0:
            print(line, file=self._out, flush=True)


def position(state: RunState) -> str:
    """The run's progress and scores in one line."""
    if (score := state.scoring) and score.samples:
        reported = f"{score.of} score {score.score:.3f} after {score.samples} samples"
    elif state.position:
        reported = f"epoch {state.epoch + 1}/{state.options.epochs}"
        reported += f", sample {state.position}/{state.train}"
    else:
        reported = f"{state.epoch} of {state.options.epochs} epochs done"
    if state.scored:
        reported += f", training score {state.score_sum / state.scored:.3f}"
    if state.scores:
        reported += f", held-out {state.scores[-1].score:.3f} after epoch {state.scores[-1].epoch}"
    return f"{reported}, {state.calls} model calls, {state.failures} failures"


def summary(state: RunState, folder: Path) -> str:
    """The result of a run, in a few lines."""
    lines = [_score_line(score) for score in (*state.scores, *state.tests) if score.samples]
    lines.append(_OUTCOMES[state.outcome].format(state=state, folder=folder))
    lines.append(
        f"{state.calls} model calls, about {state.tokens:,} tokens, {state.failures} failures"
        + (f"; the last one: {state.last_error}" if state.last_error else "")
    )
    lines += [f"- {work}: {_bill(bill)}" for work, bill in state.bills.items()]
    return "\n".join(lines)


_OUTCOMES = {
    "": "The run is incomplete.",
    "promoted": "Version {state.promoted_version} is now current: it scored better.",
    "kept": "The playbook stays at version {state.base_version}: no learned version scored "
    "better. The lessons are in {folder}.",
    "undecided": "The playbook stays at version {state.base_version}: there is no held-out score "
    "to compare. The lessons are in {folder}.",
    "conflict": "The playbook changed during the run, so nothing was promoted. The lessons are "
    "in {folder}.",
    "online": "An online run promotes nothing. The lessons are in {folder}.",
}


def _score_line(score: HeldoutScore) -> str:
    name = "before" if score.epoch == 0 else f"after epoch {score.epoch}"
    unanswered = score.samples - score.answered
    note = f", {unanswered} without a score" if unanswered else ""
    if score.of == "online":
        return f"online score: {score.score:.3f} ({score.samples} samples{note})"
    if score.of == "test":
        low, high = wilson(score.right, score.samples)
        note += f"; {score.right} wholly right, 95 % interval {low:.3f} to {high:.3f}"
    return f"{score.of} score {name}: {score.score:.3f} ({score.samples} samples{note})"


def _bill(bill: Bill) -> str:
    use = bill.use
    cached = f" ({use.cached:,} cached)" if use.cached else ""
    tokens = f"{use.input:,} tokens in{cached}, {use.output + use.thinking:,} out"
    return f"{use.calls} calls, {tokens}, {bill.totals.spent}, {bill.seconds:.1f} s"


def _report_missing_targets(samples: Sequence[Sample], out: TextIO) -> None:
    missing = sum(sample.target is None for sample in samples)
    if missing:
        reported = "no 'target': they are used without a score or a correct answer"
        print(f"{missing} of {len(samples)} samples have {reported}", file=out, flush=True)


def _report_models(container: Container, out: TextIO) -> None:
    settings = container.settings
    reported = ", ".join(f"{role} {settings.model_name(role)}" for role in STUDENTS)
    print(reported, file=out, flush=True)
