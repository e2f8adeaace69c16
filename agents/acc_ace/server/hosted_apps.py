"""The apps whose turns this server takes: its own, and others that have the memory plugin."""

from google.adk.apps import App
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader

from acc_ace.adk.plugin.bounded_memory import BoundedMemoryPlugin
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.conversation import APP_NAME, Conversation, turn_taker
from acc_ace.errors import InputError


class HostedApps:
    """A conversation with each app, made when it is first asked for."""

    def __init__(
        self, own: Conversation, loader: BaseAgentLoader, sessions: SqlSessionService
    ) -> None:
        self._own, self._loader, self._sessions = own, loader, sessions
        self._others: dict[str, tuple[App, Conversation]] = {}

    def __contains__(self, app: str) -> bool:
        """Whether the server hosts an app of that name; nothing is loaded."""
        return app == APP_NAME or app in self._loader.list_agents()

    def conversation(self, app: str) -> Conversation:
        """What takes the turns of an app.

        Raises InputError for an app that is not hosted here, or that has no memory plugin.
        """
        if app == APP_NAME:
            return self._own
        if app not in self:
            raise InputError(
                f"this server does not host the app '{app}': the process of its agent takes its "
                "turns; to take them here, set ACC_ACE_AGENT_DIR to the folder above it"
            )
        loaded = self._loader.load_agent(app)
        if not isinstance(loaded, App) or turn_taker(loaded) is None:
            raise InputError(f"the app '{app}' has no BoundedMemoryPlugin; talk to it at /dev-ui/")
        known, talk = self._others.get(app, (None, None))
        if talk is None or known is not loaded:  # Its files may have changed.
            talk = Conversation(self._own.container, app=loaded, session_service=self._sessions)
            self._others[app] = loaded, talk
        return talk

    async def close(self) -> None:
        """Close the plugins of the apps that were asked for; their stores are the server's."""
        for app, _ in self._others.values():
            taker = turn_taker(app)
            if isinstance(taker, BoundedMemoryPlugin):
                await taker.close()
