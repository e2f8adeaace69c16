"""A user who wants something forgotten is shown what memory holds of it and what to type.

Nothing is deleted for free words: only `/forget` with ids as a whole message is a consent, and it
is obeyed before its turn reads memory.
"""

from collections.abc import Sequence
from typing import Final, Literal

from acc_ace.container import Container
from acc_ace.core.gates.commands import Erase, parse_command
from acc_ace.core.schemas.artifact import Erased, MemoryHit
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.normalize import language_of, one_line
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.similarity import content_words
from acc_ace.core.text.telling import is_asked
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import NotFoundError, SessionBusyError
from acc_ace.memory.derivation import BEFORE
from acc_ace.memory.memory_search import search_memory
from acc_ace.turn.erasing import erase_artifacts
from acc_ace.turn.reading import messages
from acc_ace.turn.turn_record import TurnStart

Language = Literal["en", "ja"]

MOST_LISTED: Final = 5
_SHOWN_TOKENS: Final = 40
_SEARCHED: Final = 10

_NOT_YET: Final[dict[Language, str]] = {
    "en": "Nothing is deleted yet. Of '{wish}' memory holds: {hits}. To delete it with what rests "
    "on it, send only: /forget {ids}",
    "ja": "まだ何も削除していません。「{wish}」に関する記憶：{hits}。これに基づく記憶も含めて"
    "削除するには、次の文だけを送ってください：/forget {ids}",
}
_NOTHING: Final[dict[Language, str]] = {
    "en": "Memory holds nothing of '{wish}'; nothing was deleted",
    "ja": "「{wish}」に関する記憶はありません。何も削除していません",
}
_DONE: Final = "Deleted: {ids}"
_SHORTENED: Final = "Taken out of: {ids}"
_ALSO: Final = "Says it too, of your own, and stays: {ids}. To delete it, send only: /forget {ids}"
_SPACED: Final = ", "


async def erase_as_told(
    container: Container, key: SessionKey, turn_input: TurnInput
) -> tuple[str, ...]:
    """Obey `/forget` with ids of artifacts; lines on what went. The caller holds the session.

    Raises StoreError.
    """
    command = parse_command(turn_input.text)
    is_free = bool(turn_input.attachments) or not turn_input.authority.may_rule
    if is_free or not isinstance(command, Erase):
        return ()
    try:
        erased = await erase_artifacts(container, key.tenant, command.artifact_ids, locked=key)
    except (NotFoundError, SessionBusyError) as error:
        return (f"Nothing was deleted: {error}",)
    return tuple(erased_lines(erased))


def erased_lines(erased: Erased) -> list[str]:
    """What a deletion took out of memory, in words."""
    also = erased.also[:MOST_LISTED]
    lines = [_DONE.format(ids=_SPACED.join(erased.removed))]
    lines += [_SHORTENED.format(ids=_SPACED.join(erased.shortened))] if erased.shortened else []
    return [*lines, *([_ALSO.format(ids=" ".join(also))] if also else [])]


async def wish_notes(container: Container, start: TurnStart, wish: str | None) -> tuple[str, ...]:
    """What memory holds of what the user wants forgotten, and what to type. Raises StoreError."""
    wish = one_line(wish or "")
    if not wish or not start.x_t.authority.may_rule or not _is_own(wish, messages(start)):
        return ()
    language = language_of(start.x_t.text)
    found = await search_memory(container, start.key.tenant, wish, limit=_SEARCHED)
    hits = _about(wish, found.hits)
    form = _NOT_YET if hits else _NOTHING
    shown = (f"[{each.artifact_id}] {_shown(each)}" for each in hits)
    line = form[language].format(
        wish=clip_tokens(wish, _SHOWN_TOKENS),
        hits="; ".join(shown),
        ids=" ".join(each.artifact_id for each in hits),
    )
    return (line,)


def _is_own(wish: str, said: Sequence[TurnInput]) -> bool:
    """Whether the user says these words, whatever a model makes of the message."""
    own = [
        content_words(sentence.text)
        for each in said
        if each.authority.may_rule
        for sentence in own_words(each.text).sentences
    ]
    wanted = content_words(wish)
    return bool(wanted) and any(2 * len(wanted & words) >= len(wanted) for words in own)


def _about(wish: str, hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """The hits that share a word with the wish, those that state something first."""
    words = content_words(wish)
    about = [
        each
        for each in hits
        if content_words(each.text) & words
        and not each.artifact_id.startswith((BEFORE, "rest:"))
        and " " not in each.artifact_id
    ]
    return sorted(about, key=lambda each: is_asked(each.text))[:MOST_LISTED]


def _shown(hit: MemoryHit) -> str:
    return f'"{clip_tokens(one_line(hit.text), _SHOWN_TOKENS)}"'
