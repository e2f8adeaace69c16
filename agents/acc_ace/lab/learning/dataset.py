"""Read a data set: one JSON object a line, with `question` or `context` or both, and `target`.

The finance sets of ACE (`context` and `target`) are read as they are.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from acc_ace.errors import InputError
from acc_ace.schemas.learning_job import Sample

MAX_SAMPLES = 100_000
_MAX_LINE = 1_000_000


def read_samples(path: Path, *, limit: int | None = None) -> list[Sample]:
    """The samples of a file, at most `limit`; blank lines are left out.

    Raises InputError that names file and line for what is no sample, and for an empty file.
    """
    samples: list[Sample] = []
    for where, line in _lines(path):
        if len(samples) >= MAX_SAMPLES:
            raise InputError(f"{path} has more than {MAX_SAMPLES:,} samples; split it")
        if limit is not None and len(samples) >= limit:
            break
        samples.append(_sample(where, line))
    if not samples:
        raise InputError(f"{path} holds no samples")
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
    # A blank target says nothing, so the sample has none.
    return Sample(text=text, target=str(target).strip() or None if target is not None else None)
