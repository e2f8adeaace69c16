"""Open the app: check the models, then open the stores and the conversation."""

from dataclasses import dataclass

from acc_ace.bootstrap import build_container
from acc_ace.cli.turn_api import TurnApi
from acc_ace.clock import Clock
from acc_ace.config import ROLES, Role, Settings
from acc_ace.conversation import Conversation
from acc_ace.errors import ConfigError
from acc_ace.models.factory import ModelInfo, describe


@dataclass(frozen=True)
class RunningApp:
    """The running app."""

    turns: TurnApi
    clock: Clock
    models: tuple[ModelInfo, ...]


def open_app(settings: Settings) -> RunningApp:
    """Build the app. Raises ConfigError or StoreError."""
    models = models_in_use(settings)
    container = build_container(settings)
    return RunningApp(Conversation(container), container.clock, models)


def models_in_use(settings: Settings) -> tuple[ModelInfo, ...]:
    """The model of each agent; raises ConfigError that names the setting of an unknown one."""
    return tuple(_model_of(role, settings) for role in ROLES)


def _model_of(role: Role, settings: Settings) -> ModelInfo:
    try:
        return describe(role, settings)
    except ConfigError as error:
        raise ConfigError(f"ACC_ACE_{role.upper()}__MODEL: {error}") from error
