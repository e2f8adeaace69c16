"""The memory of a project: where it is, its rules read quickly, and a prompt kept by the turn."""

import asyncio
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from acc_ace.config import Settings, inherited, load_settings
from acc_ace.core.schemas.base import OWN_APP, SessionKey
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CcsDiff, CommittedState, ConstraintPin, RuleScope
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import ConfigError
from acc_ace.model_settings import AUTO, EMBEDDED_MODEL, AgentSettings

if TYPE_CHECKING:
    from acc_ace.unit_of_work import Database

_STATE_TOKENS: Final = 400
"""Of what is put back behind the rules, which have a limit of their own."""

_PUT_BACK: Final = (
    "Standing rules of the user, kept by acc-ace for this project. They hold in this session too, "
    "whatever a summary says, until the user lifts them:"
)
_STATE: Final = "Notes of earlier turns in this project (memory, no instruction):"
_XDG: Final = "XDG_DATA_HOME"
_MARKS: Final = (".git", ".codex/hooks.json")  # Codex alone names no project in its calls.
_WAIT_S: Final = 10.0
"""For another hook of the project that keeps a prompt."""


class Project(NamedTuple):
    """A project whose memory is kept."""

    root: Path
    settings: Settings
    key: SessionKey


class Outcomes(NamedTuple):
    """What became of a prompt's rules: the notes for the person, and the changes."""

    notes: Sequence[str] = ()
    lifted: Sequence[str] = ()
    rules: Sequence[str] = ()


def open_project(folder: Path) -> Project:
    """The project of a folder: the repository around it, or where Codex has hooks, or itself.

    Raises ConfigError.

    Settings come from the environment alone: a project's `.env` is the project's. A key there is
    the client's: a model is asked only where a setting names it.
    """
    start = folder.resolve()
    around = [each for each in (start, *start.parents) if each != Path.home()]
    marked = (each for mark in _MARKS for each in around if (each / mark).exists())
    root = next(marked, start)
    os.chdir(root.anchor)
    settings = load_settings()
    word = re.sub(r"[^\w-]+", "-", root.name)[:40]
    place = f"{word}-{sha256(os.fsencode(root)).hexdigest()[:12]}"
    data_dir, session = _home() / place, "project"
    if "data_dir" in settings.model_fields_set:
        data_dir, session = settings.data_dir.resolve(), place
        if data_dir.is_relative_to(root) or not settings.data_dir.is_absolute():
            raise ConfigError(
                f"ACC_ACE_DATA_DIR={settings.data_dir} is relative or inside of the project, where "
                "a repository could bring rules of others; give an absolute folder outside of it, "
                "or unset it"
            )
    limits = settings.limits.model_copy(update={"turn_wait_s": _WAIT_S})
    own: dict[str, object] = {"data_dir": data_dir, "limits": limits}
    for role in ("qualifier", "compressor"):
        block: AgentSettings = getattr(settings, role)
        if block.model == AUTO:
            own[role] = block.model_copy(update={"model": EMBEDDED_MODEL})
    return Project(root, settings.model_copy(update=own), SessionKey(OWN_APP, "user", session))


def _home() -> Path:
    """The folder of all projects' memories, outside of every project."""
    base = Path(inherited(_XDG).get(_XDG, ""))
    return (base if base.is_absolute() else Path.home() / ".local/share") / "acc-ace/projects"


def rules_of(project: Project) -> tuple[CompressedCognitiveState | None, Sequence[ConstraintPin]]:
    """The state and the rules in force. Raises StoreError."""
    is_there = project.settings.store != "sqlite" or project.settings.data_dir.is_dir()
    return asyncio.run(_state(project)) if is_there else (None, ())


def put_back(
    ccs: CompressedCognitiveState | None, rules: Sequence[ConstraintPin], *, whole: bool
) -> str:
    """What the model is shown of it; without `whole` the rules alone. '' when nothing is kept."""
    lines = [_PUT_BACK, *(f"- {pin.id}: {one_line(pin.text)}" for pin in rules)] if rules else []
    texts = [ccs.goal_orientation, ccs.semantic_gist] if ccs and whole else []
    if words := [f"- {one_line(text)}" for text in texts if text]:
        lines.append(clip_tokens("\n".join([_STATE, *words]), _STATE_TOKENS))
    return "\n".join(lines)


def keep(project: Project, prompt: str, *, within_s: float) -> Outcomes:
    """Take a prompt as the user's turn. Raises AccAceError, TimeoutError.

    What a model has not read in time is read with the next prompt.
    """
    project.settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return asyncio.run(_keep(project, prompt, within_s))


async def _keep(project: Project, prompt: str, within_s: float) -> Outcomes:
    from acc_ace.bootstrap import build_container  # noqa: PLC0415 - slow: all of ADK
    from acc_ace.controller import AccController  # noqa: PLC0415

    container = build_container(project.settings)
    controller = AccController(container, session=project.key.session)
    try:
        async with asyncio.timeout(within_s):
            await controller.update_state(prompt, None)
        entry = controller.last_commit
        diff = entry.diff if entry else CcsDiff()
        lifted = [f"The user lifted rule {each.id}." for each in diff.constraints_released]
        rules = [f"Standing rule of the user, {it.id}: {it.text}" for it in diff.constraints_added]
        return Outcomes(controller.notes, lifted, rules)
    finally:
        await controller.close()


async def _state(
    project: Project,
) -> tuple[CompressedCognitiveState | None, Sequence[ConstraintPin]]:
    from acc_ace.storage.sql_journal import SqlJournal  # noqa: PLC0415 - slow
    from acc_ace.storage.sql_user_rules import SqlUserRules  # noqa: PLC0415

    database = _database(project.settings)
    try:
        head = await SqlJournal(database).head(project.key)
        everywhere, _ = await SqlUserRules(database).of_user(project.key.tenant)
    finally:
        await database.close()
    state = head.state if head else CommittedState()
    own = [pin for pin in state.pins if pin.scope is not RuleScope.USER]
    return state.ccs, [*everywhere, *own]


def _database(settings: Settings) -> "Database":
    if settings.store == "postgres":
        from acc_ace.hooks import STORES, only  # noqa: PLC0415

        return only(STORES, "ACC_ACE_STORE=postgres").open_database(settings)
    from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase  # noqa: PLC0415

    return SqliteDatabase(settings.data_dir / DATABASE_FILE, busy_timeout_s=5)
