"""Write the rows of artifacts in SQLite."""

import sqlite3
from typing import NamedTuple

from core.adapters.tenant_totals import prefixed
from core.domain.priors import ends_asking, speaker_terms
from schemas.artifact import Artifact
from schemas.tenancy import Tenant


class ArtifactRow(NamedTuple):
    """An artifact with its search terms and the JSON that is stored."""

    artifact: Artifact
    terms: str
    body: str


def insert_row(connection: sqlite3.Connection, row: ArtifactRow) -> None:
    """Write a row in place of one of the same id, with its terms in the index."""
    artifact = row.artifact
    connection.execute(
        "INSERT INTO tenants (app, user) VALUES (?, ?) ON CONFLICT DO NOTHING", artifact.tenant
    )
    tenant = tenant_id(connection, artifact.tenant)
    connection.execute(
        "DELETE FROM artifacts WHERE tenant = ? AND artifact_id = ?",
        (tenant, artifact.artifact_id),
    )
    identity = connection.execute(
        "INSERT INTO artifacts "
        "(tenant, artifact_id, session, kind, turn, created_at, speaker, asks, terms, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            artifact.artifact_id,
            artifact.session,
            artifact.kind.value,
            artifact.turn,
            artifact.created_at.timestamp(),
            speaker_terms(artifact.content),
            ends_asking(artifact.content),
            len(row.terms.split()),
            row.body,
        ),
    ).lastrowid
    prefix = prefixed(tenant or 0, "")
    connection.execute(
        "INSERT INTO artifact_terms (rowid, terms) VALUES (?, ?)",
        (identity, " ".join(f"{prefix}{term}" for term in row.terms.split())),
    )


def tenant_id(connection: sqlite3.Connection, tenant: Tenant) -> int | None:
    """The number of a tenant; None when it never stored anything."""
    row = connection.execute("SELECT id FROM tenants WHERE app = ? AND user = ?", tenant).fetchone()
    return row[0] if row else None
