"""Bounded memory (ACC) and a self-improving playbook (ACE) for Google ADK agents.

The names below are the public API, each loaded when it is first asked for: `import acc_ace` costs
nothing, and `app` and `root_agent`, which ADK's loaders look for, read the settings of the
process. Everything else in this package is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acc_ace.agent import app, root_agent
    from acc_ace.config import Settings, settings
    from acc_ace.controller import AccController
    from acc_ace.conversation import Conversation
    from acc_ace.plugin import BoundedMemoryPlugin
    from acc_ace.schemas.artifact import Artifact
    from acc_ace.schemas.base import Authority, SessionKey
    from acc_ace.schemas.bullet import Bullet
    from acc_ace.schemas.ccs import CompressedCognitiveState
    from acc_ace.schemas.commit import CommittedState
    from acc_ace.schemas.delta import DeltaBatch, DeltaOperation
    from acc_ace.schemas.interaction import GeneratorOutput, ToolResult, TurnInput
    from acc_ace.schemas.limits import Limits
    from acc_ace.schemas.playbook import Playbook
    from acc_ace.schemas.reflection import Reflection
    from acc_ace.schemas.report import TurnReport

__all__ = [
    "AccController",
    "Artifact",
    "Authority",
    "BoundedMemoryPlugin",
    "Bullet",
    "CommittedState",
    "CompressedCognitiveState",
    "Conversation",
    "DeltaBatch",
    "DeltaOperation",
    "GeneratorOutput",
    "Limits",
    "Playbook",
    "Reflection",
    "SessionKey",
    "Settings",
    "ToolResult",
    "TurnInput",
    "TurnReport",
    "app",
    "root_agent",
    "settings",
]

_MODULES: Final = {
    "AccController": "controller",
    "Artifact": "schemas.artifact",
    "Authority": "schemas.base",
    "BoundedMemoryPlugin": "plugin",
    "Bullet": "schemas.bullet",
    "CommittedState": "schemas.commit",
    "CompressedCognitiveState": "schemas.ccs",
    "Conversation": "conversation",
    "DeltaBatch": "schemas.delta",
    "DeltaOperation": "schemas.delta",
    "GeneratorOutput": "schemas.interaction",
    "Limits": "schemas.limits",
    "Playbook": "schemas.playbook",
    "Reflection": "schemas.reflection",
    "SessionKey": "schemas.base",
    "Settings": "config",
    "ToolResult": "schemas.interaction",
    "TurnInput": "schemas.interaction",
    "TurnReport": "schemas.report",
    "app": "agent",
    "root_agent": "agent",
    "settings": "config",
}


def __getattr__(name: str) -> object:
    """A public name, from the module that defines it. Not kept here: ADK may reload `agent`."""
    if name == "agent":  # `adk eval` takes this file for a module of its own, and asks it for this.
        return import_module("acc_ace.agent")
    if name not in _MODULES:
        raise AttributeError(f"module 'acc_ace' has no attribute {name!r}")
    return getattr(import_module(f"acc_ace.{_MODULES[name]}"), name)
