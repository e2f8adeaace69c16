"""The measures of a run file that grows are those of all that stands in it."""

from pathlib import Path

import pytest

from acc_ace.errors import StoreError
from acc_ace.ext.survivor.analysis import SERIES, analyse
from acc_ace.ext.survivor.measured_run import MeasuredRun
from tests.ext.survivor.survivor_run import save_run, step, tick

LIVED = [tick(at, fear=at / 10, steps=(step(life=-1, cause="cone"),)) for at in range(1, 6)]


def test_what_is_appended_is_added(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    lines = [f"{each.model_dump_json()}\n" for each in LIVED]
    run = MeasuredRun(save_run(file, *LIVED[:2]))
    assert run.result().ticks == 2
    with file.open("a") as growing:
        growing.write("".join(["torn\n", lines[2], lines[3][:100]]))
        growing.flush()
        assert run.result().ticks == 3
        growing.write(lines[3][100:])
    assert run.result().ticks == 4
    assert run.result().series["n"] == (1, 2, 4, 5)
    assert run.result().harms == {"cone": 4}


def test_another_file_in_its_place_is_measured_from_its_beginning(tmp_path: Path) -> None:
    run = MeasuredRun(save_run(tmp_path / "run.jsonl", *LIVED))
    run.result()
    for ticks in (1, 9):
        save_run(tmp_path / "run.jsonl", *(tick(at, died_of="wolf") for at in range(ticks)))
        assert (run.result().ticks, run.result().deaths) == (ticks, {"wolf": 1})


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        MeasuredRun(tmp_path / "none.jsonl").result()


def test_series_are_thinned_evenly_and_belong_together() -> None:
    series = analyse(tick(at, fear=at / 5_000) for at in range(1, 5_001)).series
    assert set(series) == set(SERIES)
    assert {len(values) for values in series.values()} == {len(series["fear"])}
    assert 400 <= len(series["fear"]) <= 800
