"""Which models a re-run may ask: those that the settings name, and any for an operator."""

from typing import Final

from google.adk.models import BaseLlm

from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.core.schemas.trace import ModelCall
from acc_ace.errors import ForbiddenError
from acc_ace.model_settings import AgentSettings

_OPTIONS: Final = ("thinking", "temperature", "top_p", "seed", "safety", "first_token_timeout_s")
"""Options that another kind of model may not take."""


def model_names(settings: Settings, call: ModelCall) -> list[str]:
    """The model that answered the turn, then the others of the settings."""
    own = [settings.model_name(role) for role in ROLES]
    fallbacks = [settings.agent(role).fallback for role in ROLES]
    return [*dict.fromkeys(filter(None, (call.model, *own, *fallbacks)))]


def block_of(settings: Settings, call: ModelCall, name: str, *, any_model: bool) -> AgentSettings:
    """How the model is called: as the Generator's, whose options only its own model is given.

    Raises ForbiddenError.
    """
    if not any_model and name not in model_names(settings, call):
        raise ForbiddenError(
            f"the settings do not name the model {name!r}; name it in a model or FALLBACK of the "
            "settings, or ask as one of ACC_ACE_OPERATORS"
        )
    block, fields = settings.generator, AgentSettings.model_fields
    is_own = name == settings.model_name("generator")
    options = {} if is_own else {option: fields[option].default for option in _OPTIONS}
    return block.model_copy(update={**options, "model": name, "fallback": ""})


def build(container: Container, block: AgentSettings) -> BaseLlm:
    """The model of a block. Raises ConfigError.

    Also for one without a price where a ceiling of costs is set.
    """
    container.spending.require_prices([block.model])
    settings = container.settings.model_copy(update={"generator": block})
    return container.parts.build_model("generator", settings)
