"""The price table: dated, by model, an unknown price is unknown, and a wrong file is refused."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from acc_ace.cli.checks.price_age import check_prices
from acc_ace.errors import ConfigError
from acc_ace.models.prices import LIST_PRICES, load_prices
from config import EMBEDDED_MODEL, GEMINI_MODEL, Settings
from schemas.cost import ModelPrice, PriceTable, Totals
from schemas.report import Money, TokenUse
from tests.fakes.clock import FixedClock

GOOD = """
as_of = 2026-01-31
[models."m"]
input = 1.0
output = 2.0
"""


def test_the_list_prices_are_dated_ask_to_be_checked_and_know_the_default_model() -> None:
    table = load_prices()
    assert table.as_of <= date.today()
    assert "check them" in LIST_PRICES.read_text(encoding="utf-8")
    gemini = table.price(GEMINI_MODEL)
    assert gemini is not None
    assert 0 < (gemini.cached_input or 0) < gemini.input < gemini.output
    assert table.price(EMBEDDED_MODEL) == ModelPrice(input=0, output=0)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("m", 1),
        ("models/m", 1),
        ("projects/p/locations/l/publishers/google/models/m", 1),
        ("m-002", 5),
        ("m-lite-1", 7),
        ("n", None),
        ("openai/m", None),
    ],
)
def test_a_price_is_of_the_name_or_the_longest_pattern_and_else_unknown(
    model: str, dollars: float | None
) -> None:
    prices = {
        name: ModelPrice(input=price, output=0)
        for name, price in (("m", 1.0), ("m-*", 5.0), ("m-lite-*", 7.0))
    }
    found = PriceTable(as_of=date(2026, 1, 31), models=prices).price(model)
    assert (found and found.input) == dollars


def test_cached_tokens_cost_their_own_price_and_thoughts_are_billed_as_output() -> None:
    use = TokenUse(input=1_000, cached=400, output=20, thinking=80)
    price = ModelPrice(input=2.0, cached_input=0.5, output=10.0)
    # Dollars per million tokens are micro-dollars per token: 600 x 2 + 400 x 0.5 + 100 x 10.
    assert price.nano(use) == 2_400_000
    assert ModelPrice(input=2.0, output=10.0).nano(use) == 3_000_000


def test_what_a_model_said_it_cost_hides_no_list_price_of_tokens_that_are_summed_with_it() -> None:
    said = TokenUse(input=123, cached=100, output=7, calls=1, billed=12_300_000)
    said = said.model_copy(update={"covered": (123, 100, 7)})
    listed = TokenUse(input=1_000_000, cached=400_000, output=20, thinking=80, calls=1)
    table = PriceTable(
        as_of=date(2026, 1, 31), models={"m": ModelPrice(input=2.0, cached_input=0.5, output=10.0)}
    )

    def nano(model: str, use: TokenUse) -> int | None:
        [priced] = table.priced("run", 1, {"generator": {model: use}})
        return priced.nano

    both = TokenUse.model_validate_json((said + listed).model_dump_json())
    assert nano("unknown", said) == 12_300_000
    assert nano("m", both) == 12_300_000 + (nano("m", listed) or 0) == 12_300_000 + 1_401_000_000
    assert nano("unknown", both) is None


@pytest.mark.parametrize(
    ("totals", "money", "shown"),
    [
        (Totals(), Money(usd=0.0), "$0.00"),
        (Totals(nano=4_210_000), Money(usd=0.00421), "$0.0042"),
        (Totals(nano=12_340_000_000), Money(usd=12.34), "$12.34"),
        (Totals(nano=5_000), Money(usd=5e-6), "<$0.0001"),
        (Totals(unpriced=2), Money(usd=None, complete=False), "unknown"),
        (Totals(nano=10_000_000, unpriced=1), Money(usd=0.01, complete=False), "$0.01 + unknown"),
    ],
)
def test_what_is_unknown_is_shown_as_unknown_and_never_as_zero(
    totals: Totals, money: Money, shown: str
) -> None:
    assert totals.spent == money
    assert str(money) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD.replace("1.0", "-1.0"), r"models\.m\.input: .*greater than or equal to 0"),
        (GOOD.replace("1.0", "inf"), r"models\.m\.input: .*finite"),
        (GOOD.replace("1.0", "'cheap'"), r"models\.m\.input: .*valid number"),
        (GOOD.replace("2026-01-31", "'last week'"), r"as_of: .*valid date"),
        (GOOD.replace("as_of", "at"), r"as_of: Field required; at: Extra inputs"),
        (GOOD + "cache = 1", r"models\.m\.cache: Extra inputs"),
        (GOOD.replace("output = 2.0", ""), r"models\.m\.output: Field required"),
        ("as_of = ", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_entry(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"ACC_ACE_PRICES: .*prices.toml:? .*{problem}"):
        load_prices(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ACC_ACE_PRICES: .*none.toml cannot be read"):
        load_prices(tmp_path / "none.toml")


@pytest.mark.parametrize(("days", "is_old"), [(0, False), (90, False), (91, True), (400, True)])
def test_the_doctor_tells_of_a_table_older_than_90_days(
    tmp_path: Path, days: int, is_old: bool
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(GOOD, encoding="utf-8")
    clock = FixedClock(datetime(2026, 1, 31, tzinfo=UTC) + timedelta(days=days))
    finding = check_prices(Settings(prices=file), clock)
    assert finding.status == ("note" if is_old else "ok")
    assert (f"is of 2026-01-31, {days} days ago" in finding.detail) is is_old
    assert ("ACC_ACE_PRICES" in finding.fix) is is_old


def test_prices_that_are_known_to_change_are_told_from_that_day_on(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(f"until = 2026-02-10\n{GOOD.strip()}", encoding="utf-8")
    details = [
        check_prices(Settings(prices=file), FixedClock(datetime(2026, 2, day, tzinfo=UTC))).detail
        for day in (10, 11)
    ]
    assert details[0].startswith("of 2026-01-31")
    assert "held until 2026-02-10" in details[1]


def test_no_default_and_no_price_names_a_model_that_ends_in_2026() -> None:
    names = {GEMINI_MODEL, *load_prices().models}
    assert names.isdisjoint({"gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview"})
    for name in ("gemini-3.5-flash-lite", "gemini-3.8-flash"):
        assert load_prices().price(name) is not None
