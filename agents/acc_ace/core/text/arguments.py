"""Arguments of public entries, checked against their annotations."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import isfunction, signature
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from acc_ace.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
_hints = cache(get_type_hints)


def _not_positive(number: float) -> str:
    """What is wrong with a number that is not above 0."""
    return "" if number > 0 else f"must be above 0, not {number}"


Count = Annotated[int, _not_positive]
Seconds = Annotated[float, _not_positive]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, refusing arguments that its annotations exclude.

    It raises a TypeError that names the argument; not its value, which may be a secret. A text is
    no series of texts. What is iterated once is not looked into; of a key, each part is. A rule
    in `Annotated` says what is wrong with a value, and '' for a right one: that is an InputError.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        _check(function, signature(function).bind(*args, **kwargs).arguments)
        return function(*args, **kwargs)

    return call


def checked_entries(kind: type[R]) -> type[R]:
    """The class, with its public methods checked, and how it is made."""
    for name, method in [*vars(kind).items()]:
        if isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, checked(method))
    return kind


def _check(owner: Callable[..., object], values: Mapping[str, object], of: str = "") -> None:
    """Check the arguments of a function, or the parts of a key."""
    for name, value in values.items():
        kind = _hints(owner).get(name, Any)
        if not fits(value, kind):
            expected, got = str(kind).removeprefix("<class ").rstrip(">"), type(value).__name__
            raise TypeError(f"'{of}{name}' must be {expected}, not {got}")
        for rule in _rules(owner, name):
            if wrong := rule(value):
                raise InputError(f"'{of}{name}' {wrong}")
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            _check(type(value), value._asdict(), f"{of}{name}.")


@cache
def _rules(owner: Callable[..., object], name: str) -> list[Callable[[object], str]]:
    """The rules for an argument, those for a kind that it may have included."""
    kind = get_type_hints(owner, include_extras=True).get(name)
    kinds = (kind, *get_args(kind))
    return [rule for each in kinds for rule in getattr(each, "__metadata__", ())]


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - one case each
    """Whether a value is what an annotation says."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        # A whole number is a float too.
        kinds: Any = {None: type(None), float: (int, float)}.get(kind, kind)
        return kind is Any or isinstance(value, kinds)
    if origin is Literal:
        return value in inner
    if origin in {Union, UnionType}:
        return any(fits(value, each) for each in inner)
    if not isinstance(value, origin) or isinstance(value, str):
        return False
    if issubclass(origin, Mapping):
        return all(fits(key, inner[0]) and fits(each, inner[1]) for key, each in value.items())
    is_series = isinstance(value, list | tuple) and issubclass(origin, Iterable)
    return not is_series or all(fits(each, inner[0]) for each in value)
