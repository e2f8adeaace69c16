"""`acc-ace survive`: live episodes, show and save them, and say how they went."""

import asyncio
import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, aclosing, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final, TextIO

from rich.console import Console

from acc_ace.bootstrap import build_container
from acc_ace.cli.output import (
    ExitCode,
    create_private_file,
    json_line,
    printable,
    stderr_console,
    stdout_console,
)
from acc_ace.config import POLICY_MODEL, ROLES, Role, Settings, load_settings
from acc_ace.container import Container
from acc_ace.core.schemas.cost import PriceTable
from acc_ace.core.schemas.report import Money, TokenUse
from acc_ace.errors import ConfigError, InputError, StoreError
from acc_ace.ext.survivor.analysis import RunMeasures
from acc_ace.ext.survivor.chronicle import story
from acc_ace.ext.survivor.cli.analyze import analysis_view
from acc_ace.ext.survivor.cli.turn_view import TurnScreen
from acc_ace.ext.survivor.core_thinker import thinker_settings
from acc_ace.ext.survivor.loop import Listener, LoopOptions, Survivor
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.ext.survivor.snapshots import SettingsPort, SnapshotWriter
from acc_ace.ext.survivor.survival import LoopSnapshot
from acc_ace.hooks import PLAYBOOK_FILES, is_offered
from acc_ace.models.names import kind_of
from acc_ace.models.prices import load_prices
from acc_ace.storage.private_files import make_directory

LIVE_DELAY: Final = 20.0
"""Seconds between ticks where a live model thinks."""

LINGER: Final = 600.0
"""Seconds that the page of a run stays after it, unless told otherwise."""

MOST_RUNS: Final = 20
"""Runs kept in the data directory; the ones written longest ago go first."""

_A_TICK: Final[Mapping[Role, TokenUse]] = {
    "compressor": TokenUse(input=2_200, output=450),
    "generator": TokenUse(input=2_500, output=500),
    "reflector": TokenUse(input=700, output=150),
    "curator": TokenUse(input=550, output=100),
}
"""Tokens of a tick, as young lives took; older ones learn less. Thoughts are not in it."""


def run_survive(
    run: LoopOptions,
    *,
    model: str | None = None,
    save_run: Path | None = None,
    save_report: Path | None = None,
    max_cost: float | None = None,
    ui: int | None = None,
    linger: float | None = None,
    as_json: bool = False,
    quiet: bool = False,
    survivor_of: Callable[..., Survivor] = Survivor,
) -> ExitCode:
    """Live the episodes; Ctrl-C, SIGTERM and errors save what there is. `ui` is the cockpit's port.

    Raises ConfigError or InputError before the first tick; then what ends the run.
    """
    if linger is not None and ui is None:
        raise InputError("--linger keeps the page of --ui PORT, which is not given")
    settings = _with_playbook_files(thinker_settings(with_model(load_settings(), model)))
    names = {role: settings.model_name(role) for role in ROLES}
    if run.tick_delay is None and any(kind_of(name) != "embedded" for name in names.values()):
        run = replace(run, tick_delay=LIVE_DELAY)
    people, measures, terminated = stderr_console(), RunMeasures(), Event()
    _say_price(people, load_prices(settings.prices), names, run, max_cost)
    file = _run_file(settings, run, save_run)
    copy = None if ui is None else _copy_to_show(settings, run, file)
    page = _page(run, ui, LINGER if linger is None else linger, people)
    try:
        with page as port, ExitStack() as left:
            _end_at_sigterm(left, terminated)
            report = None
            if save_report:
                report = left.enter_context(create_private_file(save_report, "--save-report"))
            saved = _Saved(file, people)
            left.callback(_finish, measures, saved, report, as_json=as_json)
            shown = left.enter_context(closing(_Saved(copy, people)))
            screen = left.enter_context(closing(TurnScreen(people)))
            views: tuple[Listener, ...] = (screen.show, partial(_tell, measures, people))
            takers = [measures.add, saved.take, shown.take, *(() if quiet else views)]
            of = partial(survivor_of, options=run, port=port, listeners=takers)
            asyncio.run(_live(settings, of, max_cost, people))
    except KeyboardInterrupt:
        people.print("interrupted; the tick that was running is undone", style="yellow")
        return ExitCode.TERMINATED if terminated.is_set() else ExitCode.INTERRUPTED
    return ExitCode.OK


def _end_at_sigterm(left: ExitStack, terminated: Event) -> None:
    """Until the stack is left, SIGTERM sets the event and does what Ctrl-C does.

    Also in a process that ignores SIGINT, as one in the background of a script does.
    """

    def end(_: int, frame: FrameType | None) -> None:
        terminated.set()
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    left.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, end))


def _tell(measures: RunMeasures, people: Console, tick: LoopSnapshot) -> None:
    """Say what became of a life that is over."""
    if tick.over:
        line = printable(story(measures.result().newest)[-1])
        people.print(line, markup=False, soft_wrap=True)


def _page(
    run: LoopOptions, ui: int | None, linger: float, people: Console
) -> AbstractContextManager[SettingsPort]:
    """The cockpit over the run, if it is wanted; entered, the port that steers the loop."""
    if ui is None:
        return nullcontext(SettingsPort())
    from acc_ace.ext.survivor.cli.watched_run import watched  # noqa: PLC0415 - a server takes time

    return watched(run.run, load_settings(), port=ui, linger=linger, people=people)


async def _live(
    settings: Settings,
    survivor_of: Callable[[Container], Survivor],
    max_cost: float | None,
    people: Console,
) -> None:
    container, of_life = build_container(settings), dict[int, float]()
    try:
        async with aclosing(survivor_of(container).run()) as ticks:
            async for tick in ticks:
                usd = tick.usd or 0.0
                # What a life that goes on had cost before is not spent now.
                of_life.setdefault(0, -usd if tick.tick > 1 else 0.0)
                of_life[tick.episode] = usd
                spent = sum(of_life.values())
                if max_cost is not None and spent >= max_cost:
                    people.print(f"stopped: ${spent:.4f} spent, --max-cost is ${max_cost:g}")
                    break
    finally:
        await container.close()


class _Saved:
    """The run file; a disk that is full ends the saving, not the run."""

    def __init__(self, path: Path | None, people: Console) -> None:
        self._people = people
        self._writer = SnapshotWriter(path) if path else None
        self.told = f"saved in {path}" if path else "not saved: there is no data directory"

    def take(self, snapshot: LoopSnapshot) -> None:
        """Write a snapshot."""
        if self._writer is None:
            return
        try:
            self._writer.write(snapshot)
        except StoreError as error:
            self._people.print(f"! {error}", style="yellow", soft_wrap=True)
            self.told, self._writer = f"saved in {self._writer.path} in part", None

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


def _finish(measures: RunMeasures, saved: _Saved, report: TextIO | None, *, as_json: bool) -> None:
    """Save the report and print how the run went, however it ended."""
    saved.close()
    run = measures.result()
    if report is not None:
        json.dump(run.model_dump(mode="json"), report, ensure_ascii=False, indent=2)
    if as_json:
        print(json_line(run.model_dump(mode="json")))
    elif run.ticks:
        stdout_console().print(analysis_view(run))
        stdout_console().print(saved.told, soft_wrap=True)


def with_model(settings: Settings, name: str | None) -> Settings:
    """The settings with one model for every agent; `embedded/policy` only plans.

    Raises ConfigError for a name that no model has.
    """
    if name is None:
        return settings
    kind_of(name)
    roles: tuple[Role, ...] = ("generator",) if name == POLICY_MODEL else ROLES
    changed = {str(role): settings.agent(role).model_copy(update={"model": name}) for role in roles}
    return settings.model_copy(update=changed)


def _with_playbook_files(settings: Settings) -> Settings:
    """The settings with the playbook exported to files, unless they say otherwise."""
    unchanged = "playbook_files" in settings.model_fields_set or settings.store == "memory"
    is_written = not unchanged and is_offered(PLAYBOOK_FILES)
    return settings.model_copy(update={"playbook_files": True}) if is_written else settings


def _run_file(settings: Settings, options: LoopOptions, target: Path | None) -> Path | None:
    """Where the run is saved; None where nothing is to be stored. Raises StoreError."""
    if target or settings.store == "memory":
        return target
    folder = runs_folder(settings.data_dir)
    file = folder / f"{options.run}.jsonl"
    try:
        make_directory(folder)
        others = sorted(set(folder.glob("*.jsonl")) - {file}, key=lambda path: path.stat().st_mtime)
        for old in others[: 1 - MOST_RUNS]:
            old.unlink()
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}") from error
    return file


def _copy_to_show(settings: Settings, options: LoopOptions, file: Path | None) -> Path | None:
    """Where the page finds a run that is saved in another file.

    Raises InputError where there is no such place, StoreError.
    """
    path = _run_file(settings, options, None)
    if path is None:
        raise InputError("--ui shows a run from the data directory; ACC_ACE_STORE=memory has none")
    return None if file and file.resolve() == path.resolve() else path


def _say_price(
    people: Console,
    prices: PriceTable,
    names: Mapping[Role, str],
    run: LoopOptions,
    max_cost: float | None,
) -> None:
    """Say what the run may cost, unless every model is free.

    Raises ConfigError where a ceiling is set that cannot be kept.
    """
    unknown = sorted({name for name in names.values() if prices.price(name) is None})
    if unknown and max_cost is not None:
        raise ConfigError(
            f"--max-cost cannot be kept: the price of {', '.join(unknown)} is unknown; add it to a "
            "price file and name that in ACC_ACE_PRICES"
        )
    nano = run.episodes * run.ticks * sum(_nano_of_tick(prices, names))
    if nano or unknown:
        cost = Money.of(nano, len(unknown))
        people.print(
            f"{run.episodes} × {run.ticks} ticks cost about {cost} where no life ends early, by "
            f"the prices of {prices.as_of}; --max-cost sets a ceiling",
            soft_wrap=True,
        )


def _nano_of_tick(prices: PriceTable, names: Mapping[Role, str]) -> Iterator[int]:
    for role, use in _A_TICK.items():
        if (price := prices.price(names[role])) is not None:
            yield price.nano(use)
