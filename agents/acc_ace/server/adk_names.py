"""Names and text of requests to ADK's routes that no store can keep, named before one tries.

PostgreSQL stores no NUL, half of a surrogate pair is no Unicode, SQLite takes no NaN for JSON, and
what is nested too deeply can never be read again.
"""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Final, NamedTuple

from starlette.types import Scope

from acc_ace.adk.sessions.json_safe import MOST_DEEP
from acc_ace.server.access import is_too_deep, json_object
from acc_ace.server.problems import Problem, problem
from acc_ace.server.valid_text import is_unicode

_SHOWN_LEVELS: Final = 4
"""Levels of a name that an answer tells of what is nested deeper than anything is kept."""

_NAMED_BY: Final = {"apps": "app_name", "users": "user_id", "sessions": "session_id"}
"""What the segment after one of these is, in a path of ADK's."""

_NUL: Final = "holds a NUL character"
_TOO_DEEP: Final = f"is nested more than {MOST_DEEP} levels deep"
_NO_NUMBER: Final = "is no finite number"
_SURROGATE: Final = "is not valid Unicode: it holds half of a surrogate pair"


class _Fault(NamedTuple):
    where: tuple[str, ...]
    what: str


def check_names(scope: Scope) -> Problem | None:
    """The problem that names the first field that cannot be stored, or None."""
    fault = next(_faults(scope), None)
    if fault is None:
        return None
    field = ".".join(fault.where[1:])
    return problem(
        422,
        "invalid_request",
        f"{field} {fault.what}; leave it out",
        instance=_shown(scope["path"]),
        errors=[{"loc": list(fault.where), "msg": fault.what, "type": "value_error"}],
    )


def _faults(scope: Scope) -> Iterator[_Fault]:
    before = ""
    for segment in scope["path"].split("/"):
        if "\0" in segment:
            yield _Fault(("path", _NAMED_BY.get(before, "path")), _NUL)
        before = segment
    if is_too_deep(scope):
        yield _Fault(("body", "body"), _TOO_DEEP)
    yield from _faults_within(("body",), json_object(scope))


def _faults_within(where: tuple[str, ...], value: object) -> Iterator[_Fault]:
    """Faults of keys, ids and texts, to the depth that is kept.

    A path is built for lists, objects and faults only: a body may hold a million numbers.
    """
    if len(where) > MOST_DEEP:
        yield _Fault(where[:_SHOWN_LEVELS], _TOO_DEEP)
        return
    if isinstance(value, dict):
        for key in value:
            yield from _faults_of_key(where, key)
    for name, part in _named(value):
        if isinstance(part, dict | list):
            yield from _faults_within((*where, str(name)), part)
        elif isinstance(part, str):
            if not is_unicode(part):
                yield _Fault((*where, str(name)), _SURROGATE)
            if "\0" in part and _is_id(str(name)):
                yield _Fault((*where, str(name)), _NUL)
        elif isinstance(part, float) and not isfinite(part):
            yield _Fault((*where, str(name)), _NO_NUMBER)


def _named(value: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _faults_of_key(where: tuple[str, ...], key: str) -> Iterator[_Fault]:
    if not is_unicode(key):
        yield _Fault((*where, _shown(key)), f"has a name that {_SURROGATE}")
    if "\0" in key:
        yield _Fault((*where, _shown(key)), f"has a name that {_NUL}")


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id"))


def _shown(text: str) -> str:
    """The text as an answer can say it."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
