"""The extension's entry: models behind an OpenAI-compatible endpoint."""

from typing import Any, Final

from acc_ace.ext.openai_compatible.client import OpenAICompatibleLlm
from acc_ace.model_settings import ToolForm


class OpenAICompatibleEntry:
    """The hook `endpoints`."""

    def build(self, name: str, **options: Any) -> OpenAICompatibleLlm:  # noqa: ANN401 - its fields
        """The model of that name; without options, at the endpoint of the settings."""
        return OpenAICompatibleLlm(model=name, **options)

    async def tool_form(self, name: str, **options: Any) -> ToolForm:  # noqa: ANN401 - its fields
        """How the model takes tools, from small requests to it; raises as a call does."""
        return await self.build(name, **options).tool_form()


ENTRY: Final = OpenAICompatibleEntry()
