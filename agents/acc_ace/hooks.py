"""Where extensions meet the core: a table of what each offers, and hooks to ask for it.

An extension is the folder `acc_ace/ext/NAME`; its module `entry` holds `ENTRY`, a plain object with
the methods of its hooks. It is imported when somebody asks for one of them. To remove an extension,
delete its folder and its line in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast

from acc_ace.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from fastapi import APIRouter
    from google.adk.apps import App
    from google.adk.models import BaseLlm
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from acc_ace.clock import Clock
    from acc_ace.config import GuardMode, Role, Settings
    from acc_ace.container import Container
    from acc_ace.core.playbook.playbook_form import Form, Reading
    from acc_ace.core.playbook.playbook_store import PlaybookObserver
    from acc_ace.core.schemas.commit import ConstraintPin
    from acc_ace.core.schemas.playbook import Playbook
    from acc_ace.core.schemas.report import ReportedCheck
    from acc_ace.memory.artifact_store import Embedder
    from acc_ace.model_settings import ToolForm
    from acc_ace.storage.create_stores import Stores
    from acc_ace.storage.dense_search import DenseSearch
    from acc_ace.storage.sql_erasure import Files
    from acc_ace.turn.learning_queue import LearningQueue, TurnLearning
    from acc_ace.turn.turn_record import TurnRecord
    from acc_ace.unit_of_work import Database

    class ServerDatabase(Database, Protocol):
        """A database that a server holds."""

        @property
        def server(self) -> str:
            """Where it is, without a password."""
            ...


EXTENSIONS: Final[dict[str, str]] = {
    "mcp": "commands",
    "embedded": "models",
    "survivor": "models commands routers apps",
    "guard": "guard",
    "postgres": "stores",
    "semantic": "embedders",
    "documents": "commands routers",
    "openai_compatible": "endpoints",
    "lab": "commands",
    "background": "learning commands",
    "playbook_files": "files routers",
    "sandbox": "models commands",
    "coding_agents": "commands",
    "reruns": "routers",
}
"""The hooks of each extension, one line an extension.

A command is looked for in this order: what other programs wait for comes first.
"""

OWN_PLAYBOOKS: Final = frozenset({"survivor"})
"""Apps of extensions whose users have a playbook each, whatever the settings say."""


class ModelsEntry(Protocol):
    """Models of this package that need no endpoint."""

    def build(self, name: str, settings: Settings | None = None) -> BaseLlm | None:
        """The model of that name, or None; without settings, by those of the process."""
        ...

    def says_label(self, answer: str) -> bool:
        """Whether an answer ends with the label of such a model."""
        ...


class EndpointsEntry(Protocol):
    """Models behind an OpenAI-compatible endpoint."""

    def build(self, name: str, **options: Any) -> BaseLlm:  # noqa: ANN401 - fields of the model
        """The model of that name; without options, at the endpoint of the settings."""
        ...

    async def tool_form(self, name: str, **options: Any) -> ToolForm:  # noqa: ANN401 - as above
        """How the model takes tools, from small requests to it; raises as a call does."""
        ...


class ToolGuardPort(Protocol):
    """Decides before each tool call."""

    async def check(
        self, tool: BaseTool, args: Mapping[str, Any], context: ToolContext, record: TurnRecord
    ) -> dict[str, Any] | None:
        """The result to give in place of running the tool; None when it may run."""
        ...

    def acts(self, tool: BaseTool) -> bool:
        """Whether a call may act: what is not known to be ours, or only to read, does."""
        ...

    def describe(
        self, pins: Sequence[ConstraintPin], tools: Sequence[BaseTool]
    ) -> Mapping[str, list[ReportedCheck]]:
        """What the rules do at the tools, in words, by the rule's id."""
        ...


class GuardEntry(Protocol):
    """The guard of tool calls."""

    def open(self, container: Container, judge: BaseLlm | None, mode: GuardMode) -> ToolGuardPort:
        """A guard in that mode; `judge` is the model that decides what the check cannot."""
        ...


class StoresEntry(Protocol):
    """A database server instead of a file."""

    def open_stores(
        self,
        settings: Settings,
        clock: Clock,
        embedder: Embedder | None,
        files: Mapping[str, Files],
    ) -> Stores:
        """The stores of the settings, not yet connected. Raises ConfigError."""
        ...

    def open_database(self, settings: Settings) -> ServerDatabase:
        """Their database alone, not yet connected. Raises ConfigError."""
        ...


class EmbeddersEntry(Protocol):
    """Recall by meaning."""

    def build_embedder(self, settings: Settings) -> Embedder | None:
        """The embedder of the settings, if any. Raises ConfigError that names the setting."""
        ...

    def kind(self, name: str) -> str:
        """'local', 'gemini' or 'openai-compatible'; raises ConfigError for another name."""
        ...

    def sqlite_dense(
        self,
        database: Any,  # noqa: ANN401 - storage's SqliteDatabase, whose room is above this one
        embedder: Embedder,
        *,
        memory_bytes: int,
    ) -> DenseSearch[Any]:
        """Search by meaning in a SQLite database."""
        ...


class LearningEntry(Protocol):
    """Learning after the answer, as durable jobs."""

    def open_queue(self, settings: Settings) -> LearningQueue:
        """The queue of the settings. Raises ConfigError."""
        ...

    def open_learning(
        self, container: Container, models: Mapping[Role, BaseLlm] | None
    ) -> TurnLearning:
        """Jobs of this process's turns. Raises ConfigError."""
        ...

    def kept_jobs(
        self, settings: Settings, own: LearningQueue | None
    ) -> AbstractAsyncContextManager[LearningQueue | None]:
        """The queue of existing jobs, also after learning was switched off; or None."""
        ...


class FilesEntry(Protocol):
    """Playbooks as files."""

    def read(self, source: str | Path, form: Form | None) -> Reading:
        """The playbook of a text, a file or a skill's folder, in a format or its own."""
        ...

    def write(self, playbook: Playbook, form: Form, section: str | None) -> Mapping[str, str]:
        """The files of an export by their names: one, or a skill for each section or for one."""
        ...

    def open_export(self, settings: Settings) -> PlaybookObserver:
        """What writes each new version to the data directory. Does no I/O."""
        ...


class CommandsEntry(Protocol):
    """Commands of `acc-ace`."""

    def commands(self, group: str) -> Sequence[str]:
        """Modules with a Typer `app` to add to a group; '' is the root."""
        ...


class RoutersEntry(Protocol):
    """Routes of the server."""

    def routers(self) -> Sequence[APIRouter]:
        """Routers to include."""
        ...


class AppsEntry(Protocol):
    """ADK apps beside ours, whose runs may be kept."""

    def measures(self, run: Path) -> Mapping[str, float | None]:
        """The measures of a kept run, as numbers. Raises StoreError or InputError."""
        ...

    def apps(self) -> Mapping[str, Callable[[Container], App]]:
        """What builds them, by name."""
        ...


E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True)
class Hook(Generic[E_co]):
    """Something that extensions may offer."""

    name: str


MODELS: Final[Hook[ModelsEntry]] = Hook("models")
ENDPOINTS: Final[Hook[EndpointsEntry]] = Hook("endpoints")
GUARD: Final[Hook[GuardEntry]] = Hook("guard")
STORES: Final[Hook[StoresEntry]] = Hook("stores")
EMBEDDERS: Final[Hook[EmbeddersEntry]] = Hook("embedders")
LEARNING: Final[Hook[LearningEntry]] = Hook("learning")
PLAYBOOK_FILES: Final[Hook[FilesEntry]] = Hook("files")
COMMANDS: Final[Hook[CommandsEntry]] = Hook("commands")
ROUTERS: Final[Hook[RoutersEntry]] = Hook("routers")
APPS: Final[Hook[AppsEntry]] = Hook("apps")


def offering(hook: Hook[E_co]) -> Iterator[E_co]:
    """The entries of the extensions with this hook, each imported when it is reached."""
    for name in _names(hook):
        if (entry := _entry(name)) is not None:
            yield cast(E_co, entry)


def is_offered(hook: Hook[Any]) -> bool:
    """Whether an extension with this hook is in this installation; imports none."""
    return any(map(_is_there, _names(hook)))


def only(hook: Hook[E_co], setting: str) -> E_co:
    """The one entry with this hook; ConfigError names the setting that asks for it, without one."""
    entry = next(offering(hook), None)
    if entry is None:
        raise absent(hook, setting)
    return entry


def absent(hook: Hook[Any], setting: str) -> ConfigError:
    """The error for a setting that asks for what no extension here offers."""
    names = " or ".join(repr(name) for name in _names(hook)) or f"with the hook {hook.name!r}"
    return ConfigError(
        f"{setting} needs the extension {names}, which is not in this installation: change the "
        "setting, or install a checkout that has its folder in agents/acc_ace/ext (make setup)"
    )


def how_to_install(extra: str) -> str:
    """How an extra is installed: the package is on no index."""
    return f"in a checkout: pip install -e '.[{extra}]'; from a wheel: pip install 'FILE[{extra}]'"


def _names(hook: Hook[Any]) -> list[str]:
    return [name for name, hooks in EXTENSIONS.items() if hook.name in hooks.split()]


def _is_there(name: str) -> bool:
    return find_spec("acc_ace.ext") is not None and find_spec(f"acc_ace.ext.{name}") is not None


@cache
def _entry(name: str) -> object | None:
    """The entry of an extension; None when it, or one that it builds on at last, is missing."""
    if not _is_there(name):
        return None
    entry: object = import_module(f"acc_ace.ext.{name}.entry").ENTRY
    return entry if all(map(_entry, getattr(entry, "builds_on", ()))) else None
