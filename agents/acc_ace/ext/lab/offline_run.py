"""Start or resume a run of offline learning over a data set.

The run's checkpoint is a small file in the data directory, replaced atomically.
"""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from acc_ace.adk.student_models import Students
from acc_ace.container import Container
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.errors import (
    CorruptStoreError,
    InputError,
    SessionBusyError,
    StoreError,
)
from acc_ace.ext.lab import run_copy
from acc_ace.ext.lab.learning_plan import Split, run_name, split
from acc_ace.ext.lab.offline_learning import OfflineLearner
from acc_ace.ext.lab.run_state import RunOptions, RunState, Sample

_FOLDER = "learning"


class RunFile:
    """Checkpoint file of one run."""

    def __init__(self, data_dir: Path, run: str) -> None:
        self.path = data_dir / _FOLDER / f"{run}.json"

    def load(self) -> RunState | None:
        """The state, or None when the run never started.

        Raises StoreError, or CorruptStoreError for an invalid file.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from error
        try:
            return RunState.model_validate_json(text)
        except ValidationError as error:
            raise CorruptStoreError(
                f"{self.path} is not a valid run state; delete it to start over: {error}"
            ) from error

    def save(self, state: RunState) -> None:
        """Replace the state atomically, also across a crash. Raises StoreError."""
        temporary = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(state.model_dump_json())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error

    def delete(self) -> None:
        """Delete the checkpoint. Raises StoreError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be deleted: {error.strerror}") from error


def run_folder(container: Container, run: str) -> Path:
    """The folder of a run's own playbook."""
    return container.settings.data_dir / _FOLDER / run


class StartedRun(NamedTuple):
    """A run's state, its samples, its checkpoint file and its folder."""

    state: RunState
    parts: Split
    file: RunFile
    folder: Path
    """Where its own playbook is."""


@asynccontextmanager
async def started(
    container: Container,
    samples: Sequence[Sample],
    options: RunOptions,
    *,
    apart: Sequence[Sample] = (),
    resume: bool = False,
    restart: bool = False,
) -> AsyncIterator[StartedRun]:
    """Open the run of these options and samples, under a lock against other processes.

    `apart` is the test set, or what an online run answers and learns from in order. Without
    `resume` a run that has already started is refused; `restart` deletes its playbook and starts
    over. Raises InputError, SessionBusyError while another process has the lock,
    ConflictError or StoreError.
    """
    name = run_name(samples, options, apart)
    async with AsyncExitStack() as stack:
        try:
            key = SessionKey(options.app, "", f"learn-{name}")
            await stack.enter_async_context(container.lock.hold(key, wait_s=_WAIT_S))
        except SessionBusyError as error:
            raise SessionBusyError(
                f"another process is doing the run learn-{name}; wait for it"
            ) from error
        parts = split(samples, options, apart)
        _check(options, parts)
        yield await _begin(container, name, options, parts, resume=resume, restart=restart)


_WAIT_S = 2.0
"""Seconds to wait for another process with the same run."""


def _check(options: RunOptions, parts: Split) -> None:
    """Raise InputError for what cannot be scored, or would be answered after it was learnt from."""
    scored = {"--heldout": parts.heldout, "--test": () if options.online else parts.apart}
    for option, samples in scored.items():
        if missing := sum(sample.target is None for sample in samples):
            raise InputError(
                f"{missing} of {len(samples)} samples of {option} have no 'target', so versions "
                f"cannot be scored; use {option} 0 to learn without a score"
            )
    learnt = {sample.text for sample in (*parts.train, *parts.heldout)}
    if both := sum(sample.text in learnt for sample in parts.apart):
        raise InputError(
            f"{'--warm-up' if options.online else '--test'}: {both} of {len(parts.apart)} samples "
            "are in both files, so what is learnt would be scored; take them out of one"
        )


async def _begin(
    container: Container,
    name: str,
    options: RunOptions,
    parts: Split,
    *,
    resume: bool,
    restart: bool,
) -> StartedRun:
    file, folder = RunFile(container.settings.data_dir, name), run_folder(container, name)
    state = file.load()
    if state is not None and restart:
        # Before the playbook: after a crash the run starts over, and no old state is paired with
        # a new playbook.
        file.delete()
        state = None
    if state is None:
        state = await _begin_anew(container, name, options, parts, folder)
        file.save(state)
        return StartedRun(state, parts, file, folder)
    if not resume:
        raise InputError(
            f"this run has already started ({position_text(state)}); "
            "use --resume to continue, or --restart to start over"
        )
    if not state.outcome:
        await run_copy.check(folder, PlaybookScope(options.app), container.clock)
    return StartedRun(state, parts, file, folder)


async def continue_run(
    container: Container,
    run: StartedRun,
    students: Students,
    *,
    progress: Callable[[RunState], None],
) -> RunState:
    """Continue to the end, reporting each step. Raises ModelUnavailable or StoreError."""

    def save(state: RunState) -> None:
        run.file.save(state)
        progress(state)

    async with run_copy.opened(run.folder, container.clock) as copy:
        learner = OfflineLearner(
            students=students,
            copy=copy,
            store=container.playbooks,
            clock=container.clock,
            limits=container.settings.limits,
            prices=container.spending.prices,
            save=save,
            max_rounds=container.settings.reflector_max_rounds,
        )
        return await learner.run(run.state, run.parts)


def position_text(state: RunState) -> str:
    """The run's progress in words."""
    if state.outcome:
        return f"finished: {state.outcome}"
    if state.scoring:
        return f"{state.scoring.of} score, {state.scoring.samples} answered"
    return f"epoch {state.epoch + 1} of {state.options.epochs}, {state.position} of {state.train}"


async def _begin_anew(
    container: Container, name: str, options: RunOptions, parts: Split, folder: Path
) -> RunState:
    """The state of a run that has a copy of the playbook, and nothing learnt."""
    scope = PlaybookScope(options.app)
    stored = await container.playbooks.load(scope)
    # What a restarted run left, or one killed between its first two steps, is deleted.
    await run_copy.begin(folder, scope, stored, container.clock)
    return RunState(
        run=name,
        base_version=stored.version,
        options=options,
        train=len(parts.train),
        heldout=len(parts.heldout),
    )


MAX_SAMPLES = 100_000
_MAX_LINE = 1_000_000


def read_samples(path: Path, *, limit: int | None = None) -> list[Sample]:
    """Read at most `limit` samples from a file; blank lines are ignored.

    Raises InputError for an empty file or an invalid sample, naming file and line.
    """
    samples: list[Sample] = []
    for where, line in _lines(path):
        if len(samples) >= MAX_SAMPLES:
            raise InputError(f"{path} has more than {MAX_SAMPLES:,} samples; split it")
        if limit is not None and len(samples) >= limit:
            break
        samples.append(_sample(where, line))
    if not samples:
        raise InputError(f"{path} contains no samples")
    return samples


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > _MAX_LINE:
                    raise InputError(f"{where}: longer than {_MAX_LINE:,} characters")
                if line.strip():
                    yield where, line
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason}") from error


def _sample(where: str, line: str) -> Sample:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: not a JSON object")
    parts = [value.get("context"), value.get("question")]
    text = "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    if not text:
        raise InputError(f"{where}: neither 'question' nor 'context' has text")
    target = value.get("target")
    if target is not None and not isinstance(target, str | int | float):
        raise InputError(f"{where}: 'target' is neither text nor a number")
    # A blank target counts as none.
    return Sample(text=text, target=str(target).strip() or None if target is not None else None)
