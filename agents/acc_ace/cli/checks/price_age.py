"""Whether the price table is still to be believed, for `acc-ace doctor` and `acc-ace cost`."""

from datetime import date, timedelta
from typing import Final

from acc_ace.cli.checks.installation import CheckResult, note, ok, problem
from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.models.prices import load_prices

MOST_DAYS: Final = 90
"""Maximum age of a price table that nobody is warned of."""

PRICES_FIX: Final = (
    "compare it with your provider's prices, and name a newer file in ACC_ACE_PRICES"
)


def age_warning(as_of: date, until: date | None, today: date) -> str:
    """What is wrong with a table's date, or ''."""
    if today - as_of > timedelta(days=MOST_DAYS):
        return f"the price table is of {as_of}, {(today - as_of).days} days ago"
    if until is not None and today > until:
        return f"the price table is of {as_of}, and some of its prices held until {until}"
    return ""


def check_prices(settings: Settings, clock: Clock) -> CheckResult:
    """Whether the table can be read, and how old it is."""
    try:
        prices = load_prices(settings.prices)
    except ConfigError as error:
        return problem("prices", str(error), "fix the file, or unset ACC_ACE_PRICES")
    if warning := age_warning(prices.as_of, prices.until, clock.now().date()):
        return note("prices", warning, PRICES_FIX)
    return ok("prices", f"of {prices.as_of}, {len(prices.models)} names")
