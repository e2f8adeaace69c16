"""Bounded memory (ACC) and a self-improving playbook (ACE) for Google ADK agents.

The names below are the public API, each imported on first access: `import acc_ace` costs nothing,
and `app` and `root_agent`, which ADK's loaders look for, read the settings of the process. Public
modules are `acc_ace.errors`, with every error, and `acc_ace.ext.conformance`, the contract of
every store. Everything else in this package is private. docs/api.md lists what each name is for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acc_ace.agent import app, root_agent
    from acc_ace.bootstrap import build_container
    from acc_ace.config import Settings, load_settings, settings
    from acc_ace.container import Container
    from acc_ace.controller import AccController
    from acc_ace.conversation import Conversation
    from acc_ace.core.schemas.artifact import Artifact, Recall, RecalledArtifact
    from acc_ace.core.schemas.base import Authority, SessionKey
    from acc_ace.core.schemas.bullet import Bullet
    from acc_ace.core.schemas.ccs import CompressedCognitiveState
    from acc_ace.core.schemas.commit import (
        CcsDiff,
        CommitKind,
        CommittedState,
        JournalEntry,
        RuleScope,
    )
    from acc_ace.core.schemas.delta import DeltaBatch, DeltaOperation
    from acc_ace.core.schemas.interaction import Attachment, GeneratorOutput, ToolResult, TurnInput
    from acc_ace.core.schemas.limits import Limits
    from acc_ace.core.schemas.playbook import Playbook
    from acc_ace.core.schemas.qualification import Qualification
    from acc_ace.core.schemas.reflection import Judgement, Reflection
    from acc_ace.core.schemas.report import TurnReport
    from acc_ace.errors import AccAceError
    from acc_ace.models.factory import build_model, register_models
    from acc_ace.plugin import BoundedMemoryPlugin
    from acc_ace.turn.algorithm import (
        CompressionPort,
        DecisionPort,
        EvidencePort,
        Ports,
        QualificationPort,
        RecallPort,
        Turn,
        run_turns,
    )

    __version__: str

__all__ = [
    "AccAceError",
    "AccController",
    "Artifact",
    "Attachment",
    "Authority",
    "BoundedMemoryPlugin",
    "Bullet",
    "CcsDiff",
    "CommitKind",
    "CommittedState",
    "CompressedCognitiveState",
    "CompressionPort",
    "Container",
    "Conversation",
    "DecisionPort",
    "DeltaBatch",
    "DeltaOperation",
    "EvidencePort",
    "GeneratorOutput",
    "JournalEntry",
    "Judgement",
    "Limits",
    "Playbook",
    "Ports",
    "Qualification",
    "QualificationPort",
    "Recall",
    "RecallPort",
    "RecalledArtifact",
    "Reflection",
    "RuleScope",
    "SessionKey",
    "Settings",
    "ToolResult",
    "Turn",
    "TurnInput",
    "TurnReport",
    "app",
    "build_container",
    "build_model",
    "load_settings",
    "register_models",
    "root_agent",
    "run_turns",
    "settings",
]

_MODULES: Final = {
    "agent": "app root_agent",
    "bootstrap": "build_container",
    "config": "Settings load_settings settings",
    "container": "Container",
    "controller": "AccController",
    "conversation": "Conversation",
    "errors": "AccAceError",
    "models.factory": "build_model register_models",
    "plugin": "BoundedMemoryPlugin",
    "core.schemas.artifact": "Artifact Recall RecalledArtifact",
    "core.schemas.base": "Authority SessionKey",
    "core.schemas.bullet": "Bullet",
    "core.schemas.ccs": "CompressedCognitiveState",
    "core.schemas.commit": "CcsDiff CommitKind CommittedState JournalEntry RuleScope",
    "core.schemas.delta": "DeltaBatch DeltaOperation",
    "core.schemas.interaction": "Attachment GeneratorOutput ToolResult TurnInput",
    "core.schemas.limits": "Limits",
    "core.schemas.playbook": "Playbook",
    "core.schemas.qualification": "Qualification",
    "core.schemas.reflection": "Judgement Reflection",
    "core.schemas.report": "TurnReport",
    "turn.algorithm": (
        "CompressionPort DecisionPort EvidencePort Ports QualificationPort RecallPort "
        "Turn run_turns"
    ),
}
"""The public names by the module that defines them."""


def __getattr__(name: str) -> object:
    """Import a public name from its module. Not cached here: ADK may reload `agent`."""
    if name == "__version__":
        return _version()
    if name == "agent":  # `adk eval` loads this file as a module and reads this name from it.
        return import_module("acc_ace.agent")
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"acc_ace.{module}"), name)
    raise AttributeError(f"module 'acc_ace' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and the version."""
    return [*__all__, "__version__"]


def _version() -> str:
    """The installed version; '0+checkout' in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - seldom asked

    try:
        return version("acc-ace")
    except PackageNotFoundError:
        return "0+checkout"
