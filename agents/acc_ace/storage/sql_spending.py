"""What model calls used and cost, in a SQL database: rows by run, stage and model, and sums by day.

The sums change with the rows in one transaction, by the difference to what the run had already, so
a run that is written again changes nothing.
"""

from collections.abc import Sequence
from datetime import date

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.cost import REPLAY, Crossing, DaySum, ModelUse, StageCost, Totals
from acc_ace.core.schemas.report import Money, TokenUse
from acc_ace.storage.sql_rows import Rows, page_size
from acc_ace.storage.tenant_rows import ensure_tenant, find_tenant
from acc_ace.unit_of_work import Database, Write

_PUT = """
    INSERT INTO model_uses (run, stage, model, app, user_id, session, turn, calls, failed, input,
                            cached, output, thinking, estimated, nano)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, stage, model) DO UPDATE
       SET turn = excluded.turn, calls = excluded.calls, failed = excluded.failed,
           input = excluded.input, cached = excluded.cached, output = excluded.output,
           thinking = excluded.thinking, estimated = excluded.estimated, nano = excluded.nano
"""
_IS_REPLAY = f"stage = '{REPLAY}'"
_SUMS = f"""
    coalesce(sum(CASE WHEN {_IS_REPLAY} THEN 0 ELSE nano END), 0),
    coalesce(sum(CASE WHEN {_IS_REPLAY} OR nano IS NOT NULL THEN 0 ELSE calls END), 0),
    coalesce(sum(CASE WHEN {_IS_REPLAY} THEN nano END), 0)
"""
_OF_RUN = f"SELECT {_SUMS} FROM model_uses WHERE run = ?"  # noqa: S608 - constants
_ADD = """
    INSERT INTO spending (app, user_id, day, session, nano, unpriced, replay_nano)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, user_id, day, session) DO UPDATE
       SET nano = spending.nano + excluded.nano, unpriced = spending.unpriced + excluded.unpriced,
           replay_nano = spending.replay_nano + excluded.replay_nano
"""
_SPENDING = """
    SELECT coalesce(sum(nano), 0), coalesce(sum(unpriced), 0), coalesce(sum(replay_nano), 0)
      FROM spending WHERE app = ? AND user_id = ?
"""
_OF_SESSION = "app = ? AND user_id = ? AND session = ?"
_COUNTS = ("calls", "failed", "input", "cached", "output", "thinking")
_STAGES = f"""
    SELECT stage, model, count(*), coalesce(sum(nano), 0),
           sum(CASE WHEN nano IS NULL THEN calls ELSE 0 END),
           max(estimated), {", ".join(f"sum({name})" for name in _COUNTS)}
      FROM model_uses WHERE {_OF_SESSION} GROUP BY stage, model ORDER BY stage, model
"""  # noqa: S608 - constants
_USES = f"""
    SELECT run, turn, stage, model, nano, estimated, {", ".join(_COUNTS)}
      FROM model_uses WHERE {_OF_SESSION} AND turn IN (
           SELECT DISTINCT turn FROM model_uses WHERE {_OF_SESSION} AND turn < ?
            ORDER BY turn DESC LIMIT ?)
     ORDER BY turn DESC, run, stage, model
"""  # noqa: S608 - constants
_TOKENS = "input + output + thinking"
_CROSSING = f"""
    WITH turns AS (
        SELECT turn,
               sum(CASE WHEN {_IS_REPLAY} THEN -nano ELSE nano END) AS nano,
               sum(CASE WHEN {_IS_REPLAY} THEN -({_TOKENS}) ELSE {_TOKENS} END) AS tokens,
               sum(CASE WHEN {_IS_REPLAY} OR nano IS NOT NULL THEN 0 ELSE calls END) AS unpriced
          FROM model_uses WHERE {_OF_SESSION} GROUP BY turn
    ), running AS (
        SELECT turn, sum(nano) OVER (ORDER BY turn) AS nano,
               sum(tokens) OVER (ORDER BY turn) AS tokens, unpriced FROM turns
    )
    SELECT max(CASE WHEN nano >= 0 THEN turn END), max(CASE WHEN tokens >= 0 THEN turn END),
           max(turn), sum(unpriced) FROM running
"""  # noqa: S608 - constants
_DAYS = """
    SELECT day, session, nano, unpriced, replay_nano FROM spending
     WHERE app = ? AND user_id = ? AND (day, session) > (?, ?) ORDER BY day, session LIMIT ?
"""
_MOVE = """
    INSERT INTO spending (app, user_id, day, session, nano, unpriced, replay_nano)
    SELECT app, user_id, day, '', nano, unpriced, replay_nano FROM spending
     WHERE app = ? AND user_id = ? AND session = ?
        ON CONFLICT (app, user_id, day, session) DO UPDATE
       SET nano = spending.nano + excluded.nano, unpriced = spending.unpriced + excluded.unpriced,
           replay_nano = spending.replay_nano + excluded.replay_nano
"""


class SqlSpendingStore:
    """A SpendingStore in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def use_write(self, key: SessionKey, uses: Sequence[ModelUse], *, day: date) -> Write:
        """Keep what one run has used so far; done again, also with more, it counts once."""
        run = uses[0].run
        values = [
            (
                run,
                use.stage,
                use.model,
                *key,
                use.turn,
                *(getattr(use.tokens, name) for name in _COUNTS),
                int(use.tokens.estimated),
                use.nano,
            )
            for use in uses
        ]

        def write(rows: Rows) -> None:
            ensure_tenant(rows, key.tenant)
            before = _sums(rows, run)
            rows.many(_PUT, values)
            after = _sums(rows, run)
            added = [new - old for new, old in zip(after, before, strict=True)]
            rows.run(_ADD, (*key.tenant, day.isoformat(), key.session, *added))

        return write

    async def add(self, key: SessionKey, uses: Sequence[ModelUse], *, day: date) -> None:
        """`use_write` alone, of a user who may have been erased: then nothing is kept.

        What is used for a session that is not known, or was deleted, is kept without its name.
        """

        def work(rows: Rows) -> None:
            if find_tenant(rows, key.tenant) is None:
                return
            is_known = rows.one(f"SELECT 1 FROM session_directory WHERE {_OF_SESSION}", key)  # noqa: S608
            known = key if is_known else key._replace(session="")
            self.use_write(known, uses, day=day)(rows)

        await self._database.write(work)

    async def of_day(self, tenant: Tenant, day: date) -> Totals:
        """What a user has spent on a day, in deleted sessions too."""
        return await self._totals(" AND day = ?", (*tenant, day.isoformat()))

    async def of_session(self, key: SessionKey) -> Totals:
        """What a session has cost so far."""
        return await self._totals(" AND session = ?", key)

    async def stages(self, key: SessionKey) -> Sequence[StageCost]:
        """What a session cost by stage and model, `saved` not filled in; replay is among them."""
        records = await self._database.read(lambda rows: rows.all(_STAGES, key))
        return [
            StageCost(
                stage=stage,
                model=model,
                runs=runs,
                cost=Money.of(int(nano), int(unpriced)),
                tokens=_tokens(*tokens),
            )
            for stage, model, runs, nano, unpriced, *tokens in records
        ]

    async def uses(self, key: SessionKey, *, turns: int, before: int) -> Sequence[ModelUse]:
        """What the newest `turns` turns before one used, newest first."""
        values = (*key, *key, before, page_size(turns))
        records = await self._database.read(lambda rows: rows.all(_USES, values))
        return [
            ModelUse(
                run=run, turn=turn, stage=stage, model=model, nano=nano, tokens=_tokens(*tokens)
            )
            for run, turn, stage, model, nano, *tokens in records
        ]

    async def crossing(self, key: SessionKey) -> Crossing:
        """From which turn on a session has used less than replaying it."""
        row = await self._database.read(lambda rows: rows.one(_CROSSING, key))
        money, tokens, newest, unpriced = row or (None, None, None, None)
        return Crossing(
            money=None if unpriced else _after(money, newest), tokens=_after(tokens, newest)
        )

    async def days(
        self, tenant: Tenant, *, limit: int, after: DaySum | None = None
    ) -> Sequence[DaySum]:
        """A page of what a user has spent, by day and session."""
        place = (after.day.isoformat(), after.session) if after else ("", "")
        values = (*tenant, *place, page_size(limit))
        records = await self._database.read(lambda rows: rows.all(_DAYS, values))
        return [
            DaySum(day=date.fromisoformat(day), session=session, totals=_totals_of(*sums))
            for day, session, *sums in records
        ]

    async def _totals(self, where: str, values: Sequence[object]) -> Totals:
        row = await self._database.read(lambda rows: rows.one(_SPENDING + where, values))
        return _totals_of(*(row or (0, 0, 0)))


def forget_session(rows: Rows, key: SessionKey) -> int:
    """Delete what a session used; how many rows. Its money stays in the sums of the days."""
    rows.run(_MOVE, key)
    rows.run(f"DELETE FROM spending WHERE {_OF_SESSION}", key)  # noqa: S608 - a constant
    return rows.run(f"DELETE FROM model_uses WHERE {_OF_SESSION}", key)  # noqa: S608 - a constant


def _sums(rows: Rows, run: str) -> tuple[int, ...]:
    return tuple(map(int, rows.one(_OF_RUN, (run,)) or (0, 0, 0)))


def _after(last: int | None, newest: int | None) -> int | None:
    """The turn after the last one at which it was more; None if that is the newest."""
    return None if newest is None or last == newest else (last or 0) + 1


def _totals_of(nano: int, unpriced: int, replay: int) -> Totals:
    return Totals(nano=int(nano), unpriced=int(unpriced), replay_nano=int(replay))


def _tokens(estimated: int, *counts: int) -> TokenUse:
    named = dict(zip(_COUNTS, map(int, counts), strict=True))
    return TokenUse(**named, estimated=bool(estimated))
