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
    check_exposure(Settings(host=host, auth_tokens={"alice": "secret"}))
    check_exposure(Settings(host=host, allow_remote_without_tokens=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_tokens(host: str) -> None:
    check_exposure(Settings(host=host))


def test_port_in_use_names_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} .* ACC_ACE_PORT"):
            open_socket("127.0.0.1", port)


def test_port_zero_takes_a_free_one_and_the_url_says_which() -> None:
    with open_socket("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_answers_do_not_wait_for_an_acknowledgement() -> None:
    """asyncio turns off Nagle's algorithm for a socket that names its protocol alone."""
    seen = asyncio.get_running_loop().create_future()

    def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken = writer.get_extra_info("socket")
        seen.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with open_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with await asyncio.start_server(connected, sock=listener):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await seen
            writer.close()
