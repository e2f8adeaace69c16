"""Tool calls that wait for a yes or no at the prompt."""

from collections.abc import Sequence

from acc_ace.core.schemas.report import WaitingCall
from acc_ace.core.text.rules.consent import plain_answer


class ConfirmationDesk:
    """The calls of one paused turn, asked about one after the other, and their answers."""

    def __init__(self) -> None:
        self._waiting: list[WaitingCall] = []
        self._answers: dict[str, bool] = {}

    @property
    def question(self) -> str | None:
        """What is asked now; None when nothing waits."""
        return self._waiting[0].question if self._waiting else None

    def take(self, calls: Sequence[WaitingCall]) -> bool:
        """Ask about the calls of a turn; False when one of them is no question of yes or no."""
        if any(call.question is None for call in calls):
            return False
        self._waiting, self._answers = list(calls), {}
        return True

    def answer(self, line: str) -> bool:
        """Whether a whole line was a yes or no to the question, in any language of rules."""
        yes = plain_answer(line) if self._waiting else None
        if yes is None:
            return False
        self._answers[self._waiting.pop(0).id] = yes
        return True

    def hand_over(self) -> dict[str, bool]:
        """The answers by call, once there is one for each; then they are gone from here."""
        if self._waiting:
            return {}
        answers, self._answers = self._answers, {}
        return answers

    def drop(self) -> bool:
        """Ask no more; whether anything was asked."""
        is_waiting, self._waiting, self._answers = bool(self._waiting), [], {}
        return is_waiting
