"""The memory strategies: pure functions from a session's data to the messages of a request."""

from acc_ace.ext.strategies.memory_strategy import Acc
from acc_ace.ext.strategies.retrieval import Retrieval
from acc_ace.ext.strategies.summary import Summarised
from acc_ace.ext.strategies.window import Replay, Window

__all__ = ["Acc", "Replay", "Retrieval", "Summarised", "Window"]
