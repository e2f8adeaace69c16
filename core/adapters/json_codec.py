"""Values as JSON text in a column, and back."""

import json
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from core.errors import CorruptStoreError
from schemas.base import Value

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
    except (ValueError, ValidationError) as error:
        raise CorruptStoreError(
            f"{what} cannot be read ({error}); restore the database from a copy"
        ) from error
