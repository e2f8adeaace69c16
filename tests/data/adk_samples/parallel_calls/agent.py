"""Two calls of a tool at once, and one of another, which keep what they did in the state."""

from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext


def price(item: str, tool_context: ToolContext) -> dict[str, int]:
    """The price of an item in yen."""
    asked = tool_context.state.get("asked", [])
    tool_context.state["asked"] = [*asked, item]
    return {"yen": {"tea": 300, "cake": 450}.get(item, 0)}


def opening_hours(day: str) -> str:
    """When the shop is open on a day."""
    return f"{day}: 9 to 17"


root_agent = LlmAgent(
    name="shop",
    model="gemini-2.5-flash",
    instruction="Answer questions about the shop.",
    tools=[price, opening_hours],
)
