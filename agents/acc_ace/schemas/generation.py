"""Output schema of the Generator."""

from pydantic import Field

from acc_ace.schemas.base import Value


class GeneratorOutput(Value):
    """The Generator's answer with its reasoning and the bullets it used (ACE, section 3)."""

    reasoning: list[str] = Field(
        default_factory=list, description="Short steps that led to the answer."
    )
    bullet_ids: list[str] = Field(
        default_factory=list, description="Ids of the playbook bullets that were used."
    )
    final_answer: str = Field(description="The answer to the user, in the user's language.")
