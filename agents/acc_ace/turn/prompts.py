"""The prompts of the stages, read from `prompts/*.md`."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from acc_ace.text.prompt import Prompt, load_prompt

PROMPT_DIR = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompts:
    """One prompt for each agent that calls a model."""

    qualifier: Prompt
    compressor: Prompt
    generator: Prompt
    generator_messages: Prompt
    summarizer: Prompt
    extractor: Prompt
    reflector: Prompt
    curator: Prompt

    def digests(self) -> dict[str, str]:
        """Content hash of each prompt, by agent."""
        return {name: getattr(self, name).digest for name in self.__dataclass_fields__}


@lru_cache(maxsize=4)
def load_prompts(directory: Path = PROMPT_DIR) -> Prompts:
    """Read all prompts; raises PromptError that names the file at fault."""
    return Prompts(
        **{name: load_prompt(directory / f"{name}.md") for name in Prompts.__dataclass_fields__}
    )
