"""Let files follow the playbooks, if the settings say so."""

import os

from acc_ace.config import Settings
from acc_ace.playbook.playbook_observer import PlaybookFollower
from acc_ace.storage.playbooks.playbook_file_names import FOLDER


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
    from acc_ace.storage.playbooks.playbook_export_files import PlaybookFiles  # noqa: PLC0415

    return PlaybookFiles(settings.data_dir / FOLDER)
