"""Arguments of public entries, checked against their annotations."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import signature
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

P = ParamSpec("P")
R = TypeVar("R")
_hints = cache(get_type_hints)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, refusing arguments that its annotations exclude.

    It raises a TypeError that names the argument; not its value, which may be a secret. A text is
    no series of texts. What is iterated once is not looked into.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function)
        for name, value in signature(function).bind(*args, **kwargs).arguments.items():
            if not fits(value, hints.get(name, Any)):
                kind, got = str(hints[name]).removeprefix("<class "), type(value).__name__
                raise TypeError(f"'{name}' must be {kind.rstrip('>')}, not {got}")
        return function(*args, **kwargs)

    return call


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - one case each
    """Whether a value is what an annotation says."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return kind is Any or isinstance(value, type(None) if kind is None else kind)
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
