"""What playbook files offer: reading and writing a file, and the export beside each commit."""

from collections.abc import Sequence
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

    def read(self, text: str, form: Form | None) -> Reading:
        """The playbook of a file. Raises InputError."""
        return forms.read(text, form)

    def write(self, playbook: Playbook, form: Form) -> str:
        """The playbook as a text."""
        return forms.write(playbook, form)

    def open_export(self, settings: Settings) -> PlaybookFiles:
        """What writes each new version to the data directory. Does no I/O."""
        root = settings.data_dir / FOLDER
        return PlaybookFiles(root, max_sections=settings.playbook_max_sections)

    def routers(self) -> "Sequence[APIRouter]":
        """`/v1/playbook/export` and `/import`."""
        from acc_ace.ext.playbook_files.file_routes import router  # noqa: PLC0415

        return (router,)


ENTRY: Final = PlaybookFilesEntry()
