"""Background work on memory where ADK's own runner drives the turns, as in `adk web`."""

from collections.abc import Mapping

from google.adk.models import BaseLlm

from acc_ace.adk.session_lifecycle import SessionLife
from acc_ace.adk.session_service import open_session_service
from acc_ace.config import Role
from acc_ace.container import Container


class Upkeep:
    """Wakes background work after turns: that of a Conversation, where there is one."""

    def __init__(self, container: Container, models: Mapping[Role, BaseLlm]) -> None:
        """`models` summarise and extract; whoever made them closes them."""
        self._container, self._models = container, models
        self._own: dict[str, SessionLife] = {}
        self._given: dict[str, SessionLife] = {}

    def left_to(self, app: str, life: SessionLife) -> None:
        """From now on, wake that life for the sessions of an app; its owner ends it."""
        self._given[app] = life

    def after_turn(self, app: str) -> None:
        """Let background work go on, in a task of its own, unless it does already."""
        life = self._given.get(app) or self._own.get(app)
        if life is None:
            sessions = open_session_service(self._container)
            life = SessionLife(self._container, app, sessions, models=self._models)
            self._own[app] = life
        life.wake()

    async def close(self) -> None:
        """End background work, which gets the time of a shutdown; the rest is done later."""
        for life in self._own.values():
            await life.rest(self._container.settings.limits.shutdown_grace_s)
