"""Two other ACE packages behind one face, for measuring beside ours in one process.

Both are called `ace`, so each is installed into a folder of its own and imported apart:

    pip install --no-deps --target DIR/ace-playbook ace-playbook==0.3.0
    pip install --no-deps --target DIR/ace-framework ace-framework==0.7.1 python-toon==0.2.0

They are called as their own documentation does, with their default settings.
"""

import contextlib
import importlib
import io
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from acc_ace.core.text.duplicates import Vector

PIP = (
    "pip install --no-deps --target {0}/ace-playbook ace-playbook==0.3.0\n"
    "pip install --no-deps --target {0}/ace-framework ace-framework==0.7.1 python-toon==0.2.0"
)

Book: TypeAlias = Any
"""A peer's playbook. The packages are not installed here, so there are no types to name."""

Row = tuple[str, str]
"""Section and content of a bullet."""

Change = tuple[str, str, str]
"""ADD with section and content, UPDATE with id and content, REMOVE with id and ''."""


class Peer(Protocol):
    """A package that keeps a playbook."""

    name: str
    by_words: bool
    """Whether it finds duplicates without vectors."""

    def filled(self, rows: Sequence[Row]) -> Book:
        """A book of these bullets, ids 'b-00001' and so on."""
        ...

    def apply(self, book: Book, changes: Sequence[Change]) -> None:
        """Apply a delta."""
        ...

    def render(self, book: Book) -> str:
        """The whole book for a prompt."""
        ...

    def refine(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> Book:
        """A book of these bullets after deduplication."""
        ...

    def refined_count(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> int:
        """Bullets left after deduplication."""
        ...

    def save(self, book: Book, path: Path) -> None:
        """Keep a book in a file."""
        ...

    def load(self, path: Path) -> Book:
        """Read a book from a file."""
        ...


class AcePlaybook:
    """PyPI `ace-playbook` 0.3.0. Compares within a section, by words or by an embedder."""

    name = "ace-playbook 0.3.0"
    by_words = True

    def __init__(self, folder: Path) -> None:
        self._ace = _import(folder, "ace")["ace"]

    def filled(self, rows: Sequence[Row]) -> Book:
        """A book of these bullets."""
        book = self._ace.Playbook()
        for number, (section, content) in enumerate(rows, 1):
            book.add(self._ace.Bullet(content=content, section=section, id=f"b-{number:05d}"))
        return book

    def apply(self, book: Book, changes: Sequence[Change]) -> None:
        """Apply a delta."""
        operations = [self._operation(change) for change in changes]
        self._ace.apply_delta(book, self._ace.DeltaContext(operations=operations))

    def render(self, book: Book) -> str:
        """The whole book for a prompt."""
        return str(book.render())

    def refine(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> Book:
        """A book of these bullets after deduplication."""
        book = self.filled(rows)
        embedder = None if vectors is None else lambda texts: [vectors[text] for text in texts]
        self._ace.grow_and_refine(book, embedder=embedder)
        return book

    def refined_count(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> int:
        """Bullets left after deduplication."""
        return len(self.refine(rows, vectors))

    def save(self, book: Book, path: Path) -> None:
        """Keep a book in a file."""
        book.save(str(path))

    def load(self, path: Path) -> Book:
        """Read a book from a file."""
        return self._ace.Playbook.load(str(path))

    def _operation(self, change: Change) -> Book:
        kind, first, second = change
        operation, kinds = self._ace.DeltaOperation, self._ace.DeltaOp
        if kind == "ADD":
            return operation(op=kinds.ADD, section=first, content=second)
        return operation(op=kinds(kind), target_id=first, content=second)


class AceFramework:
    """PyPI `ace-framework` 0.7.1. Reports pairs of near vectors of a section for a model to merge.

    Here the model says yes to every pair that it reports.
    """

    name = "ace-framework 0.7.1"
    by_words = False

    def __init__(self, folder: Path) -> None:
        modules = _import(
            folder,
            "ace.skillbook",
            "ace.updates",
            "ace.deduplication",
            "ace.deduplication.operations",
        )
        self._skillbook = modules["ace.skillbook"]
        self._updates = modules["ace.updates"]
        self._dedup = modules["ace.deduplication"]
        self._operations = modules["ace.deduplication.operations"]

    def filled(self, rows: Sequence[Row]) -> Book:
        """A book of these bullets."""
        book = self._skillbook.Skillbook()
        for number, (section, content) in enumerate(rows, 1):
            book.add_skill(section, content, skill_id=f"b-{number:05d}")
        return book

    def apply(self, book: Book, changes: Sequence[Change]) -> None:
        """Apply a delta."""
        operations = [self._operation(change) for change in changes]
        book.apply_update(self._updates.UpdateBatch(reasoning="", operations=operations))

    def render(self, book: Book) -> str:
        """The whole book for a prompt."""
        return str(book.as_prompt())

    def refine(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> Book:
        """A book of these bullets after deduplication."""
        book = self.filled(rows)
        for skill in book.skills():
            skill.embedding = None if vectors is None else list(vectors[skill.content])
        pairs = self._dedup.SimilarityDetector().detect_similar_pairs(book)
        merges = [
            self._operations.MergeOp(source_ids=[one.id, other.id], keep_id=one.id)
            for one, other, _ in pairs
        ]
        self._operations.apply_consolidation_operations(merges, book)
        return book

    def refined_count(self, rows: Sequence[Row], vectors: Mapping[str, Vector] | None) -> int:
        """Bullets left after deduplication."""
        return len(self.refine(rows, vectors).skills())

    def save(self, book: Book, path: Path) -> None:
        """Keep a book in a file."""
        book.save_to_file(str(path))

    def load(self, path: Path) -> Book:
        """Read a book from a file."""
        return self._skillbook.Skillbook.load_from_file(str(path))

    def _operation(self, change: Change) -> Book:
        kind, first, second = change
        operation = self._updates.UpdateOperation
        if kind == "ADD":
            return operation(type="ADD", section=first, content=second)
        return operation(type=kind, section="", skill_id=first, content=second)


def load_peers(folder: Path | None) -> Iterator[Peer]:
    """The peers that can be imported; prints how to install one that can't be."""
    if folder is None:
        print("skipped: other packages; name a folder with --peers")
        return
    for name, peer in (("ace-playbook", AcePlaybook), ("ace-framework", AceFramework)):
        try:
            yield peer(folder / name)
        except ImportError as error:
            print(f"skipped: {name}: {error}\n{PIP.format(folder)}")


def _import(folder: Path, *names: str) -> dict[str, ModuleType]:
    """Import modules of a package named `ace` and take the name off again, for the other one."""
    if not (folder / "ace").is_dir():
        raise ImportError(f"there is no package in {folder}")
    # Behind the others for what it imports later; in front while it is imported itself.
    sys.path.append(str(folder))
    sys.path.insert(0, str(folder))
    logging.getLogger("ace").setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name == "ace" or name.startswith("ace.")]:
            del sys.modules[name]
