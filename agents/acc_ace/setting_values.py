"""Values of settings: how they are read, and how a wrong one is shown."""

from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def agents_of_a_clone() -> Path | None:
    """The folder of ADK apps around this package in a clone; None in an installation."""
    folder = Path(__file__).parents[1]
    return folder if folder.name == "agents" and (folder / "services.py").is_file() else None


def zone_of(name: str) -> tzinfo:
    """A zone by its IANA name; UTC needs no zone data. Raises ValueError."""
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    # A name that is not a path below the zone data raises a plain ValueError.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"'{name}' is not a time zone; use an IANA name such as Asia/Tokyo"
        ) from error


def parse_tokens(text: str) -> dict[str, str]:
    """Tokens by user; ValueError for what is no list of 'user:token'."""
    tokens: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        user, separator, token = item.partition(":")
        if not separator or not user or not token:
            raise ValueError("expected 'user:token' pairs, comma-separated")
        if user in tokens:
            raise ValueError("a user is named twice")
        if (other := next((name for name in tokens if tokens[name] == token), None)) is not None:
            raise ValueError(f"{other} and {user} have the same token; give each user their own")
        tokens[user] = token
    return tokens


def shown_value(value: object) -> str:
    """An invalid value, shortened; hidden when it may hold a secret."""
    text = repr(value)
    return "<hidden>" if ":" in text else text[:80]
