"""The terminal's own [y/N] about rules and goal: for a person, outside of the conversation.

What was typed before the question was shown cannot be meant for it, so it is discarded.
"""

import importlib
import select
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from acc_ace.core.gates.consent_notes import Language
from acc_ace.core.schemas.commit import ChangeKind
from acc_ace.core.schemas.report import ReportedQuestion
from acc_ace.core.text.normalize import language_of

Ask = Callable[[], str | None]
"""The line that a person typed in answer to the question on the screen; '' or None for none."""

_YES: Final = frozenset({"y", "yes", "はい"})
_QUIET_S: Final = 0.1
_MOST_DRAINS: Final = 20
"""Rounds of discarding; who types on through all of them is not asked."""

_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        ChangeKind.ADD: "Keep this as a rule?",
        ChangeKind.PERMIT: "Allow this from now on?",
        ChangeKind.RELEASE: "Lift {rule_id}?",
        ChangeKind.AMEND: "Change {rule_id}?",
        ChangeKind.GOAL: "Take this as the goal?",
        "before": "  before: {text}",
        "after": "  after:  {text}",
        "none": "(none)",
    },
    "ja": {
        ChangeKind.ADD: "ルールにしますか？",
        ChangeKind.PERMIT: "今後これを許可しますか？",
        ChangeKind.RELEASE: "{rule_id} を解除しますか？",
        ChangeKind.AMEND: "{rule_id} を変更しますか？",
        ChangeKind.GOAL: "これを目標にしますか？",
        "before": "  変更前：{text}",
        "after": "  変更後：{text}",
        "none": "（なし）",
    },
}


def terminal_ask() -> Ask | None:
    """Ask at this terminal; None without one, or where typed-ahead input cannot be discarded."""
    if find_spec("termios") is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    return partial(_asked_line, importlib.import_module("termios"))


def is_yes(line: str | None) -> bool:
    """Whether an answer to [y/N] is a yes: these three words alone."""
    return (line or "").strip().lower() in _YES


def change_lines(question: ReportedQuestion) -> str:
    """A question in full: what it is about, before and after."""
    words = _WORDS[language_of(question.quote)]
    sides = [("before", question.before or words["none"])]
    sides += [("after", text) for text in question.after or [words["none"]]]
    asked = words[question.kind].format(rule_id=question.rule_id)
    return "\n".join([asked, *(words[side].format(text=text) for side, text in sides)])


def _asked_line(termios: ModuleType) -> str:
    """Read one line that was typed now; '' at Ctrl-D, or where the terminal cannot tell."""
    try:
        if not _drained(termios):
            return ""
    except termios.error:
        return ""
    sys.stdout.write("[y/N] ")
    sys.stdout.flush()
    # Not by input(): the answer is no line of the prompt's history.
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        sys.stdout.write("\n")
    return line


def _drained(termios: ModuleType) -> bool:
    """Discard input until none comes; a paste that is still arriving comes in several pieces."""
    for _ in range(_MOST_DRAINS):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        if not select.select([sys.stdin], [], [], _QUIET_S)[0]:
            # A line without its end is not announced.
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            return True
    return False
