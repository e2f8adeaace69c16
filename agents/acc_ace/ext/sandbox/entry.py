"""What the sandbox offers: the Claude Code CLI as a model. Off unless a setting names it."""

from typing import Final

from google.adk.models import BaseLlm

from acc_ace.config import Settings


class SandboxEntry:
    """The hook `models`."""

    builds_on = ("openai_compatible",)

    def build(self, name: str, settings: Settings | None = None) -> BaseLlm | None:
        """The bridge, if the name is of its models; it starts nothing."""
        if not name.startswith("claude-cli/"):
            return None
        from acc_ace.ext.sandbox.claude_cli import ClaudeCliLlm  # noqa: PLC0415

        return ClaudeCliLlm(model=name, options=settings.claude_cli if settings else None)

    def says_label(self, answer: str) -> bool:
        """Its answers have no label."""
        return False


ENTRY: Final = SandboxEntry()
