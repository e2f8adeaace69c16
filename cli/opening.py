"""Open the app: settings, stores and the conversation, in the order in which they can fail."""

from dataclasses import dataclass

from acc_ace.conversation import Conversation
from cli.banner import ModelUse
from cli.turn_api import TurnApi
from config import ROLES, Settings
from core.bootstrap import build_container
from core.models.factory import describe
from core.ports.clock import Clock


@dataclass(frozen=True)
class Opened:
    """The running app."""

    turns: TurnApi
    clock: Clock


def open_app(settings: Settings) -> Opened:
    """Build the app; raises ConfigError or StoreError before any turn."""
    container = build_container(settings)
    return Opened(Conversation(container), container.clock)


def models_in_use(settings: Settings) -> tuple[ModelUse, ...]:
    """The model of each agent; raises ConfigError for a name that is not known."""
    infos = [describe(role, settings) for role in ROLES]
    return tuple(ModelUse(info.role, info.name, info.note) for info in infos)
