"""What playbook files offer: reading and writing a file, and the export beside each commit."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acc_ace.config import Settings
from acc_ace.core.playbook.playbook_form import Form, Reading
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.ext.playbook_files import forms
from acc_ace.ext.playbook_files.export_files import PlaybookFiles
from acc_ace.storage.playbooks.export_folders import FOLDER

if TYPE_CHECKING:
    from fastapi import APIRouter


class PlaybookFilesEntry:
    """The hooks `files` and `routers`."""

    def read(self, source: str | Path, form: Form | None) -> Reading:
        """The playbook of a text, a file or a skill's folder. Raises InputError."""
        return forms.read(source, form)

    def write(self, playbook: Playbook, form: Form, section: str | None) -> Mapping[str, str]:
        """The files of an export, by their names."""
        return forms.write_files(playbook, form, section)

    def open_export(self, settings: Settings) -> PlaybookFiles:
        """What writes each new version to the data directory. Does no I/O."""
        root = settings.data_dir / FOLDER
        return PlaybookFiles(root, max_sections=settings.playbook_max_sections)

    def routers(self) -> "Sequence[APIRouter]":
        """`/v1/playbook/export` and `/import`."""
        from acc_ace.ext.playbook_files.file_routes import router  # noqa: PLC0415

        return (router,)


ENTRY: Final = PlaybookFilesEntry()
