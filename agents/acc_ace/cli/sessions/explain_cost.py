"""`acc-ace cost`: what a session cost, by stage and by turn. Only the stores are opened."""

import asyncio
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table

from acc_ace.cli.checks.price_age import PRICES_FIX, age_warning
from acc_ace.cli.names import find_session, require_app
from acc_ace.cli.output import Paragraphs, json_line, printable, stdout_console
from acc_ace.clock import Clock, SystemClock
from acc_ace.config import load_settings
from acc_ace.core.schemas.cost import NEWEST, PriceTable, SessionCost
from acc_ace.core.schemas.report import TokenUse
from acc_ace.models.prices import load_prices
from acc_ace.storage.create_stores import create_stores
from acc_ace.turn.spending import Spending


def run_cost(session: str | None, *, app: str, user: str | None, limit: int, as_json: bool) -> None:
    """Print it. Raises ConfigError, InputError, NotFoundError or StoreError."""
    prices, clock = load_prices(load_settings().prices), SystemClock()
    explained = asyncio.run(_explained(prices, clock, (app, user, session), limit=limit))
    if as_json:
        print(json_line(explained.model_dump(mode="json")))
    else:
        stdout_console().print(cost_view(explained))
        if warning := age_warning(prices.as_of, prices.until, clock.now().date()):
            stdout_console().print(f"{warning}: {PRICES_FIX}", style="yellow")


async def _explained(
    prices: PriceTable, clock: Clock, target: tuple[str, str | None, str | None], *, limit: int
) -> SessionCost:
    settings, (app, user, session) = load_settings(), target
    stores = create_stores(settings, clock)
    try:
        await require_app(stores.directory, app)
        key = await find_session(stores.journal, app, user, session)
        spending = Spending(stores.spending, prices, clock, ceiling=settings.max_cost)
        return await spending.session(key, limit=limit, before=NEWEST)
    finally:
        await stores.close()


def cost_view(cost: SessionCost) -> RenderableType:
    """The sums, a table of stages, and one of turns."""
    today, rows = cost.today, [(str(turn.turn or "-"), turn) for turn in cost.turns]
    priced = f"each turn at the prices of its time; the price table is of {cost.prices_as_of}"
    ceiling = "" if today.ceiling_usd is None else f" of ${today.ceiling_usd:g}"
    return Group(
        Paragraphs(
            (f"session {cost.session}: {cost.cost}; replaying it: at least {cost.replay}", ""),
            (f"less than replay {_since(cost)}", ""),
            (f"today (UTC): {today.spent}{ceiling}", ""),
            (priced, "dim"),
        ),
        _table(
            ("stage", "model", *_COUNTS, "saved", "cost"),
            (
                (s.stage, s.model or "-", *_counts(s.tokens), str(s.saved), str(s.cost))
                for s in cost.stages
            ),
            texts=2,
        ),
        _table(
            ("turn", *_COUNTS, "cost", "replay"),
            ((name, *_counts(t.tokens), str(t.cost), str(t.replay)) for name, t in rows),
            texts=0,
        ),
    )


def _since(cost: SessionCost) -> str:
    named = {"dollars": cost.crossing.money, "tokens": cost.crossing.tokens}
    return ", ".join(
        f"in {unit} {'not yet' if turn is None else f'from turn {turn} on'}"
        for unit, turn in named.items()
    )


_COUNTS = ("calls", "input", "cached", "output", "thinking")


def _counts(use: TokenUse) -> tuple[str, ...]:
    numbers = (use.calls, use.input, use.cached, use.output, use.thinking)
    return tuple(f"{number:,}" for number in numbers)


def _table(names: Iterable[str], rows: Iterable[Iterable[str]], *, texts: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at < texts else "right", no_wrap=at >= texts)
    for row in rows:
        table.add_row(*map(printable, row))
    return table
