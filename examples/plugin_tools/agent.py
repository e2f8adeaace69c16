"""A plain LlmAgent with two tools, as one finds it anywhere, under the memory plugin."""

import operator
import re
from datetime import UTC, datetime

from google.adk.agents import LlmAgent
from google.adk.apps import App

from acc_ace import BoundedMemoryPlugin, settings

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def calculate(expression: str) -> dict[str, float | str]:
    """Calculate with two numbers.

    Args:
        expression: Two numbers with one of + - * / between them.
    """
    found = re.fullmatch(r"\s*(-?[\d.]+)\s*([-+*/])\s*(-?[\d.]+)\s*", expression)
    if found is None:
        return {"error": "write two numbers with one of + - * / between them"}
    left, sign, right = found.groups()
    return {"value": SIGNS[sign](float(left), float(right))}


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
