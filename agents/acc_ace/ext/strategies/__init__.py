"""Memory by messages, for an agent of one's own: token counter, sliding window and summary.

Pure functions from a session's messages to those of a request; nothing of the product's own turn
uses them.
"""

from acc_ace.ext.strategies.contents import contents_of, instruction_of
from acc_ace.ext.strategies.summary import Summarizer, model_summarizer, summarised
from acc_ace.ext.strategies.tokens import Count, CountsTokens, counted_by, estimated
from acc_ace.ext.strategies.window import sliding_window

__all__ = [
    "Count",
    "CountsTokens",
    "Summarizer",
    "contents_of",
    "counted_by",
    "estimated",
    "instruction_of",
    "model_summarizer",
    "sliding_window",
    "summarised",
]
