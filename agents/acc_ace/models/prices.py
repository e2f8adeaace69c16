"""Read the price table: the one of the package, or the file that ACC_ACE_PRICES names (TOML)."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from acc_ace.core.schemas.cost import PriceTable
from acc_ace.errors import ConfigError

LIST_PRICES = Path(__file__).parent / "prices.toml"
"""List prices of a date, shipped with the package."""


def load_prices(path: Path | None = None) -> PriceTable:
    """The table of a file, which replaces that of the package whole.

    Raises ConfigError that names the file and each entry at fault.
    """
    file = path or LIST_PRICES
    try:
        with file.open("rb") as opened:
            return PriceTable.model_validate(tomllib.load(opened))
    except OSError as error:
        raise ConfigError(
            f"ACC_ACE_PRICES: {file} cannot be read ({error.strerror}); name a TOML file of prices"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"ACC_ACE_PRICES: {file} is not TOML ({error})") from error
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_url=False)
        )
        raise ConfigError(f"ACC_ACE_PRICES: {file}: {problems}") from error
