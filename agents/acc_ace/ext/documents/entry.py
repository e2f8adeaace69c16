"""What documents offer: files in chunks that a user's sessions can recall."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter

_COMMANDS: Final = {"memory": ("acc_ace.ext.documents.documents",)}


class DocumentsEntry:
    """The hooks `commands` and `routers`."""

    def commands(self, group: str) -> Sequence[str]:
        """`memory import`, `list`, `show` and `remove`."""
        return _COMMANDS.get(group, ())

    def routers(self) -> Sequence[APIRouter]:
        """`/v1/memory/documents`."""
        from acc_ace.ext.documents.document_routes import router  # noqa: PLC0415

        return (router,)


ENTRY: Final = DocumentsEntry()
