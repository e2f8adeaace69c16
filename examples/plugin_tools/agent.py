"""A plain LlmAgent with two tools, as one finds it anywhere, under the memory plugin."""

from datetime import UTC, datetime

from google.adk.agents import LlmAgent
from google.adk.apps import App

from acc_ace.config import settings
from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.text.arithmetic import evaluate


def calculate(expression: str) -> dict[str, float]:
    """Calculate an arithmetic expression.

    Args:
        expression: Such as "(17.5 * 3) / 2".
    """
    return {"value": evaluate(expression)}


def current_time() -> dict[str, str]:
    """Tell the current date and time in UTC."""
    return {"time": datetime.now(UTC).isoformat(timespec="seconds")}


root_agent = LlmAgent(
    name="desk",
    description="Answers questions of the operations desk.",
    model=settings().model_name("generator"),
    instruction="You help the operations desk. Be short.",
    tools=[calculate, current_time],
)

app = App(name="plugin_tools", root_agent=root_agent, plugins=[BoundedMemoryPlugin()])
