"""Open the app: settings, stores and the conversation, in the order in which they can fail."""

from dataclasses import dataclass

from acc_ace.conversation import Conversation
from cli.banner import ModelUse
from cli.turn_api import TurnApi
from config import ROLES, Role, Settings
from core.bootstrap import build_container
from core.errors import ConfigError
from core.models.factory import describe
from core.ports.clock import Clock


@dataclass(frozen=True)
class Opened:
    """The running app."""

    turns: TurnApi
    clock: Clock
    models: tuple[ModelUse, ...]


def open_app(settings: Settings) -> Opened:
    """Build the app; raises ConfigError or StoreError before any turn."""
    models = models_in_use(settings)
    container = build_container(settings)
    return Opened(Conversation(container), container.clock, models)


def models_in_use(settings: Settings) -> tuple[ModelUse, ...]:
    """The model of each agent; raises ConfigError that names the setting of an unknown one."""
    return tuple(_model_use(role, settings) for role in ROLES)


def _model_use(role: Role, settings: Settings) -> ModelUse:
    try:
        info = describe(role, settings)
    except ConfigError as error:
        raise ConfigError(f"ACC_ACE_{role.upper()}__MODEL: {error}") from error
    return ModelUse(info.role, info.name, info.note)
