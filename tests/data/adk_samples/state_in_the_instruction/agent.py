"""What a tool wrote into the state, of the session and of the user, is in the next instruction."""

from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext


def choose_seat(seat: str, tool_context: ToolContext) -> str:
    """Choose a seat, and remember whether the guest likes windows."""
    tool_context.state["seat"] = seat
    tool_context.state["user:likes_windows"] = seat.endswith("A")
    tool_context.state["temp:last"] = seat
    return f"{seat} is yours"


root_agent = LlmAgent(
    name="steward",
    model="gemini-2.5-flash",
    instruction="The guest sits at {seat?}. Likes windows: {user:likes_windows?}",
    tools=[choose_seat],
)
