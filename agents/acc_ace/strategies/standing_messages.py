"""System messages that stand for what the context no longer holds."""

from datetime import datetime

from acc_ace.schemas.authority import Authority
from acc_ace.schemas.memory import CountedMessage
from acc_ace.schemas.message import Message, MessageRole
from acc_ace.text.prompt_inputs import write_input
from acc_ace.text.tokens import estimate_tokens


def standing(
    name: str, value: object, *, at: datetime, said_by: Authority = Authority.AGENT
) -> CountedMessage:
    """A `system` message that holds `value` as a tagged block of quoted data.

    The role says where it stands in the request, not what its words may do: they came from users,
    tools and models, so they are data, with the authority of who wrote them down.
    """
    content = write_input(name, value)
    message = Message(
        id=f"system:{name}",
        timestamp=at,
        role=MessageRole.SYSTEM,
        content=content,
        authority=said_by,
    )
    return CountedMessage(message, estimate_tokens(content))
