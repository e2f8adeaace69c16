"""A Workflow of a function, an agent and a function, under the memory plugin."""

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace import BoundedMemoryPlugin, settings


def tidy(node_input: types.Content) -> str:
    """One line of the request, without double spaces."""
    text = " ".join(part.text for part in node_input.parts or [] if part.text)
    return " ".join(text.split())


def sign(node_input: str) -> Event:
    """The report with a signature."""
    return Event(message=f"{node_input}\n\n-- the report desk")


writer = LlmAgent(
    name="writer",
    description="Writes the report.",
    model=settings().model_name("generator"),
    instruction="Answer the request as a short report.",
)

root_agent = Workflow(name="report", edges=[(START, tidy, writer, sign)])

app = App(
    name="plugin_workflow", root_agent=root_agent, plugins=[BoundedMemoryPlugin(root=root_agent)]
)
