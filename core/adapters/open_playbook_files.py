"""Let files follow the playbooks, if the settings say so."""

import os

from config import Settings
from core.adapters.followed_erasure import FollowedErasure
from core.adapters.playbook_file_names import FOLDER
from core.ports.playbook_follower import PlaybookFollower
from core.ports.playbook_store import PlaybookReader
from core.ports.user_erasure import UserErasure


def open_playbook_files(settings: Settings) -> PlaybookFollower | None:
    """Whoever keeps files in the data directory in step, or None. Does no I/O.

    Unless it is set, SQLite's playbooks are followed: those of a database server are changed by
    many machines, whose disks may not last. Locks of files need a POSIX system.
    """
    wanted = (
        settings.store == "sqlite" if settings.playbook_files is None else (settings.playbook_files)
    )
    if not wanted or os.name != "posix":
        return None
    # Its file locks exist on POSIX systems only.
    from core.adapters.playbook_export_files import PlaybookFiles  # noqa: PLC0415

    return PlaybookFiles(settings.data_dir / FOLDER)


def followed(
    erasure: UserErasure,
    reader: PlaybookReader,
    follower: PlaybookFollower | None,
    settings: Settings,
) -> UserErasure:
    """The erasure, from the files too if there are any."""
    if follower is None:
        return erasure
    return FollowedErasure(erasure, reader, follower, settings.data_dir / FOLDER)
