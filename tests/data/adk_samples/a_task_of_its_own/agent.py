"""A sub-agent with a task, which it ends with what it found."""

from google.adk.agents import LlmAgent
from pydantic import BaseModel


class Booking(BaseModel):
    """What the task ends with."""

    day: str
    guests: int


booker = LlmAgent(
    name="booker",
    model="gemini-2.5-flash",
    mode="task",
    description="Takes a booking.",
    instruction="Ask for day and guests, then finish.",
    output_schema=Booking,
)
root_agent = LlmAgent(
    name="host",
    model="gemini-2.5-flash",
    instruction="Take bookings.",
    sub_agents=[booker],
)
