"""Where stores still name a user: any table, any column of text, any file."""

from acc_ace.container import Container
from acc_ace.core.schemas.base import Tenant
from acc_ace.storage.playbooks.export_folders import FOLDER, directories_of
from acc_ace.storage.sql_rows import Rows
from tests.fakes import residue_postgres, residue_sqlite


async def residue(container: Container, tenant: Tenant) -> dict[str, int]:
    """Rows and files that name the user, by place; empty when nothing is held."""
    settings = container.settings

    def scan(rows: Rows) -> dict[str, int]:
        if settings.store == "postgres":
            return residue_postgres.scan_residue(rows.connection, tenant)
        return residue_sqlite.scan_residue_of(rows.connection, "memory", tenant)

    found = await container.database.read(scan)
    files = await container.files.count(tenant)
    followed = len(directories_of(settings.data_dir / FOLDER, tenant))
    return {
        **found,
        **{
            name: count for name, count in (("files", files), ("playbook_files", followed)) if count
        },
    }
