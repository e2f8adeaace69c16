"""The folder of a run: its plan, so that only the same run goes on in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from acc_ace.core.schemas.base import Value
from acc_ace.errors import InputError

FORMAT: Final = 1
"""Version of a run's folder."""


class RunPlan(Value):
    """All that tells one run from another; each kind of run adds its own fields."""

    contenders: tuple[str, ...] = ()
    format: int = FORMAT


Plan = TypeVar("Plan", bound=RunPlan)


def faults_of(error: ValidationError, options: Mapping[str, str]) -> str:
    """What is wrong with a plan, by option; those named otherwise than their field in `options`."""
    faults = [(str(it["loc"][0]), it["msg"]) for it in error.errors(include_url=False)]
    return "; ".join(f"--{options.get(field, field)}: {fault}" for field, fault in faults)


def open_folder(folder: Path, plan: RunPlan) -> None:
    """Begin a run in a folder, or go on with it.

    Raises InputError when the folder holds another run, or one of another version.
    """
    file = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out: {folder} is a file; name a folder")
    if file.exists():
        _require_same(read_plan(folder, type(plan)), plan, folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError(f"--out: {folder} is no folder of a run, and not empty; name another")
    file.write_text(plan.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_plan(folder: Path, of: type[Plan]) -> Plan:
    """The plan of a run's folder. Raises InputError without one, or for another version."""
    file = folder / "run.json"
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        version = written.get("format") if isinstance(written, dict) else None
        if version != FORMAT:
            raise InputError(
                f"--out: {folder} is a run of format {version}, not {FORMAT}; name another folder"
            )
        return of.model_validate(written)
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"--out: {file} cannot be read ({error})") from error


def _require_same(before: RunPlan, plan: RunPlan, folder: Path) -> None:
    differing = [
        name for name in type(plan).model_fields if getattr(before, name) != getattr(plan, name)
    ]
    if differing:
        raise InputError(
            f"--out: {folder} is a run with other options ({', '.join(differing)}); "
            "name another folder, or give the same options to go on"
        )
