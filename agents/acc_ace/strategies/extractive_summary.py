"""A summary without a model: rules first, then what was said, the newest most."""

from collections.abc import Sequence

from acc_ace.schemas.message import Message, MessageRole
from acc_ace.text.rules.rule_detection import detect_rules
from acc_ace.text.tokens import clip_tokens, estimate_tokens

_SAID_TOKENS = 40
_ANSWER_TOKENS = 20


def extract_summary(previous: str, messages: Sequence[Message], *, max_tokens: int) -> str:
    """Quotes of the messages within `max_tokens`, one a line, in their order.

    The user's rules are kept before anything else, then the newest lines; of the previous
    summary what still fits.
    """
    rules = [
        span.sentence
        for message in messages
        if message.role is MessageRole.USER and message.authority.may_rule
        for span in detect_rules(message.content or "")
    ]
    lines = [*previous.splitlines(), *(line for message in messages for line in _lines(message))]
    kept: list[str] = []
    left = max_tokens
    for line in [*(f"user: {rule}" for rule in rules), *_ruling(previous), *reversed(lines)]:
        cost = estimate_tokens(line)
        if cost <= left and line not in kept:
            kept.append(line)
            left -= cost
    order = {line: at for at, line in enumerate(lines)}
    return "\n".join(sorted(kept, key=lambda line: order.get(line, -1)))


def _lines(message: Message) -> list[str]:
    if message.role is MessageRole.TOOL:
        return [
            f"{result.name}: {clip_tokens(_flat(result.result), _ANSWER_TOKENS)}"
            for result in message.tool_results
        ]
    if not message.content:
        return []
    if message.role is MessageRole.USER:
        return [f"{message.authority}: {clip_tokens(_flat(message.content), _SAID_TOKENS)}"]
    return [f"agent: {clip_tokens(_flat(message.content), _ANSWER_TOKENS)}"]


def _ruling(previous: str) -> list[str]:
    """Lines of the previous summary that hold a rule of the user."""
    return [
        line
        for line in previous.splitlines()
        if line.startswith("user: ") and detect_rules(line.removeprefix("user: "))
    ]


def _flat(text: str) -> str:
    return " ".join(text.split())
