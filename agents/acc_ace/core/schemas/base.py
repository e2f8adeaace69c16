"""Base classes of all values; the keys that separate tenants; the order of authority."""

from collections.abc import Mapping
from enum import StrEnum
from operator import not_
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, NamedTuple, NoReturn, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

SCHEMA_VERSION = 1
"""Version written with every stored value; readers accept this one and older ones."""


class Value(BaseModel):
    """An immutable value; change it by copy. Unknown fields of newer writers are ignored."""

    # Built when first validated: an import of the plugin needs a few of some ninety classes.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


_Item = TypeVar("_Item")


class FrozenList(list[_Item]):
    """A list that nobody can change: it equals, prints and dumps like the list that it copies.

    It is no tuple, so that who reads a state may go on comparing its fields with lists.
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this list is part of a frozen value: copy it with list(...) to change it")

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ([*self],)


class FrozenValue(Value):
    """A value whose lists are frozen too, those of its defaults and copies included."""

    def model_post_init(self, _: object, /) -> None:
        """Freeze the lists of a value that was just made."""
        self.__dict__.update(_frozen(self.__dict__))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes, whose lists are frozen."""
        return super().model_copy(update=_frozen(update or {}), deep=deep)


def _frozen(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with frozen copies of the lists."""
    return {
        name: FrozenList(value) if isinstance(value, list) else value
        for name, value in fields.items()
    }


def _bare(schema: dict[str, Any]) -> None:
    """Strip the words of a JSON schema: the prompt says once what a model's reply holds.

    What may be null may be left out, which takes a shorter schema.
    """
    schema.pop("description", None)
    for part in schema.get("properties", {}).values():
        for key in ("title", "description", "default"):
            part.pop(key, None)
        for form in part.pop("anyOf", ()):
            part.update({} if form == {"type": "null"} else form)


class ReplyHints(NamedTuple):
    """What the reader of replies mends in values of a class, beside their types."""

    other_names: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """What models call a field."""
    meanings: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    """Values of a field in other words, in lower case, letters and digits alone."""
    bare: str = ""
    """The field that an entry written as a text fills."""
    number: str = ""
    """The field that an entry written as a number fills."""
    key: str = ""
    """The field that the keys fill of entries written as a map."""
    content: tuple[str, ...] = ()
    """An entry that has none of these says nothing and is left out."""


NO_HINTS: Final = ReplyHints()


class ReplyValue(Value):
    """A value that a model writes; its schema goes with each request, so it is bare."""

    model_config = ConfigDict(json_schema_extra=_bare)
    hints: ClassVar[ReplyHints] = NO_HINTS


class EntryReply(ReplyValue):
    """A reply with entries, each of which stands for itself."""

    unreadable: SkipJsonSchema[list[str]] = Field(
        default_factory=list,
        exclude_if=not_,
        description="Entries that cannot be used, each with the reason.",
    )


OptionalText = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]
"""Text that may be missing, which is also what empty text means."""

V = TypeVar("V", bound=Value)

_new, _set = object.__new__, object.__setattr__


def trusted(example: V, fields: dict[str, object]) -> V:
    """Build a value like `example` from validated fields, without validating again.

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
    """Copy a value with validated changes, at a third of the cost of `model_copy`."""
    return trusted(value, {**value.__dict__, **changes})


class StoredValue(Value):
    """A stored value: it carries its schema version and refuses newer ones.

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


class Authority(StrEnum):
    """Origin of a text, strongest first: system > user > tool > retrieved > agent."""

    SYSTEM = "system"
    USER = "user"
    TOOL = "tool"
    RETRIEVED = "retrieved"
    AGENT = "agent"

    @property
    def rank(self) -> int:
        """4 for system down to 0 for agent."""
        return _RANK[self]

    @property
    def may_rule(self) -> bool:
        """Whether words of this authority may create, amend or release constraints and goal."""
        return self.rank >= _RANK[Authority.USER]


_RANK: dict[Authority, int] = {
    authority: rank for rank, authority in enumerate(reversed(list(Authority)))
}


OWN_APP: Final = "acc_ace"
"""The name of this product's own app; another app has its memory by the plugin."""


def _no_name(name: str | None) -> str:
    """What is wrong with an empty name."""
    return "is empty; give a name" if name == "" else ""


Name = Annotated[str, _no_name]


class Tenant(NamedTuple):
    """One user of one app; part of every key and every query."""

    app: Name
    user: Name


class SessionKey(NamedTuple):
    """One session of one user of one app."""

    app: Name
    user: Name
    session: Name

    @property
    def tenant(self) -> Tenant:
        """The owner of the session."""
        return Tenant(self.app, self.user)


class PlaybookScope(NamedTuple):
    """Owner of a playbook: the app (user is None) or a user."""

    app: str
    user: str | None = None
