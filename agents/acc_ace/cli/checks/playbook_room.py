"""Check how full the playbooks are, and what was archived to make room. Read-only."""

import json
from collections import Counter
from collections.abc import Iterator

from acc_ace.cli.checks.installation import CheckResult, note, ok
from acc_ace.cli.checks.storage import from_memory
from acc_ace.config import Settings
from acc_ace.core.playbook.curation.curation_record import MAKES_ROOM, OVER_BUDGET

_BULLETS = (
    "SELECT p.id, p.app, p.user_id, count(b.bullet_id) FROM playbooks p "
    "LEFT JOIN playbook_bullets b ON b.playbook = p.id WHERE p.branch = '' "
    "GROUP BY p.id, p.app, p.user_id ORDER BY p.app, p.user_id"
)
_ARCHIVED = (
    "SELECT playbook, body FROM playbook_deltas WHERE kind = 'ARCHIVE' AND standing "
    "ORDER BY playbook, seq DESC LIMIT 10000"
)
_FIX = (
    "see 'acc-ace playbook stats'; restore what is missed, pin it, or raise "
    "ACC_ACE_LIMITS__PLAYBOOK_BULLETS and …PLAYBOOK_TOKENS"
)


def check_playbooks(settings: Settings) -> Iterator[CheckResult]:
    """Whether bullets were archived to make room."""
    rows = from_memory(settings, lambda rows: (rows.all(_BULLETS), rows.all(_ARCHIVED)))
    bullets, archived = rows or ([], [])
    left = Counter(
        playbook
        for playbook, body in archived
        if json.loads(body).get("reason") in {MAKES_ROOM, OVER_BUDGET}
    )
    most = settings.limits.playbook_bullets
    for playbook, app, user, count in bullets:
        of = f"{app}, user {user}" if user else app
        shown = f"{of}: {count} of at most {most} lessons"
        made_room = left[playbook]
        if made_room:
            yield note("playbook", f"{shown}; it was full: {made_room} left to make room", _FIX)
        else:
            yield ok("playbook", shown)
