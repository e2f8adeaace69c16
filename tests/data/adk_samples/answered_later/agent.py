"""A call whose result comes with a later message."""

from google.adk.agents import LlmAgent
from google.adk.tools import LongRunningFunctionTool


def ask_manager(question: str) -> dict[str, str]:
    """Ask the manager, who answers later."""
    return {"status": "pending", "question": question}


root_agent = LlmAgent(
    name="clerk",
    model="gemini-2.5-flash",
    instruction="Ask the manager about holidays.",
    tools=[LongRunningFunctionTool(ask_manager)],
)
