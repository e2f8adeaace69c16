"""Whose playbook a request is about, and whether the one who asks may change it."""

import re
from typing import Annotated, Final, Literal

from fastapi import Depends, Header, Query, Response

from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME
from acc_ace.errors import ForbiddenError, InputError
from acc_ace.playbook.playbook_merge import MAIN, check_branch_name
from acc_ace.playbook.playbook_service import PlaybookGovernor
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.playbook import StoredPlaybook
from acc_ace.server.server_context import Context, User

Whose = Annotated[
    Literal["app", "user"] | None,
    Query(description="The app's shared playbook, or your own (default: the one turns use)."),
]
BranchName = Annotated[str | None, Query(max_length=64, description="Branch (default: main).")]

_ETAG: Final = re.compile(r'(?:W/)?"?v?(\d{1,9})"?')


def get_reader(
    context: Context, user: User, scope: Whose = None, branch: BranchName = None
) -> PlaybookGovernor:
    """The playbook that the request names, to look at."""
    settings = context.container.settings
    whose = scope or settings.playbook_scope
    name = "" if branch is None or branch == MAIN else branch
    if name:
        check_branch_name(name)
    return PlaybookGovernor(
        context.container.playbooks,
        PlaybookScope(APP_NAME, user if whose == "user" else None, name),
        person=user,
        limits=settings.limits,
        clock=context.container.clock,
    )


Reader = Annotated[PlaybookGovernor, Depends(get_reader)]


def get_editor(context: Context, user: User, governor: Reader) -> PlaybookGovernor:
    """The same, to change it. Raises ForbiddenError for one who may not."""
    if governor.scope.user is None and not may_edit(context.container.settings, user):
        raise ForbiddenError(
            f"user {user!r} may not change the app's shared playbook or see what "
            "is held for it; ACC_ACE_PLAYBOOK_EDITORS names who may. Use 'scope=user' for your own"
        )
    return governor


Editor = Annotated[PlaybookGovernor, Depends(get_editor)]


def may_edit(settings: Settings, user: str) -> bool:
    """Whether a user may change the shared playbook: those named; without tokens everybody."""
    if settings.playbook_editors:
        return user in settings.playbook_editors
    return not settings.auth_tokens


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


def tell_version(response: Response, stored: StoredPlaybook) -> None:
    """Put the version into the response's ETag."""
    response.headers["ETag"] = f'"v{stored.version}"'


def required_branch(governor: PlaybookGovernor) -> None:
    """Raise InputError for the main branch."""
    if not governor.scope.branch:
        raise InputError("give a branch name")
