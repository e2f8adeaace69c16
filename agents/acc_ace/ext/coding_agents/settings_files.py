"""Our entries in a client's settings file: written, found and taken away; nothing else changes."""

import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from acc_ace.errors import InputError
from acc_ace.ext.coding_agents.clients import MODULE, Client
from acc_ace.ext.coding_agents.json_splice import added, removed


def install(client: Client, folder: Path) -> bool:
    """Write our entries below a project or home; False if they were there. Raises InputError."""
    path = _file(client, folder)
    before = _read(path)
    text = before or "{}\n"
    for event in client.events:
        if client.entry not in _hooks(text).get(event, []):
            text = added(removed(text, ("hooks", event), is_ours), ("hooks", event), client.entry)
    if text == before:
        return False
    _write(path, text)
    return True


def remove(client: Client, folder: Path) -> bool:
    """Take our entries away; a file that is empty then goes. Raises InputError."""
    path = _file(client, folder)
    before = _read(path)
    text = before
    for event in _hooks(before):
        text = removed(text, ("hooks", event), is_ours)
    if text == before:
        return False
    if json.loads(text) == {} and not (folder / client.file).is_symlink():
        path.unlink()
        with suppress(OSError):  # It holds other things.
            path.parent.rmdir()
        return True
    _write(path, text)
    return True


def installed(client: Client, folder: Path) -> list[str]:
    """The events with an entry of ours. Raises InputError."""
    text = _read(_file(client, folder))
    return [event for event in client.events if any(map(is_ours, _hooks(text).get(event, [])))]


def is_ours(entry: Any) -> bool:  # noqa: ANN401 - JSON of a file
    """Whether a group of hooks is ours."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    commands = [each.get("command") for each in hooks or () if isinstance(each, dict)]
    return bool(commands) and all(f"-m {MODULE} " in f"{command} " for command in commands)


def _file(client: Client, folder: Path) -> Path:
    """The file; what a link leads to is written, and the link stays."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the project's with --project")
    path = (folder / client.file).resolve()
    if not any(path.is_relative_to(each.resolve()) for each in (folder, Path.home())):
        raise InputError(f"{folder / client.file} leads out of the project, to {path}; remove it")
    return path


def _read(path: Path) -> str:
    """The text, '' where there is none. Raises InputError for what is no client's settings."""
    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        hooks = _hooks(text)
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise InputError(
            f"{path} is not valid JSON, or cannot be read ({error}); correct it, comments "
            "included, and call again: nothing was changed"
        ) from error
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise InputError(
            f"{path} has no list for each event under 'hooks', as the client wants it; correct it "
            "and call again: nothing was changed"
        )
    return text if text.strip() else ""


def _hooks(text: str) -> dict[str, list[Any]]:
    hooks: dict[str, list[Any]] = json.loads(text if text.strip() else "{}").get("hooks", {})
    return hooks


def _write(path: Path, text: str) -> None:
    """Replace the file at once, with the mode that it had."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error}; nothing was changed") from error
