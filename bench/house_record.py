"""The record of a running turn: its fields, and the modules that write into it from outside.

A module writes when it assigns a field, or an item of one, or calls a method that changes one, on
what is named `record` or `turn`, or is annotated as the record. The record's own methods (`warn`,
`count`) do not count: they are what a record is for.
"""

import ast
from collections.abc import Iterator
from typing import Final

from bench.house_code import modules

_RECORD: Final = "TurnRecord"
_NAMES: Final = frozenset({"record", "_record", "turn", "_turn"})
_ADDS: Final = ("append", "extend", "update", "add", "setdefault", "insert")
_CHANGES: Final = frozenset((*_ADDS, "clear", "pop", "remove", "discard"))


def fields() -> list[str]:
    """Fields of the record, those of its base classes among them."""
    return [field for tree in _classes(_RECORD) for field in _own_fields(tree)]


def writers() -> list[str]:
    """Modules that write into it, but for the one in which it is defined."""
    known = {*fields()}
    return sorted(
        name
        for name, module in modules().items()
        if not any(_is_class(node, _RECORD) for node in module.tree.body)
        and any(_written(node) in known for node in _writes(module.tree))
    )


def numbers() -> dict[str, int]:
    """Both, by name."""
    return {"fields of the turn's record": len(fields()), "modules that write it": len(writers())}


def _classes(name: str) -> Iterator[ast.ClassDef]:
    """The class of this name, and the classes of the product that it rests on."""
    found = [
        node for each in modules().values() for node in each.tree.body if _is_class(node, name)
    ]
    for tree in found[:1]:
        assert isinstance(tree, ast.ClassDef)
        yield tree
        for base in tree.bases:
            yield from _classes(getattr(base, "id", ""))


def _is_class(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == name


def _own_fields(tree: ast.ClassDef) -> list[str]:
    annotated = (node.target for node in tree.body if isinstance(node, ast.AnnAssign))
    return [target.id for target in annotated if isinstance(target, ast.Name)]


def _writes(tree: ast.Module) -> Iterator[ast.expr]:
    """`x.field` wherever it is assigned or changed, and `x` is a record."""
    names = _NAMES | {*_annotated(tree)}
    for node in ast.walk(tree):
        for target in _targets(node):
            if isinstance(target, ast.Attribute) and _name(target.value) in names:
                yield target


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            parts = [part for target in targets for part in _parts(target)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            parts = _parts(target)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _CHANGES:
            parts = [value]
        case _:
            parts = []
    yield from (part.value if isinstance(part, ast.Subscript) else part for part in parts)


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple) else [target]


def _annotated(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and _name(node.annotation) == _RECORD:
            yield node.arg


def _written(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else ""


def _name(node: ast.expr | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
