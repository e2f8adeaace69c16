"""Names of playbooks as names of directories."""

import hashlib
from pathlib import Path
from urllib.parse import quote

from schemas.tenancy import PlaybookScope, Tenant

_LONGEST = 72
"""Bytes of one part of a name; three of them stay below what file systems take."""


def name_of(scope: PlaybookScope) -> str:
    """'app', 'app+user', 'app@branch' or 'app+user@branch', each part escaped."""
    user = "" if scope.user is None else f"+{_part(scope.user)}"
    branch = f"@{_part(scope.branch)}" if scope.branch else ""
    return f"{_part(scope.app)}{user}{branch}"


def directories_of(root: Path, tenant: Tenant) -> list[str]:
    """The names of a user's own playbooks, branches included, that have files."""
    own = name_of(PlaybookScope(tenant.app, tenant.user))
    found = {
        path.name for part in ("current", "deltas", "archive") for path in root.glob(f"{part}/*")
    }
    return sorted(name for name in found if name == own or name.startswith(f"{own}@"))


def _part(text: str) -> str:
    """A part with no separator, no path and no surprise; a long one ends in its digest."""
    name = quote(text, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if len(name) <= _LONGEST:
        return name
    return f"{name[:40]}%{hashlib.sha256(name.encode()).hexdigest()[:30]}"
