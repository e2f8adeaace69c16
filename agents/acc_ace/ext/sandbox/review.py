"""The Sentinel's review of a script before it is run: the rules in force, and what it reaches for.

It says early and in words what the sandbox would stop anyway; nothing relies on it alone.
"""

import ast
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.checks import breaches

MODULES: Final = frozenset(
    {
        *("bisect", "collections", "dataclasses", "datetime", "decimal", "fractions", "functools"),
        *("heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string"),
        *("sys", "textwrap", "typing"),
    }
)
"""What a script may import."""

_REFUSED: Final = frozenset(
    {"open", "exec", "eval", "compile", "breakpoint", "globals", "vars", "modules", "getattr"}
)
_TOOL: Final = Tool("run_script", "run execute start a script program code")


def objection(name: str, source: bytes, pins: Sequence[ConstraintPin], at: datetime) -> str:
    """Why a script may not be run; '' when it may. `at` is aware, in the user's zone."""
    try:
        text = source.decode("utf-8")
        reached = next(_reached(ast.parse(text)), "")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it cannot be read as Python: {type(error).__name__}"
    if reached:
        return f"it reaches for {reached}; a script computes and prints"
    call = ActCall(_TOOL.name, {"name": name, "text": text})
    broken = next(breaches(call, _TOOL, pins, at), None)
    return f"it would break '{broken.rule}'" if broken else ""


def _reached(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.split(".")[0] not in MODULES)
            case ast.ImportFrom(module=module) if (module or "").split(".")[0] not in MODULES:
                yield module or "a package"
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                if word in _REFUSED or (word.startswith("__") and word != "__name__"):
                    yield word
