"""Names of playbooks as names of directories."""

import hashlib
from pathlib import Path
from urllib.parse import quote

from acc_ace.schemas.base import PlaybookScope, Tenant

FOLDER = "playbook"
"""Where the files are in the data directory."""

_LONGEST = 72
"""Bytes of one part of a name; three of them stay below what file systems take."""


def name_of(scope: PlaybookScope) -> str:
    """'app', 'app+user', 'app@branch' or 'app+user@branch', each part escaped."""
    user = "" if scope.user is None else f"+{part(scope.user)}"
    branch = f"@{part(scope.branch)}" if scope.branch else ""
    return f"{part(scope.app)}{user}{branch}"


def directories_of(root: Path, tenant: Tenant) -> list[str]:
    """The names of a user's own playbooks, branches included, that have files."""
    own = name_of(PlaybookScope(tenant.app, tenant.user))
    found = {
        path.name for part in ("current", "deltas", "archive") for path in root.glob(f"{part}/*")
    }
    return sorted(name for name in found if name == own or name.startswith(f"{own}@"))


def is_of_other_app(path: Path, app: str) -> bool:
    """Whether a path below the data directory is a file of the playbooks of another app."""
    if len(path.parts) < 3 or path.parts[0] != FOLDER:
        return False
    return path.parts[2].partition("+")[0].partition("@")[0] != part(app)


def part(text: str) -> str:
    """A part with no separator, no path and no surprise; a long one ends in its digest."""
    name = quote(text, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if len(name) <= _LONGEST:
        return name
    return f"{name[:40]}%{hashlib.sha256(name.encode()).hexdigest()[:30]}"
