"""ADK strips blanks around a session's id; what is deleted is then deleted everywhere."""

from typing import Any

from acc_ace.core.schemas.base import SessionKey
from tests.fakes.session_services import Open, open_service

__all__ = ["open_service"]

USER: dict[str, Any] = {"app_name": "shop", "user_id": "aiko"}


async def test_the_session_that_is_forgotten_is_the_one_that_is_deleted(
    open_service: Open,
) -> None:
    forgotten: list[SessionKey] = []

    async def forget(key: SessionKey) -> None:
        forgotten.append(key)

    service = open_service(on_delete=forget)
    await service.create_session(**USER, session_id="s-2")
    await service.delete_session(**USER, session_id=" s-2\t")
    assert forgotten == [SessionKey("shop", "aiko", "s-2")]
