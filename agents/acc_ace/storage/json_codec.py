"""Values as JSON text in a column, and back."""

import json
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from acc_ace.errors import CorruptStoreError
from acc_ace.playbook.formats.file_form import first_problem
from acc_ace.schemas.base import Value

V = TypeVar("V", bound=Value)


def encode(value: Value) -> str:
    """Compact JSON. Text of half surrogate pairs is escaped, so that nothing is lost."""
    try:
        return value.model_dump_json()
    except PydanticSerializationError:
        # Half a surrogate pair is no UTF-8, which is what pydantic writes.
        return json.dumps(value.model_dump(mode="json"), separators=(",", ":"))


def decode(model: type[V], text: str | bytes, *, what: str) -> V:
    """Read what `encode` wrote; raises CorruptStoreError that names `what`."""
    try:
        return model.model_validate_json(text)
    except ValueError:
        # Half a surrogate pair is no JSON for pydantic, which takes half the time otherwise.
        return _decode_slowly(model, text, what=what)


def _decode_slowly(model: type[V], text: str | bytes, *, what: str) -> V:
    try:
        return model.model_validate(json.loads(text))
    except ValueError as error:
        # From None: the trace of a ValidationError says what stands there, as the error itself.
        raise CorruptStoreError(
            f"{what} cannot be read ({problem_of(error)}); restore the database from a copy"
        ) from None


def problem_of(error: ValueError) -> str:
    """What is wrong with stored text, without what stands there: logs hold no words of users."""
    return first_problem(error) if isinstance(error, ValidationError) else str(error)
