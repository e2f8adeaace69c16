"""The house as it stands in the files: what one must read, and where code lies. Nothing is run.

- Code lines: Python under `agents/` without docstrings, blank lines, comments and imports. The core
  is all but the satellites: `ext`, `server`, `cockpit` and `cli`.
- A closure: a module and what it imports at module level, transitively, `__init__` files not
  counted unless they are imported by name; lines are those of the files.
- An import from the core into an extension: a pair of modules, the first outside the satellites,
  the second in `ext`, at any place (in a function and for types too).
- Language tables: calls of `re.compile`, `lazy_pattern`, `any_of` and `words_of` in assignments at
  module level.
- Deep tests: Python files under `tests/` that import from five modules of `acc_ace` or more, by
  `from … import`; the doors of a checkout (`schemas`, `config`, `main`) are none of them.
- Class names defined twice: names of classes, private ones too, that two modules or more define.
- Participles as names: variables, parameters, attributes and fields that are named by one of
  `PARTICIPLES` alone, each place where one stands.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from bench.house_product import ROOT

AGENTS: Final = ROOT / "agents"
SATELLITES: Final = ("ext", "server", "cockpit", "cli")
READ: Final = {
    "plugin": "acc_ace.plugin",
    "controller": "acc_ace.controller",
    "commit_gate": "commit_gate",
    "survivor": "loop",
}
"""What a newcomer reads, by the name of its module or by the last part of it."""

PARTICIPLES: Final = frozenset(
    "asked chosen found given held kept known made read said seen shown taken told".split()  # noqa: SIM905 - one a line is long
)
"""What a noun says better."""

_TABLES: Final = frozenset({"compile", "lazy_pattern", "any_of", "words_of"})
_MANY: Final = 5
_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A module of the product: its text, and what it says."""

    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Lines of the file."""
        return self.text.count("\n")

    @property
    def code(self) -> int:
        """Lines without docstrings, blank lines, comments and imports."""
        beside = {
            line
            for node in ast.walk(self.tree)
            for part in _beside(node)
            for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)
        }
        return sum(
            bool(line.strip()) and not line.strip().startswith("#") and number not in beside
            for number, line in enumerate(self.text.split("\n"), 1)
        )


class Closure(NamedTuple):
    """What a module makes one read."""

    modules: int
    lines: int


@cache
def modules() -> dict[str, Module]:
    """Every module of the product, by its name."""
    files = (path for path in AGENTS.rglob("*.py") if "__pycache__" not in path.parts)
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in files}
    return {name: Module(text, ast.parse(text)) for name, text in texts.items()}


def name_of(path: Path) -> str:
    """The name under which a file is imported."""
    name = ".".join(path.relative_to(AGENTS).with_suffix("").parts)
    return name.removesuffix(".__init__")


def room_of(name: str) -> str:
    """The folder of a module, of an extension its own, of `core` its rooms; "" at the top."""
    package, *parts = name.split(".")
    if package != "acc_ace":
        return package
    is_folder = name in modules() and any(other.startswith(f"{name}.") for other in modules())
    folders = parts if is_folder else parts[:-1]
    return "/".join(folders[: 2 if folders[:1] in (["ext"], ["core"]) else 1])


def code_by_room() -> Counter[str]:
    """Code lines of each room."""
    lines = Counter[str]()
    for name, module in modules().items():
        lines[room_of(name)] += module.code
    return lines


def is_core(name: str) -> bool:
    """Whether a module is neither of an extension nor of a surface."""
    return room_of(name).split("/")[0] not in SATELLITES


def closure_of(name: str) -> Closure:
    """The closure of a module; `name` is one of `READ`."""
    read: set[str] = set()
    todo = [_module_of(READ[name])]
    while todo:
        if (module := todo.pop()) not in read:
            read.add(module)
            todo += imports()[module]
    return Closure(len(read), sum(modules()[module].lines for module in read))


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports when it is loaded."""
    return {name: _imported(module.tree.body) for name, module in modules().items()}


def core_to_extensions() -> list[tuple[str, str]]:
    """Each module of the core with a module of an extension that it imports."""
    return sorted(
        (name, other)
        for name, module in modules().items()
        if is_core(name)
        for other in _imported(ast.walk(module.tree))
        if room_of(other).split("/")[0] == "ext"
    )


def language_tables() -> Counter[str]:
    """Regular expressions and word tables, by room."""
    tables = Counter[str]()
    for name, module in modules().items():
        for statement in module.tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
                tables[room_of(name)] += sum(_called(call) in _TABLES for call in calls)
    return +tables


def deep_tests() -> list[Path]:
    """The files of tests that import from many modules of the product."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    return [path for path in files if len(_sources(path)) >= _MANY]


def class_names_defined_twice() -> list[str]:
    """The names of classes that two modules or more define."""
    names = Counter(
        name
        for module in modules().values()
        for name in {node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    )
    return sorted(name for name, count in names.items() if count > 1)


def participles() -> Counter[str]:
    """Places where a participle is a name, by word; a call of a method (`rows.read()`) is none."""
    words = Counter[str]()
    for module in modules().values():
        called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        words.update(
            name
            for node in ast.walk(module.tree)
            if id(node) not in called and (name := _name_of(node)) in PARTICIPLES
        )
    return words


def numbers() -> dict[str, int]:
    """All of it, each number by its name."""
    rooms = code_by_room()
    closures = {name: closure_of(name) for name in READ}
    return {
        **{f"closure of {name}, modules": found.modules for name, found in closures.items()},
        **{f"closure of {name}, lines": found.lines for name, found in closures.items()},
        "imports from core into ext": len(set(core_to_extensions())),
        "language tables": language_tables().total(),
        "deep tests": len(deep_tests()),
        "code lines": rooms.total(),
        "code lines of the core": sum(
            lines for room, lines in rooms.items() if room.split("/")[0] not in SATELLITES
        ),
        "class names defined twice": len(class_names_defined_twice()),
        "participles as names": participles().total(),
        "lines of the longest file": max(module.lines for module in modules().values()),
        "modules of the fullest room": _folders().most_common(1)[0][1],
    }


def _name_of(node: ast.AST) -> str:
    """The name that a variable, parameter, attribute or field has in this place, else ""."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return name
        case ast.keyword(arg=str(name)):
            return name
    return ""


def _folders() -> Counter[Path]:
    """How many modules lie directly in each folder."""
    files = (path for path in AGENTS.rglob("*.py") if path.stem != "__init__")
    return Counter(path.parent for path in files)


def _beside(node: ast.AST) -> Iterator[ast.stmt]:
    """Statements that are no code: an import, and the docstring of what is documented."""
    if isinstance(node, _IMPORTS):
        yield node
    elif isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        yield node.body[0]


def _module_of(ending: str) -> str:
    [found] = [n for n in modules() if n == ending or n.endswith(f".{ending}")]
    return found


def _imported(nodes: Iterator[ast.AST] | list[ast.stmt]) -> set[str]:
    """The product's modules that these statements import from."""
    return {
        name if (name := f"{node.module}.{alias.name}") in modules() else node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    } & modules().keys()


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _sources(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("acc_ace")
    }
