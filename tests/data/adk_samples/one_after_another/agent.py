"""What one agent wrote is in the state, and in the instruction of the next."""

from google.adk.agents import LlmAgent, SequentialAgent

writer = LlmAgent(
    name="writer",
    model="gemini-2.5-flash",
    instruction="Write a notice of one line.",
    output_key="draft",
)
editor = LlmAgent(
    name="editor",
    model="gemini-2.5-flash",
    instruction="Make this politer: {draft}",
    output_key="notice",
)
root_agent = SequentialAgent(name="press", sub_agents=[writer, editor])
