"""The base of every value: frozen, and strict about unknown fields when we write them."""

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1
"""Version written with every stored value; readers accept this one and older ones."""


class Value(BaseModel):
    """An immutable value; change it by copy. Unknown fields of newer writers are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
