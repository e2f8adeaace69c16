"""Vectors of artifacts in SQLite: candidates by sign bits in memory, rescored exactly from disk.

The signs of a tenant's vectors are loaded at its first search within a memory budget; later
searches load the ones added since, also by other processes. Needs numpy, but no SQLite
extension.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.text.duplicates import Vector
from acc_ace.ext.semantic.sign_index import (
    Floats,
    SignIndex,
    bytes_per_vector,
    centred_cosines,
    decode_float16,
    drawn_mean,
    encode_float16,
    floats,
)
from acc_ace.memory.artifact_store import Embedded, Unembedded
from acc_ace.storage.dense_search import ranges_without
from acc_ace.storage.sql_rows import decode, on_connection
from acc_ace.storage.sqlite.database import SqliteDatabase

_READ_AT_ONCE = 8_192
"""Vectors per batch when signs are loaded: 6 MB for a dimension of 384."""

_SAMPLE = 2_048
"""Signs are relative to the mean of this many newest vectors."""

_MIN_RESCORED, _MAX_RESCORED = 384, 1_024
"""Bounds of the candidates rescored exactly; in between, one in 200 of all vectors."""

_STALE_SHARE = 0.02
"""Share of deleted vectors tolerated in an index; they are skipped when read."""

_MIN_STALE = 64


# CROSS JOIN fixes the join order: from the few requested rows to their vectors.
_OF_ROWS = """
    SELECT artifact, vector
      FROM json_each(?) CROSS JOIN artifact_vectors ON artifact = value WHERE model = ?
"""

_OF_ARTIFACTS = """
    SELECT artifact_id, vector
      FROM json_each(?2) CROSS JOIN artifacts ON artifacts.tenant = ?1 AND artifact_id = value
     CROSS JOIN artifact_vectors ON artifact_vectors.artifact = artifacts.id
     WHERE model = ?3
"""

_Key = TypeVar("_Key", int, str)

KeptVector = tuple[str, bytes]
"""The id of an artifact and the stored vector of one of its chunks."""


class _Loaded(NamedTuple):
    signs: SignIndex
    last: int
    """The id of the newest loaded vector."""
    sampled: int
    """Number of vectors averaged for the centre."""


class SqliteVectors:
    """A VectorStore in a SqliteDatabase, and the search over it."""

    def __init__(self, database: SqliteDatabase, *, memory_bytes: int) -> None:
        self._database = database
        self._memory = memory_bytes
        # Used only on the database's thread.
        self._loaded: OrderedDict[tuple[int, int], _Loaded] = OrderedDict()

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> Sequence[Unembedded]:
        """Artifacts of any tenant to embed: those without vectors, then those of other models."""

        def work(connection: sqlite3.Connection) -> list[Unembedded]:
            number = model_number(connection, model, dimension)
            rows: list[tuple[int, str]] = []
            for lowest, highest in ranges_without(number):
                rows += connection.execute(
                    "SELECT id, body FROM artifacts "
                    "WHERE embedded BETWEEN ? AND ? AND NOT retired "
                    "ORDER BY embedded DESC, id DESC LIMIT ?",
                    (lowest, highest, limit - len(rows)),
                ).fetchall()
            return [_unembedded(connection, row, body) for row, body in rows]

        return await self._database.read(on_connection(work))

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors, replacing all older ones of these artifacts."""
        rows = [
            (item.row, [encode_float16(vector) for vector in item.vectors]) for item in embedded
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO vector_models (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (model, dimension),
            )
            number = model_number(connection, model, dimension)
            for row, vectors in rows:
                _keep(connection, number, row, vectors)

        await self._database.write(on_connection(work))

    def search(
        self,
        connection: sqlite3.Connection,
        tenant: int,
        model: int,
        query: Vector,
    ) -> dict[int, float]:
        """The cosines of the artifacts nearest to the query, by row. On the database's thread.

        Hundreds of them, best first, ties newest first: candidates by sign, rescored by exact
        cosines of vectors centred on the tenant's mean.
        """
        loaded = self.refresh(connection, tenant, model, len(query))
        count = min(max(loaded.signs.size // 200, _MIN_RESCORED), _MAX_RESCORED)
        rows = sorted(loaded.signs.nearest(floats(query), count))
        records = connection.execute(_OF_ROWS, (json.dumps(rows), model)).fetchall()
        return _best(records[::-1], query, loaded.signs.mean)

    def kept(
        self,
        connection: sqlite3.Connection,
        tenant: int,
        model: int,
        artifact_ids: Iterable[str],
    ) -> list[KeptVector]:
        """The stored vectors of those of these artifacts that have any."""
        values = (tenant, json.dumps(list(artifact_ids)), model)
        return connection.execute(_OF_ARTIFACTS, values).fetchall()

    def cosines(
        self, tenant: int, model: int, query: Vector, vectors: Sequence[KeptVector]
    ) -> dict[str, float]:
        """The cosine of each artifact with a vector; call after `search`, on the same thread.

        Empty for a tenant erased since the search started.
        """
        loaded = self._loaded.get((tenant, model))
        return _best(vectors, query, loaded.signs.mean) if loaded else {}

    def forget(self, tenant: int) -> None:
        """Drop a tenant's signs; on the database's thread."""
        for key in [key for key in self._loaded if key[0] == tenant]:
            del self._loaded[key]

    def refresh(
        self, connection: sqlite3.Connection, tenant: int, model: int, dimension: int
    ) -> _Loaded:
        """The tenant's signs with what was stored since, within the memory budget."""
        key = tenant, model
        count = _count(connection, tenant, model)
        loaded = self._loaded.get(key)
        if loaded is None or self._is_outgrown(loaded, count):
            loaded = self._new_index(connection, tenant, model, dimension)
        loaded = self._load_newer(connection, tenant, model, loaded)
        if loaded.signs.size - count > max(_MIN_STALE, _STALE_SHARE * count):
            loaded = self._new_index(connection, tenant, model, dimension)
            loaded = self._load_newer(connection, tenant, model, loaded)
        self._loaded[key] = loaded
        self._loaded.move_to_end(key)
        self._forget_erased(connection)
        self._evict()
        return loaded

    def _is_outgrown(self, loaded: _Loaded, count: int) -> bool:
        """Whether the centre is based on too few vectors, or the index exceeds the budget."""
        young = loaded.sampled < _SAMPLE and count >= 2 * loaded.sampled
        room = self._memory // bytes_per_vector(loaded.signs.dimension)
        return young or loaded.signs.size > room + room // 8

    def _new_index(
        self, connection: sqlite3.Connection, tenant: int, model: int, dimension: int
    ) -> _Loaded:
        """An empty index, which will only load the newest vectors that fit the budget."""
        newest = connection.execute(
            "SELECT vector FROM artifact_vectors WHERE tenant = ? AND model = ? "
            "ORDER BY id DESC LIMIT ?",
            (tenant, model, _SAMPLE),
        ).fetchall()
        sample = decode_float16([blob for (blob,) in newest], dimension)
        centre = drawn_mean(sample.sum(axis=0, dtype=np.float64), len(sample))
        oldest = connection.execute(
            "SELECT id FROM artifact_vectors WHERE tenant = ? AND model = ? "
            "ORDER BY id DESC LIMIT 1 OFFSET ?",
            (tenant, model, self._memory // bytes_per_vector(dimension)),
        ).fetchone()
        return _Loaded(SignIndex(centre), oldest[0] if oldest else 0, len(sample))

    def _load_newer(
        self, connection: sqlite3.Connection, tenant: int, model: int, loaded: _Loaded
    ) -> _Loaded:
        """Load vectors newer than the last loaded one."""
        rows = connection.execute(
            "SELECT id, artifact, vector FROM artifact_vectors "
            "WHERE tenant = ? AND model = ? AND id > ? ORDER BY id",
            (tenant, model, loaded.last),
        )
        while batch := rows.fetchmany(_READ_AT_ONCE):
            owners = np.array([artifact for _, artifact, _ in batch], dtype=np.int64)
            vectors = decode_float16([blob for _, _, blob in batch], loaded.signs.dimension)
            loaded.signs.add(owners, vectors)
            loaded = loaded._replace(last=batch[-1][0])
        return loaded

    def _forget_erased(self, connection: sqlite3.Connection) -> None:
        """Drop the signs of tenants that another store or process erased."""
        tenants = {tenant for tenant, _ in self._loaded}
        rows = connection.execute(
            "SELECT id FROM tenants WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(tenants)),),
        ).fetchall()
        for tenant in tenants - {row[0] for row in rows}:
            self.forget(tenant)

    def _evict(self) -> None:
        """Evict least recently used tenants; the last one always fits the budget."""
        while (
            len(self._loaded) > 1
            and sum(item.signs.nbytes for item in self._loaded.values()) > self._memory
        ):
            self._loaded.popitem(last=False)


def model_number(connection: sqlite3.Connection, name: str, dimension: int | None) -> int | None:
    """The number of a model; without a dimension, the newest one, or None."""
    row = connection.execute(
        "SELECT id FROM vector_models WHERE name = ? AND (? IS NULL OR dimension = ?) "
        "ORDER BY id DESC LIMIT 1",
        (name, dimension, dimension),
    ).fetchone()
    return row[0] if row else None


def other_dimension(
    connection: sqlite3.Connection, tenant: int, name: str, dimension: int
) -> int | None:
    """Another dimension of this model's stored vectors, from before it changed, or None."""
    row = connection.execute(
        "SELECT dimension FROM vector_models "
        "JOIN tenant_vectors ON tenant_vectors.model = vector_models.id "
        "WHERE tenant = ? AND name = ? AND dimension <> ? AND vectors > 0 LIMIT 1",
        (tenant, name, dimension),
    ).fetchone()
    return row[0] if row else None


def _count(connection: sqlite3.Connection, tenant: int, model: int) -> int:
    row = connection.execute(
        "SELECT vectors FROM tenant_vectors WHERE tenant = ? AND model = ?", (tenant, model)
    ).fetchone()
    return row[0] if row else 0


def _best(rows: Sequence[tuple[_Key, bytes]], query: Vector, mean: Floats) -> dict[_Key, float]:
    """The best cosine of each artifact over its chunks, best first; ties keep their order."""
    if not rows:
        return {}
    vectors = decode_float16([blob for _, blob in rows], len(query))
    cosines = centred_cosines(floats(query), vectors, mean)
    best: dict[_Key, float] = {}
    # Cosines of equal vectors differ in the last digits, by their position in the matrix.
    for at in np.argsort(-cosines.round(6), kind="stable").tolist():
        best.setdefault(rows[at][0], float(cosines[at]))
    return best


def _keep(
    connection: sqlite3.Connection, model: int | None, row: int, vectors: Sequence[bytes]
) -> None:
    tenant = connection.execute(
        "UPDATE artifacts SET embedded = ? WHERE id = ? AND NOT retired RETURNING tenant",
        (model, row),
    ).fetchall()
    if not tenant:
        return
    connection.execute("DELETE FROM artifact_vectors WHERE artifact = ?", (row,))
    connection.executemany(
        "INSERT INTO artifact_vectors (artifact, tenant, model, vector) VALUES (?, ?, ?, ?)",
        [(row, tenant[0][0], model, vector) for vector in vectors],
    )


def _unembedded(connection: sqlite3.Connection, row: int, body: str) -> Unembedded:
    artifact = decode(Artifact, body, what="artifact to embed")
    before = ""
    if artifact.turn is not None and artifact.kind is not ArtifactKind.TOOL_RESULT:
        record = connection.execute(
            "SELECT other.body FROM artifacts JOIN artifacts AS other "
            "ON other.tenant = artifacts.tenant AND other.session = artifacts.session "
            "AND other.kind = artifacts.kind AND other.retired = 0 "
            "AND other.turn < artifacts.turn "
            "WHERE artifacts.id = ? ORDER BY other.turn DESC, other.id DESC LIMIT 1",
            (row,),
        ).fetchone()
        before = decode(Artifact, record[0], what="artifact before").content if record else ""
    return Unembedded(row, artifact.content, before)
