"""The databases of earlier programs, as files that may be changed."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from acc_ace import Conversation
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.state import CCS

DATABASES = Path(__file__).parents[1] / "data" / "databases"
SCHEMAS = sorted(int(path.name.split("_")[1][:3]) for path in DATABASES.glob("schema_*.db.z"))
"""Each schema that was landed."""

_OURS = """
    SELECT name, sql FROM sqlite_master
     WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'artifact_terms_%' ORDER BY name
"""


def content(schema: int) -> bytes:
    return zlib.decompress((DATABASES / f"schema_{schema}.db.z").read_bytes())


def unpack(schema: int, folder: Path) -> Path:
    """Write a database into a data directory."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memory.db"
    path.write_bytes(content(schema))
    return path


def talk_in(folder: Path) -> Conversation:
    """A conversation with the key-free model over the stores of a data directory."""
    return Conversation(build_container(Settings(store="sqlite", data_dir=folder)))


def structure(path: Path) -> list[tuple[str, str]]:
    """Every table, index and trigger, as its statement says."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(_OURS).fetchall()


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, without records of compressors and copies of CCS_t."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for name, statement in connection.execute(_OURS).fetchall()
            if (statement or "").startswith("CREATE TABLE") and name != "ccm_records"
        ]
        rows = {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608 - names of the schema
            for name in tables
        }
    copies = rows["adk_session_state"]
    return {**rows, "adk_session_state": [row for row in copies if row[1] != CCS]}
