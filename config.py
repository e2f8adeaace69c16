"""The settings, for whoever reads a checkout. They are defined in `acc_ace.config`.

`Config` has the models of ACE's three agents under the names of its source document.
"""

from acc_ace.config import (
    AUTO,
    EMBEDDED_MODEL,
    GEMINI_MODEL,
    POLICY_MODEL,
    ROLES,
    AgentSettings,
    EmbedderSettings,
    GuardMode,
    GuardModelSettings,
    Role,
    Settings,
    block_name,
    google_credentials,
    google_endpoint,
    inherited,
    load_settings,
    names_set,
    settings,
    settle_telemetry,
    stop_telemetry,
)

__all__ = [
    "AUTO",
    "EMBEDDED_MODEL",
    "GEMINI_MODEL",
    "POLICY_MODEL",
    "ROLES",
    "AgentSettings",
    "Config",
    "EmbedderSettings",
    "GuardMode",
    "GuardModelSettings",
    "Role",
    "Settings",
    "block_name",
    "google_credentials",
    "google_endpoint",
    "inherited",
    "load_settings",
    "names_set",
    "settings",
    "settle_telemetry",
    "stop_telemetry",
]


class Config(Settings):
    """The settings, read from the environment as `Settings()` are."""

    @property
    def generator_model(self) -> str:
        """The Generator's model, 'auto' resolved; `ACC_ACE_GENERATOR__MODEL` sets it."""
        return self.model_name("generator")

    @property
    def reflector_model(self) -> str:
        """The Reflector's model; `ACC_ACE_REFLECTOR__MODEL` sets it."""
        return self.model_name("reflector")

    @property
    def curator_model(self) -> str:
        """The Curator's model; `ACC_ACE_CURATOR__MODEL` sets it."""
        return self.model_name("curator")
