"""A workflow: a function counts, an agent answers with what it counted."""

from google.adk.agents import LlmAgent
from google.adk.workflow import START, Workflow


def letters(node_input: str) -> str:
    """How many letters were sent."""
    return f"{len(str(node_input))} letters"


speaker = LlmAgent(
    name="speaker",
    model="gemini-2.5-flash",
    instruction="Say what was counted.",
    output_key="spoken",
)
root_agent = Workflow(name="counter", edges=[(START, letters, speaker)])
