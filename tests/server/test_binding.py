import asyncio
import socket

import pytest

from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.server.process import check_exposure, open_socket, url_of


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "chat.example"])  # noqa: S104
def test_address_that_others_reach_needs_tokens_or_an_explicit_word(host: str) -> None:
    with pytest.raises(ConfigError, match="ACC_ACE_ALLOW_REMOTE_WITHOUT_TOKENS"):
        check_exposure(Settings(host=host))
    check_exposure(Settings(host=host, auth_tokens={"alice": "s" * 16}))
    check_exposure(Settings(host=host, allow_remote_without_tokens=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_tokens(host: str) -> None:
    check_exposure(Settings(host=host))


def test_port_in_use_names_where_it_was_chosen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} .* ACC_ACE_PORT"):
            open_socket("127.0.0.1", port)
        with pytest.raises(ConfigError, match=rf"port {port} .* set --ui to another one"):
            open_socket("127.0.0.1", port, option="--ui")


def test_port_zero_takes_a_free_one_and_the_url_says_which() -> None:
    with open_socket("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_answers_leave_without_delay() -> None:
    """Nagle's algorithm would hold the second part of each answer for some 40 ms."""
    delays = list[int]()

    async def noted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        delays.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    server = await asyncio.start_server(noted, sock=open_socket("127.0.0.1", 0))
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await reader.read()
        writer.close()
    assert delays == [1]
