"""Hold scripted conversations through the public turn API."""

from dataclasses import dataclass, field
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import InMemorySessionService

from acc_ace import Container, build_container
from acc_ace.conversation import APP_NAME, Conversation
from config import ROLES, Settings
from schemas.base import Authority, SessionKey
from schemas.report import TurnEvent, TurnReport
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey(APP_NAME, "ops", "s1")


@dataclass
class Talk:
    """A conversation whose five roles are played by one scripted model."""

    settings: Settings = field(default_factory=lambda: Settings(store="memory"))
    llm: ScriptedLlm = field(default_factory=ScriptedLlm)
    key: SessionKey = KEY

    def __post_init__(self) -> None:
        self.container: Container = build_container(self.settings)
        self.sessions = InMemorySessionService()
        self.conversation = Conversation(
            self.container,
            session_service=self.sessions,
            models=dict.fromkeys(ROLES, self.llm),
        )

    async def say(self, text: str, authority: Authority = Authority.USER) -> TurnReport:
        """One turn, to its end."""
        return await self.conversation.turn(self.key, text, authority=authority)

    async def events(self, text: str) -> list[TurnEvent]:
        """One turn as its events."""
        return [event async for event in self.conversation.stream(self.key, text)]

    async def session_state(self) -> dict[str, Any]:
        """What ADK keeps of the session between turns."""
        session = await self.sessions.get_session(
            app_name=self.key.app, user_id=self.key.user, session_id=self.key.session
        )
        assert session is not None
        return dict(session.state)

    async def constraints(self) -> list[str]:
        """The active constraints."""
        state = await self.conversation.state(self.key)
        return state.ccs.constraints if state else []


def settings(**limits: Any) -> Settings:
    """In-memory settings with some limits changed."""
    return Settings(store="memory", limits=limits)


def seen(request: LlmRequest) -> str:
    """Everything a model was sent, as one text."""
    parts = [part for content in request.contents for part in content.parts or []]
    return f"{request.config.system_instruction}\n" + "\n".join(
        part.text or part.model_dump_json(exclude_none=True) for part in parts
    )
