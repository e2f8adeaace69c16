"""What the server prints at its start can be opened."""

import pytest

from acc_ace.config import ROLES, Settings
from acc_ace.models.factory import describe
from acc_ace.server.http_guards import TrustedHosts
from acc_ace.server.process import startup_banner
from tests.server.asgi import Echo, client

EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound
LOCAL = "http://127.0.0.1:8041"


def lines(settings: Settings, url: str = LOCAL) -> list[str]:
    return startup_banner(url, settings, [describe(role, settings) for role in ROLES]).splitlines()


@pytest.mark.parametrize(
    ("host", "trusted"),
    [
        ("127.0.0.1", ()),
        ("127.0.0.1", ("chat.example",)),
        (EVERYWHERE, ()),
        (EVERYWHERE, ("127.0.0.1", "chat.example")),
    ],
)
async def test_an_address_that_is_shown_is_answered(host: str, trusted: tuple[str, ...]) -> None:
    shown = lines(Settings(host=host, trusted_hosts=trusted))
    assert shown[0].startswith(f"ACC×ACE: open {LOCAL}/ui/ - ")
    assert not any(LOCAL in line for line in shown[1:])
    guard = TrustedHosts(Echo(), trusted=trusted, bind_host=host)
    async with client(guard, base_url=LOCAL) as http:
        assert (await http.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("host", "trusted"), [(EVERYWHERE, ("chat.example",)), ("chat.example", ())]
)
def test_an_address_that_would_be_refused_is_not_shown(host: str, trusted: tuple[str, ...]) -> None:
    shown = lines(Settings(host=host, trusted_hosts=trusted))
    assert shown[0] == "ACC×ACE serves on port 8041, under these names only: chat.example"
    assert shown[1:3] == ["  cockpit   /ui/", "  ADK       /dev-ui/?app=acc_ace"]
    assert not any("127.0.0.1" in line for line in shown)


@pytest.mark.parametrize(
    ("model", "who"),
    [
        ("embedded/rules", "embedded/rules answers (extractive, not an LLM)"),
        ("gemini-3.5-flash", "gemini-3.5-flash answers (no Google credentials are set; calls"),
    ],
)
def test_the_first_line_says_what_to_open_and_who_answers(model: str, who: str) -> None:
    first, *_ = lines(Settings.model_validate({"generator": {"model": model}}))
    assert first.startswith(f"ACC×ACE: open {LOCAL}/ui/ - {who}")
