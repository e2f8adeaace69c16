"""Read a model's reply as a value of a schema."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from acc_ace.errors import ModelOutputError
from acc_ace.gates.ccs_output import parse_json_object

V = TypeVar("V", bound=BaseModel)


def parser(schema: type[V]) -> Callable[[str], V]:
    """A parser of replies of one schema; it raises ModelOutputError that names the field."""

    def parse(text: str) -> V:
        value = parse_json_object(text)
        try:
            return schema.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "reply"
            raise ModelOutputError(f"{schema.__name__}.{where}: {first['msg']}") from error

    return parse
