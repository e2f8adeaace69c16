"""Ask a model for a summary of a few messages, as an agent of one's own does."""

from google.adk.models.base_llm import BaseLlm

from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.core.schemas.session import ConversationSummary
from acc_ace.ext.strategies import model_summarizer
from acc_ace.turn.structured_call import load_prompts
from config import Settings
from schemas.message import Message, MessageRole
from tests.fakes.clock import START

READINGS = [f"Sensor {number} reads {number * 7} degrees today." for number in range(4)]


async def summary_of(model: BaseLlm) -> str:
    """The summary; raises ModelError without one."""
    completion = DirectCompletion(model, ConversationSummary, Settings().compressor)
    summarize = model_summarizer(completion, load_prompts().summarizer, max_tokens=200)
    messages = [
        Message(id=str(number), timestamp=START, role=MessageRole.USER, content=text)
        for number, text in enumerate(READINGS)
    ]
    return await summarize("", messages)
