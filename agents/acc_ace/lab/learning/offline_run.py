"""Begin a run of offline learning, or go on with one that was cut short."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from acc_ace.container import Container
from acc_ace.errors import InputError, NotFoundError, SessionBusyError
from acc_ace.lab.learning.run_file import RunFile
from acc_ace.playbook.learning_plan import Split, run_name, split
from acc_ace.playbook.offline_learning import OfflineLearner, Students
from acc_ace.playbook.playbook_merge import Author
from acc_ace.schemas.base import PlaybookScope, SessionKey
from acc_ace.schemas.learning_job import RunOptions, RunState, Sample


class Begun(NamedTuple):
    """A run, how far it has come, and where it notes that."""

    state: RunState
    parts: Split
    file: RunFile


@asynccontextmanager
async def begun(
    container: Container,
    samples: Sequence[Sample],
    options: RunOptions,
    *,
    resume: bool = False,
    restart: bool = False,
) -> AsyncIterator[Begun]:
    """The run of these options over these samples; no other process does it meanwhile.

    Without `resume` a run that has begun already is refused; `restart` deletes its branch and
    begins anew. Raises InputError, SessionBusyError while another process does the run,
    ConflictError or StoreError.
    """
    branch = f"learn-{run_name(samples, options)}"
    async with AsyncExitStack() as held:
        try:
            key = SessionKey(options.app, "", branch)
            await held.enter_async_context(container.lock.hold(key, wait_s=_WAIT_S))
        except SessionBusyError as error:
            raise SessionBusyError(
                f"another process is doing the run {branch}; wait for it"
            ) from error
        yield await _begin(container, samples, options, resume=resume, restart=restart)


_WAIT_S = 2.0
"""Wait for another process that does the same run."""


async def _begin(
    container: Container,
    samples: Sequence[Sample],
    options: RunOptions,
    *,
    resume: bool,
    restart: bool,
) -> Begun:
    parts = split(samples, options)
    untold = sum(sample.target is None for sample in parts.heldout)
    if untold:
        raise InputError(
            f"{untold} of {len(parts.heldout)} held-out samples have no 'target', so versions "
            "cannot be scored; use --heldout 0 to learn without a score"
        )
    name = run_name(samples, options)
    file = RunFile(container.settings.data_dir, name)
    state = file.load()
    if state is not None and restart:
        # Before the branch: what ends after this begins anew, and pairs no old state with a new
        # branch.
        file.delete()
        state = None
    if state is None:
        return Begun(await _fork(container, name, options, parts, file), parts, file)
    if not resume:
        raise InputError(
            f"this run has begun already ({told_position(state)}); "
            "use --resume to go on, or --restart to begin anew"
        )
    return Begun(state, parts, file)


async def carry_on(
    container: Container,
    run: Begun,
    students: Students,
    *,
    progress: Callable[[RunState], None],
) -> RunState:
    """Go on to the end, telling of each step. Raises ModelUnavailable or StoreError."""

    def save(state: RunState) -> None:
        run.file.save(state)
        progress(state)

    learner = OfflineLearner(
        students=students,
        store=container.playbooks,
        clock=container.clock,
        limits=container.settings.limits,
        save=save,
        max_rounds=container.settings.reflector_max_rounds,
    )
    return await learner.run(run.state, run.parts)


def told_position(state: RunState) -> str:
    """How far a run has come, in words."""
    if state.outcome:
        return f"finished: {state.outcome}"
    return f"epoch {state.epoch + 1} of {state.options.epochs}, {state.position} of {state.train}"


async def _fork(
    container: Container, name: str, options: RunOptions, parts: Split, file: RunFile
) -> RunState:
    main = PlaybookScope(options.app)
    stored = await container.playbooks.load(main)
    state = RunState(
        run=name,
        branch=f"learn-{name}",
        base_version=stored.version,
        options=options,
        train=len(parts.train),
        heldout=len(parts.heldout),
    )
    # Of a run that begins anew, or that was killed between its first two steps.
    await _drop(container, state)
    by = Author("", container.clock.now())
    await container.playbooks.fork(main, state.branch, by=by, version=stored.version)
    file.save(state)
    return state


async def _drop(container: Container, state: RunState) -> None:
    scope = PlaybookScope(state.options.app, branch=state.branch)
    try:
        await container.playbooks.drop(scope)
    except NotFoundError:
        return  # It is what was wanted.
