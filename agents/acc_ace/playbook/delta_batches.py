"""Read delta batches that a person or a program hands in, a JSON line each."""

import json

from pydantic import ValidationError

from acc_ace.errors import InputError
from acc_ace.schemas.delta import DeltaBatch

MOST_CHARACTERS = 4 * 1024 * 1024
"""A longer line is no batch."""


def read_batch(line: str) -> DeltaBatch:
    """A batch from a line; one operation alone is a batch too.

    As with the Curator's, an operation that is none does not cost the batch its good ones.
    Raises InputError for what is no batch at all.
    """
    if len(line) > MOST_CHARACTERS:
        raise InputError(f"a batch has at most {MOST_CHARACTERS:,} characters")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("a batch is a JSON object with 'operations'")
    if "operations" not in value:
        if not {"type", "op", "action"} & set(value):
            raise InputError("a batch is a JSON object with 'operations'; there are none")
        value = {"operations": [value]}
    try:
        return DeltaBatch.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "batch"
        raise InputError(f"not a batch: {where}: {problem['msg']}") from error
