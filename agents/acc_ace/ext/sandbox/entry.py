"""What the sandbox offers: the Claude Code CLI as a model, and a playground. Both are off at first.

Each is imported when it is asked for.
"""

from collections.abc import Sequence
from typing import Final

from google.adk.models import BaseLlm

from acc_ace.config import Settings
from acc_ace.config import settings as process_settings
from acc_ace.errors import ConfigError


class SandboxEntry:
    """The hooks `models` and `commands`."""

    builds_on = ("openai_compatible", "survivor", "guard")

    def build(self, name: str, settings: Settings | None = None) -> BaseLlm | None:
        """The bridge, if the name is of its models; starts nothing. ConfigError where it is off."""
        if not name.startswith("claude-cli/"):
            return None
        from acc_ace.ext.sandbox.claude_cli import ClaudeCliLlm  # noqa: PLC0415

        options = (settings or process_settings()).claude_cli
        if not options.command:
            raise ConfigError(f"model {name!r} is off: set ACC_ACE_CLAUDE_CLI__COMMAND=claude")
        return ClaudeCliLlm(model=name, options=options)

    def says_label(self, answer: str) -> bool:
        """Its answers have no label."""
        return False

    def commands(self, group: str) -> Sequence[str]:
        """`playground` and `workspace`."""
        return ("acc_ace.ext.sandbox.commands",) if group == "" else ()


ENTRY: Final = SandboxEntry()
