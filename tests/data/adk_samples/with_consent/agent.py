"""A call that waits until a person has confirmed it."""

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool


def pay(to: str, yen: int) -> dict[str, str]:
    """Pay somebody."""
    return {"paid": f"{yen} yen to {to}"}


root_agent = LlmAgent(
    name="treasurer",
    model="gemini-2.5-flash",
    instruction="Pay what you are asked to.",
    tools=[FunctionTool(pay, require_confirmation=True)],
)
