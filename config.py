"""The settings, for whoever reads a checkout. They are defined in `acc_ace.config`."""

from acc_ace.config import (
    AUTO,
    EMBEDDED_MODEL,
    GEMINI_MODEL,
    ROLES,
    AgentSettings,
    EmbedderSettings,
    GuardMode,
    GuardModelSettings,
    Role,
    Settings,
    block_name,
    disable_unexported_telemetry,
    google_credentials,
    load_settings,
    names_set,
    settings,
)

__all__ = [
    "AUTO",
    "EMBEDDED_MODEL",
    "GEMINI_MODEL",
    "ROLES",
    "AgentSettings",
    "EmbedderSettings",
    "GuardMode",
    "GuardModelSettings",
    "Role",
    "Settings",
    "block_name",
    "disable_unexported_telemetry",
    "google_credentials",
    "load_settings",
    "names_set",
    "settings",
]
