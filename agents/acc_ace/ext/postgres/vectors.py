"""Vectors of artifacts in PostgreSQL, searched by pgvector.

The extension is optional, and so are the vector tables: they are created with the first stored
vector, one per dimension, because a pgvector index has a single dimension. The index is searched
by the inner product with the mean-centred query, which orders vectors nearly as centred cosines
do; the best are then compared exactly.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.schema import Connection, vector_path
from acc_ace.memory.artifact_store import Embedded, Unembedded
from acc_ace.storage.dense_search import DenseQuery, ranges_without
from acc_ace.storage.sql_rows import decode, on_connection

_MEAN_OF = 2_048
"""The mean to subtract is that of this many newest vectors of a tenant."""

_PRIOR = 8
"""Zero vectors added to the mean, so that a few vectors do not dominate it."""

_CACHED_MEANS = 1_000

_TABLES_LOCK = 0x_ACC_ACE_1
"""Advisory lock key for creating vector tables."""

_SCAN = """
    SET LOCAL hnsw.ef_search = 200;
    SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL hnsw.max_scan_tuples = 20000
"""
"""One index serves all tenants: scan iteratively until enough rows are this tenant's."""

_TABLE = """
    CREATE TABLE IF NOT EXISTS {table} (
        id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        artifact    bigint NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,
        tenant      bigint NOT NULL,
        model       integer NOT NULL,
        vector      halfvec({dimension}) NOT NULL
    );
    CREATE INDEX IF NOT EXISTS {table}_by_artifact ON {table} (artifact);
    CREATE INDEX IF NOT EXISTS {table}_by_tenant ON {table} (tenant, model, id);
    CREATE INDEX IF NOT EXISTS {table}_by_nearness ON {table} USING hnsw (vector halfvec_ip_ops)
"""

_MEAN = """
    SELECT sum(vector::vector)::text, count(*) FROM (
        SELECT vector FROM {table} WHERE tenant = %s AND model = %s ORDER BY id DESC LIMIT %s
    ) AS newest
"""

_SEARCH = """
    SELECT artifact_id, max(cosine) FROM (
        SELECT artifact, 1 - ((vector::vector - %(mean)s::vector) <=> %(asked)s::vector) AS cosine
          FROM (SELECT artifact, vector FROM {table} AS kept
                 WHERE tenant = %(tenant)s AND model = %(model)s {seen}
                 ORDER BY vector <#> %(asked)s::halfvec LIMIT %(scanned)s) AS near
    ) AS compared
      JOIN artifacts ON artifacts.id = compared.artifact
     WHERE NOT retired
     GROUP BY artifact_id ORDER BY max(cosine) DESC, artifact_id LIMIT %(limit)s
"""

# Checked for each scanned vector: any number of nearer ones may be too new.
_OLD_ENOUGH = """AND EXISTS (
    SELECT FROM artifacts WHERE id = kept.artifact AND NOT retired AND created_at < %(before)s)
"""

_COSINES = """
    SELECT artifact_id,
           max(1 - ((vector::vector - %(mean)s::vector) <=> %(asked)s::vector))
      FROM artifacts JOIN {table} AS kept ON kept.artifact = artifacts.id
     WHERE artifacts.tenant = %(tenant)s AND model = %(model)s AND artifact_id = ANY(%(names)s)
     GROUP BY artifact_id
"""

_DELETE = "DELETE FROM {table} WHERE artifact = ANY(%s)"
_INSERT = """
    INSERT INTO {table} (artifact, tenant, model, vector) VALUES (%s, %s, %s, %s::halfvec)
"""

_MISSING = b"""
    SELECT artifacts.id, artifacts.body FROM artifact_embeddings
      JOIN artifacts ON artifacts.id = artifact_embeddings.artifact
     WHERE model BETWEEN %s AND %s AND NOT retired
     ORDER BY model DESC, artifact DESC LIMIT %s
"""

_BEFORE = """
    SELECT other.body FROM artifacts
      JOIN artifacts AS other ON other.tenant = artifacts.tenant
       AND other.session = artifacts.session AND other.kind = artifacts.kind
       AND NOT other.retired AND other.turn < artifacts.turn
     WHERE artifacts.id = %s ORDER BY other.turn DESC, other.id DESC LIMIT 1
"""


class _Mean(NamedTuple):
    text: str
    vectors: int
    documents: int


class PostgresVectors:
    """A VectorStore in a PostgresDatabase, and the search over it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._mutex = Lock()
        self._means: OrderedDict[tuple[int, int], _Mean] = OrderedDict()

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> Sequence[Unembedded]:
        """Artifacts of any tenant to embed: those without vectors, then those of other models."""

        def work(connection: Connection) -> list[Unembedded]:
            number = model_number(connection, model, dimension)
            rows: list[tuple[int, str]] = []
            for lowest, highest in ranges_without(number):
                values = (lowest, highest, limit - len(rows))
                rows += connection.execute(_MISSING, values).fetchall()
            return [_unembedded(connection, row, body) for row, body in rows]

        return await self._database.read(on_connection(work))

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors, replacing all older ones of these artifacts."""

        def work(connection: Connection) -> None:
            vector_path(connection)
            number = _number(connection, model, dimension)
            tables = _tables(connection)
            # All writers lock rows in the same order, which avoids deadlocks.
            for item in sorted(embedded, key=lambda item: item.row):
                _keep(connection, item, number, tables, _table(dimension))

        await self._database.write(on_connection(work))

    def search(
        self, connection: Connection, query: DenseQuery, *, before: float | None, limit: int
    ) -> Mapping[str, float]:
        """The tenant's nearest artifacts with their cosines, best first.

        `before` limits them to those created before a time, in seconds since 1970.
        """
        vector_path(connection)
        mean = self._mean(connection, query)
        connection.execute(_SCAN.encode())
        rows = connection.execute(
            _of(_SEARCH, query, seen="" if before is None else _OLD_ENOUGH),
            {**_values(query, mean), "scanned": 3 * limit, "limit": limit, "before": before},
        ).fetchall()
        return dict(rows)

    def cosines(
        self, connection: Connection, query: DenseQuery, artifact_ids: Sequence[str]
    ) -> Mapping[str, float]:
        """The cosine of each artifact that has a vector."""
        vector_path(connection)
        values = {**_values(query, self._mean(connection, query)), "names": list(artifact_ids)}
        return dict(connection.execute(_of(_COSINES, query), values).fetchall())

    def _mean(self, connection: Connection, query: DenseQuery) -> str:
        """The mean of the tenant's newest vectors, cached until the tenant has grown by 10 %."""
        key = query.tenant.id, query.model
        with self._mutex:
            known = self._means.get(key)
        grown = known is None or query.tenant.documents > known.documents + known.documents // 10
        if known is None or known.vectors < _MEAN_OF or grown:
            known = _computed(connection, query)
            with self._mutex:
                self._means[key] = known
                while len(self._means) > _CACHED_MEANS:
                    self._means.popitem(last=False)
        return known.text


def model_number(connection: Connection, name: str, dimension: int | None) -> int | None:
    """The number of a model; without a dimension, the newest one, or None."""
    row = connection.execute(
        "SELECT id FROM vector_models WHERE name = %s "
        "AND (%s::integer IS NULL OR dimension = %s) ORDER BY id DESC LIMIT 1",
        (name, dimension, dimension),
    ).fetchone()
    return int(row[0]) if row else None


def other_dimension(connection: Connection, tenant: int, name: str, dimension: int) -> int | None:
    """Another dimension of this model's stored vectors, from before it changed, or None."""
    row = connection.execute(
        "SELECT dimension FROM vector_models WHERE name = %s AND dimension <> %s AND EXISTS ("
        "SELECT 1 FROM artifact_embeddings WHERE tenant = %s AND model = vector_models.id) "
        "LIMIT 1",
        (name, dimension, tenant),
    ).fetchone()
    return int(row[0]) if row else None


def delete_vectors(connection: Connection, rows: Sequence[int]) -> None:
    """Delete all vectors of these artifacts, and their embedding status."""
    connection.execute("DELETE FROM artifact_embeddings WHERE artifact = ANY(%s)", (rows,))
    # In this order: a concurrent writer of a vector locks that row until its commit.
    for table in _tables(connection):
        connection.execute(_DELETE.format(table=table).encode(), (rows,))


def _computed(connection: Connection, query: DenseQuery) -> _Mean:
    row = connection.execute(_of(_MEAN, query), (query.tenant.id, query.model, _MEAN_OF)).fetchone()
    total, count = row if row else (None, 0)
    numbers = (
        [float(number) for number in total[1:-1].split(",")] if total else [0.0] * len(query.vector)
    )
    mean = [number / (count + _PRIOR) for number in numbers]
    return _Mean(_text(mean), count, query.tenant.documents)


def _values(query: DenseQuery, mean: str) -> dict[str, object]:
    drawn = (float(number) for number in mean[1:-1].split(","))
    vector = [value - centre for value, centre in zip(query.vector, drawn, strict=True)]
    return {
        "tenant": query.tenant.id,
        "model": query.model,
        "mean": mean,
        "asked": _text(vector),
    }


def _number(connection: Connection, name: str, dimension: int) -> int:
    """The number of a model; creates its table and number if new."""
    known = model_number(connection, name, dimension)
    if known is not None:
        return known
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))
    connection.execute(_TABLE.format(table=_table(dimension), dimension=dimension).encode())
    row = connection.execute(
        "INSERT INTO vector_models (name, dimension) VALUES (%s, %s) "
        "ON CONFLICT (name, dimension) DO UPDATE SET name = excluded.name RETURNING id",
        (name, dimension),
    ).fetchone()
    return int(row[0]) if row else 0


def _keep(
    connection: Connection, item: Embedded, model: int, tables: Sequence[str], table: str
) -> None:
    row = connection.execute(
        "UPDATE artifact_embeddings SET model = %s WHERE artifact = %s RETURNING tenant",
        (model, item.row),
    ).fetchone()
    if row is None:
        return
    for other in tables:
        connection.execute(_DELETE.format(table=other).encode(), ([item.row],))
    for vector in item.vectors:
        connection.execute(
            _INSERT.format(table=table).encode(), (item.row, row[0], model, _text(vector))
        )


def _tables(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT DISTINCT dimension FROM vector_models").fetchall()
    return [_table(dimension) for (dimension,) in rows]


def _table(dimension: int) -> str:
    return f"artifact_vectors_{int(dimension)}"


def _of(statement: str, query: DenseQuery, *, seen: str = "") -> bytes:
    return statement.format(table=_table(len(query.vector)), seen=seen).encode()


def _text(values: Sequence[float]) -> str:
    """A vector in pgvector's text form."""
    return f"[{','.join(format(value, '.7g') for value in values)}]"


def _unembedded(connection: Connection, row: int, body: str) -> Unembedded:
    artifact = decode(Artifact, body, what="artifact to embed")
    if artifact.turn is None or artifact.kind is ArtifactKind.TOOL_RESULT:
        return Unembedded(row, artifact.content, "")
    record = connection.execute(_BEFORE, (row,)).fetchone()
    before = decode(Artifact, record[0], what="artifact before").content if record else ""
    return Unembedded(row, artifact.content, before)
