"""A tool call that was begun: what is left of a turn that died in it."""

from datetime import datetime
from typing import Any

from pydantic import Field

from acc_ace.schemas.base import Value


class ToolStart(Value):
    """One call, written down before it is made, until its turn is committed."""

    call_id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    turn: int
    started_at: datetime
