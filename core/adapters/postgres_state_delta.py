"""A change of the state of ADK's sessions in PostgreSQL, by whom it belongs to."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.adk.sessions._session_util import extract_json_safe_state_delta

from core.adapters.postgres_schema import Connection
from core.adapters.postgres_session_rows import write_shared_state, write_state
from schemas.tenancy import SessionKey


class StateDelta(NamedTuple):
    """A change of state, by whom it belongs to; keys without their prefix."""

    app: Mapping[str, Any]
    user: Mapping[str, Any]
    session: Mapping[str, Any]


def state_delta(state: dict[str, Any]) -> StateDelta:
    """Take a change apart."""
    parts = extract_json_safe_state_delta(state)
    return StateDelta(parts["app"], parts["user"], parts["session"])


def write_delta(connection: Connection, key: SessionKey, delta: StateDelta) -> None:
    """Write a change to the rows that it belongs to."""
    write_state(connection, key, _encoded(delta.session))
    write_shared_state(connection, key.app, key.user, _encoded(delta.user))
    write_shared_state(connection, key.app, None, _encoded(delta.app))


def _encoded(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in values.items()}
