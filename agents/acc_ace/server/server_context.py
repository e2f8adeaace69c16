"""What the routes need, and who is asking: the dependencies of every `/v1` route."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from pydantic import BeforeValidator, StringConstraints

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import InputError
from acc_ace.schemas.base import SessionKey, Tenant
from acc_ace.server.identity import DEFAULT_USER, USER, name_of
from acc_ace.server.turn_gate import TurnGate

NAME_PATTERN = r"^[^\x00-\x1f\x7f/]+$"
"""Names of users and sessions: printable, and one segment of a path."""

NAME_LENGTH = 128


@dataclass(frozen=True)
class ServerContext:
    """The stores, the conversation and the sessions over them, and the gate that counts turns."""

    container: Container
    conversation: Conversation
    session_service: SqlSessionService
    gate: TurnGate

    async def close(self) -> None:
        """End the running turns, as a shutdown does, then close everything."""
        await self.gate.drain(self.container.settings.limits.shutdown_grace_s)
        await self.conversation.drain(0)
        await self.conversation.close()
        await self.session_service.close()


def get_context(request: Request) -> ServerContext:
    """The context that `create_app` put on the app."""
    context: ServerContext = request.app.state.acc_ace
    return context


Context = Annotated[ServerContext, Depends(get_context)]

_HeaderName = Annotated[
    str,
    StringConstraints(max_length=NAME_LENGTH, pattern=NAME_PATTERN),
    BeforeValidator(lambda value: name_of(value.encode("latin-1"))),
]
"""A name in a header: Starlette reads the bytes as Latin-1, clients write UTF-8."""


def get_user(
    request: Request,
    user: Annotated[
        str | None,
        Query(
            max_length=NAME_LENGTH,
            pattern=NAME_PATTERN,
            description="Who is asking, while no tokens are set; see also `X-User`.",
        ),
    ] = None,
    x_user: Annotated[
        _HeaderName | None,
        Header(
            description="Who is asking, while no tokens are set; in UTF-8. With tokens, the token "
            "decides.",
        ),
    ] = None,
) -> str:
    """The user: the token's, else the one named by header or query, else 'user'."""
    proven: str | None = request.scope.get(USER)
    if proven is not None:
        return proven
    if user is not None and x_user is not None and user != x_user:
        raise InputError("header X-User and query 'user' name different users; send one of them")
    return x_user or user or DEFAULT_USER


User = Annotated[str, Depends(get_user)]


def get_tenant(user: User) -> Tenant:
    """The user of our app."""
    return Tenant(APP_NAME, user)


CurrentTenant = Annotated[Tenant, Depends(get_tenant)]

SessionName = Annotated[
    str,
    Path(
        alias="session",
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=NAME_PATTERN,
        description="Session id, chosen by the client.",
        examples=["incident-42"],
    ),
]


def get_key(tenant: CurrentTenant, session: SessionName) -> SessionKey:
    """The session of the path, of the user who asks."""
    return SessionKey(tenant.app, tenant.user, session)


Key = Annotated[SessionKey, Depends(get_key)]
