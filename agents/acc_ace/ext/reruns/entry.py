"""What re-runs offer: a turn's request, asked again."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter


class RerunsEntry:
    """The hook `routers`."""

    def routers(self) -> Sequence[APIRouter]:
        """`/v1/sessions/{session}/turns/{turn}/rerun`."""
        from acc_ace.ext.reruns.rerun_routes import router  # noqa: PLC0415 - with a server only

        return (router,)


ENTRY: Final = RerunsEntry()
