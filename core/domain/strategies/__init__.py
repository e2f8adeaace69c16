"""The memory strategies: pure functions from a session's data to the messages of a request."""

from core.domain.strategies.acc import Acc
from core.domain.strategies.replay import Replay
from core.domain.strategies.retrieval import Retrieval
from core.domain.strategies.summary import Summarised
from core.domain.strategies.window import Window

__all__ = ["Acc", "Replay", "Retrieval", "Summarised", "Window"]
