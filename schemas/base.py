"""The base of every value: frozen, and strict about unknown fields when we write them."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = 1
"""Version written with every stored value; readers accept this one and older ones."""


class Value(BaseModel):
    """An immutable value; change it by copy. Unknown fields of newer writers are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


V = TypeVar("V", bound=Value)

_new, _set = object.__new__, object.__setattr__


def trusted(example: V, fields: dict[str, object]) -> V:
    """A value like `example` of exactly these fields, which are known to be clean and complete.

    Nothing is validated or copied: a batch of a thousand deltas makes some thousands of values.
    Both share the set of fields that were given, which nothing changes.
    """
    made: V = _new(example.__class__)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", example.__pydantic_fields_set__)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def trusted_copy(value: V, changes: dict[str, object]) -> V:
    """The value with fields changed that are known to be clean; `model_copy` at a third of it."""
    return trusted(value, {**value.__dict__, **changes})


class StoredValue(Value):
    """A value that is kept on disk: it carries its schema's version and refuses a newer one.

    An older one is read: fields it lacks take their defaults, fields it has too many are ignored.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, description="Version of the schema.")

    @model_validator(mode="before")
    @classmethod
    def _not_from_the_future(cls, value: object) -> object:
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise ValueError(
                f"schema_version {version} is newer than {SCHEMA_VERSION}; "
                "upgrade acc-ace to read it"
            )
        return value
