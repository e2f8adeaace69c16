"""A coordinator that transfers to two specialists, under the memory plugin.

The specialist that takes over knows the rules that were set before it was asked, although it
sees no transcript.
"""

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace import BoundedMemoryPlugin, settings

_TOPICS = {"invoice": "billing", "refund": "billing", "disk": "operations", "restart": "operations"}


def route(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Transfer by topic without asking a model; leave the rest to the model."""
    parts = (llm_request.contents[-1].parts if llm_request.contents else None) or []
    text = " ".join(part.text for part in parts if part.text).lower()
    for topic, agent in _TOPICS.items():
        if topic in text and agent != callback_context.agent_name:
            call = types.FunctionCall(name="transfer_to_agent", args={"agent_name": agent})
            content = types.Content(role="model", parts=[types.Part(function_call=call)])
            return LlmResponse(content=content)
    return None


def specialist(name: str, description: str) -> LlmAgent:
    """One of the agents that questions are transferred to."""
    return LlmAgent(
        name=name,
        description=description,
        model=settings().model_name("generator"),
        instruction=f"You are the specialist for {name}. Be short.",
        before_model_callback=route,
    )


root_agent = LlmAgent(
    name="coordinator",
    description="Knows who answers what.",
    model=settings().model_name("generator"),
    instruction="Transfer to the specialist who knows; answer small talk yourself.",
    sub_agents=[
        specialist("billing", "Invoices and refunds."),
        specialist("operations", "Hosts, disks and restarts."),
    ],
    before_model_callback=route,
)

app = App(name="plugin_transfer", root_agent=root_agent, plugins=[BoundedMemoryPlugin()])
