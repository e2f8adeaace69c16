"""Dependencies of the routes: the context, the caller, the owner of the data, permissions."""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Header, Path, Query, Request, Response
from google.adk.apps import App as AdkApp
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from pydantic import BeforeValidator, StringConstraints

from acc_ace.adk.bounded_turn import turn_taker
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.base import PlaybookScope, SessionKey, Tenant
from acc_ace.core.schemas.playbook import StoredPlaybook
from acc_ace.errors import ForbiddenError, InputError, NotFoundError
from acc_ace.server.identity import DEFAULT_USER, USER, name_of
from acc_ace.server.turn_gate import TurnGate

NAME_PATTERN = r"^[^\x00-\x1f\x7f/]+$"
"""Names of users and sessions: printable, and one segment of a path."""

NAME_LENGTH = 128


class HostedApps:
    """The apps whose turns this server takes: its own, and others that have the memory plugin."""

    def __init__(
        self, own: Conversation, loader: BaseAgentLoader, sessions: SqlSessionService
    ) -> None:
        self._own, self._loader, self._sessions = own, loader, sessions
        self._others: dict[str, tuple[AdkApp, Conversation]] = {}

    def __contains__(self, app: str) -> bool:
        """Whether the server hosts an app of that name; nothing is loaded."""
        return app == APP_NAME or app in self._loader.list_agents()

    def conversation(self, app: str) -> Conversation:
        """What takes the turns of an app.

        Raises InputError for an app that is not hosted here, or that has no memory plugin.
        """
        if app == APP_NAME:
            return self._own
        if app not in self:
            raise InputError(
                f"this server does not host the app '{app}': the process of its agent takes its "
                "turns; to take them here, set ACC_ACE_AGENT_DIR to the folder above it"
            )
        loaded = self._loader.load_agent(app)
        if not isinstance(loaded, AdkApp) or turn_taker(loaded) is None:
            raise InputError(f"the app '{app}' has no BoundedMemoryPlugin; talk to it at /dev-ui/")
        known, talk = self._others.get(app, (None, None))
        if talk is None or known is not loaded:  # Its files may have changed.
            talk = Conversation(self._own.container, app=loaded, session_service=self._sessions)
            self._others[app] = loaded, talk
        return talk

    async def close(self) -> None:
        """Close the plugins of the apps that were asked for; their stores are the server's."""
        for app, _ in self._others.values():
            if (taker := turn_taker(app)) is not None:
                await taker.close()


@dataclass(frozen=True)
class ServerContext:
    """The stores, the apps and the sessions over them, and the gate that counts turns."""

    container: Container
    conversation: Conversation
    """Ours; it reads and corrects what is stored for any app."""
    hosted: HostedApps
    session_service: SqlSessionService
    gate: TurnGate

    async def close(self) -> None:
        """End the running turns, as a shutdown does, then close everything."""
        await self.gate.drain(self.container.settings.limits.shutdown_grace_s)
        await self.hosted.close()
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


async def get_app(
    context: Context,
    user: User,
    app: Annotated[
        str,
        Query(
            min_length=1,
            max_length=NAME_LENGTH,
            pattern=NAME_PATTERN,
            description="App whose data is meant: this one, or one with the memory plugin.",
        ),
    ] = APP_NAME,
) -> str:
    """The app that the request names, hosted here or stored; raises NotFoundError for another."""
    is_known = app == APP_NAME or await context.container.directory.knows_app(app)
    if is_known or app in context.hosted:
        return app
    yours = ", ".join(sorted({APP_NAME, *await context.container.erasure.apps(user)}))
    raise NotFoundError(f"nothing is stored for an app '{app}'; apps with data of yours: {yours}")


App = Annotated[str, Depends(get_app)]


def get_tenant(app: App, user: User) -> Tenant:
    """The user of the app."""
    return Tenant(app, user)


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

Whose = Annotated[
    Literal["app", "user"] | None,
    Query(description="The app's shared playbook, or your own (default: the one turns use)."),
]

_ETAG: Final = re.compile(r'(?:W/)?"?v?(\d{1,9})"?')


def get_reader(context: Context, app: App, user: User, scope: Whose = None) -> PlaybookService:
    """The playbook that the request names, to look at."""
    container = context.container
    chosen = PlaybookScope(app, user if scope == "user" else None)
    return PlaybookService(
        container.playbooks,
        chosen if scope else container.playbook_scope(app, user),
        person=user,
        limits=container.settings.limits,
        clock=container.clock,
    )


Reader = Annotated[PlaybookService, Depends(get_reader)]


def get_editor(context: Context, user: User, service: Reader) -> PlaybookService:
    """The same, to change it. Raises ForbiddenError for one who may not."""
    if service.scope.user is None and not may_edit(context.container.settings, user):
        raise ForbiddenError(
            f"user {user!r} may not change the app's shared playbook or see what "
            "is held for it; ACC_ACE_PLAYBOOK_EDITORS names who may. Use 'scope=user' for your own"
        )
    return service


Editor = Annotated[PlaybookService, Depends(get_editor)]


def may_edit(settings: Settings, user: str) -> bool:
    """Whether a user may change the shared playbook: those named; without tokens everyone."""
    return _is_among(settings.playbook_editors, settings, user)


def may_operate(settings: Settings, user: str) -> bool:
    """Whether a user may read what concerns the whole server, in the same way."""
    return _is_among(settings.operators, settings, user)


def _is_among(named: tuple[str, ...], settings: Settings, user: str) -> bool:
    return user in named if named else not settings.auth_tokens


def get_operator(context: Context, user: User) -> str:
    """A user who may read what concerns the whole server. Raises ForbiddenError."""
    if not may_operate(context.container.settings, user):
        raise ForbiddenError(f"user {user!r} is no operator; ACC_ACE_OPERATORS names who is")
    return user


Operator = Annotated[str, Depends(get_operator)]


def get_expected(
    if_match: Annotated[
        str | None, Header(description='Version the change is based on, as in ETag: "v7".')
    ] = None,
) -> int | None:
    """The version that the change is to follow; None for whatever is current."""
    if if_match is None or if_match.strip() == "*":
        return None
    seen = _ETAG.fullmatch(if_match.strip())
    if seen is None:
        raise InputError('If-Match must be the ETag of a playbook, such as "v7"')
    return int(seen[1])


Expected = Annotated[int | None, Depends(get_expected)]


def set_etag(response: Response, stored: StoredPlaybook) -> None:
    """Put the version into the response's ETag."""
    response.headers["ETag"] = f'"v{stored.version}"'
