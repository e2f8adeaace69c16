"""A loop that its critic ends."""

from google.adk.agents import LlmAgent, LoopAgent
from google.adk.tools.exit_loop_tool import exit_loop

author = LlmAgent(
    name="author",
    model="gemini-2.5-flash",
    instruction="Write a title. What was said of the last one: {remark?}",
    output_key="title",
)
critic = LlmAgent(
    name="critic",
    model="gemini-2.5-flash",
    instruction="Say what to change in {title}, or leave the loop.",
    tools=[exit_loop],
    output_key="remark",
)
root_agent = LoopAgent(name="desk", sub_agents=[author, critic], max_iterations=4)
