"""The measures of a run file that may grow: a snapshot that was measured is not parsed again."""

from functools import lru_cache, partial
from pathlib import Path
from threading import Lock

from acc_ace.ext.survivor.analysis import RunMeasures
from acc_ace.ext.survivor.snapshots import numbered_snapshots
from acc_ace.ext.survivor.survival import LoopSnapshot, RunAnalysis


@lru_cache(maxsize=8)
def measured_run(path: Path) -> "MeasuredRun":
    """The run of a file; asked for again, the same one."""
    return MeasuredRun(path)


class MeasuredRun:
    """A run file, and what was measured of it so far. Thread-safe."""

    def __init__(self, path: Path) -> None:
        # A bad line is a warning of the stream and of `analyze`.
        self._read = partial(numbered_snapshots, path, lambda _: None)
        self._first: tuple[int, LoopSnapshot] | None = None
        self._measures, self._line, self._lock = RunMeasures(), 0, Lock()

    def result(self) -> RunAnalysis:
        """The measures so far; bad lines are left out. Raises StoreError or InputError."""
        with self._lock:
            first = next(self._read(), None)
            if first != self._first:  # Another file took its place.
                self._first, self._measures, self._line = first, RunMeasures(), 0
            for line, tick in self._read(after=self._line):
                self._measures.add(tick, line)
                self._line = line
            return self._measures.result()
