import pytest

from acc_ace.server.http_guards import TrustedHosts, is_loopback
from tests.server.asgi import Echo, client


async def _status(host: str, *, bind: str, trusted: tuple[str, ...] = ()) -> int:
    guard = TrustedHosts(Echo(), trusted=trusted, bind_host=bind)
    async with client(guard) as http:
        return (await http.get("/", headers={"Host": host})).status_code


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST."])
async def test_loopback_bind_takes_loopback_names(host: str) -> None:
    assert await _status(host, bind="127.0.0.1") == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:80.evil.example", "localhost.evil.example", "a,localhost"]
)
async def test_loopback_bind_refuses_rebound_names(host: str) -> None:
    assert await _status(host, bind="127.0.0.1") == 400


async def test_bind_to_every_interface_takes_every_name_until_names_are_set() -> None:
    assert await _status("anything.example", bind="0.0.0.0") == 200  # noqa: S104 - never bound
    trusted = ("chat.example", "*.corp.example")
    for host, status in {
        "chat.example:443": 200,
        "a.corp.example": 200,
        "corp.example": 400,
        "evilchat.example": 400,
        "127.0.0.1": 400,
    }.items():
        assert await _status(host, bind="0.0.0.0", trusted=trusted) == status  # noqa: S104


async def test_refusal_names_the_setting() -> None:
    async with client(TrustedHosts(Echo(), trusted=(), bind_host="::1")) as http:
        response = await http.get("/", headers={"Host": "evil.example"})
    assert "ACC_ACE_TRUSTED_HOSTS" in response.json()["detail"]


def test_whole_loopback_block_is_loopback_and_lookalikes_are_not() -> None:
    assert all(is_loopback(host) for host in ("127.8.9.1", "[::1]", "Localhost"))
    assert not any(is_loopback(host) for host in ("128.0.0.1", "127.0.0.1.example", "", "::"))
