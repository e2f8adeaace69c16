"""A conversation is handed to another agent, goes on with it, and comes back."""

from google.adk.agents import LlmAgent


def invoice(number: int) -> dict[str, str]:
    """Whether an invoice is paid."""
    return {"invoice": str(number), "status": "paid" if number % 2 else "open"}


billing = LlmAgent(
    name="billing",
    model="gemini-2.5-flash",
    description="Knows invoices.",
    instruction="Answer questions about invoices.",
    tools=[invoice],
)
root_agent = LlmAgent(
    name="reception",
    model="gemini-2.5-flash",
    instruction="Hand questions to who knows.",
    sub_agents=[billing],
)
