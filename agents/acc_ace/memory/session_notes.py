"""What a session leaves in long-term memory: entities, preferences, lessons, with provenance.

Notes are data. They have the agent's authority, so that recalling one can never make a rule, and
each names the session and turn whose words it quotes. Secrets and personal details are redacted.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Interaction
from acc_ace.core.schemas.session import SessionMemory
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.redaction import redact
from acc_ace.core.text.rules.own_words import by_speaker
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import clip_tokens

NOTES_OF_A_KIND = 8
"""Preferences, and lessons, that are noted of the turns of one call; the newest of more."""

_NOTE_TOKENS = 80

ENTITIES = "entities"
PREFERENCE = "preference"
LESSON = "lesson"

_PREFERS = lazy_pattern(
    r"\bI(?:'d| would)? (?:always |really |usually )?(?:prefer|like|love|want|hate|dislike)\b"
    r"|\bmy (?:favou?rite|preferred)\b|\bplease always\b|\bcall me\b|\bfrom now on\b"
    r"|が好き|が嫌い|の方がいい|のほうがいい|してほしい|と呼んで|今後は|いつも.{1,40}(?:して|ください)",
    re.IGNORECASE,
)
_TEACHES = lazy_pattern(
    r"\blesson\b|\bnext time\b|\bturned out\b|\bthat was wrong\b|\bthe (?:real |root )?cause was\b"
    r"|\bit was (?:actually|caused)\b|\bactually,|\bworked\b|\bfixed (?:it|by)\b|\bshould have\b"
    r"|教訓|次回は|次からは|原因は|間違って|正しくは|実は|解決した|直った",
    re.IGNORECASE,
)


def extract_by_rule(turns: Sequence[Interaction], entities: Sequence[str]) -> SessionMemory:
    """Notes by common phrases, English and Japanese; a fallback for any model."""
    turns_of_user = [
        sentence
        for turn in turns
        if turn.input.authority.may_rule
        for sentence in split_sentences(_own_words(turn))
        if not sentence.endswith(("?", "？"))
    ]
    return SessionMemory(
        entities=list(entities),
        preferences=[sentence for sentence in turns_of_user if _PREFERS.search(sentence)],
        lessons=[sentence for sentence in turns_of_user if _TEACHES.search(sentence)],
    )


def notes_of(
    key: SessionKey,
    turns: Sequence[Interaction],
    memories: Sequence[SessionMemory],
    *,
    at: datetime,
) -> list[Artifact]:
    """Artifacts of what was found, the same ids for the same words in any session of the user.

    A preference and a lesson that the user did not say in their own words are left out, whatever
    proposed them: what a tool, a mail or a quotation says of the user is nobody's preference. They
    belong to the last session that says so, and are erased with it.
    """
    own = {turn.turn: _own_words(turn) for turn in turns}
    quotes = [
        *_grounded(PREFERENCE, (q for memory in memories for q in memory.preferences), own),
        *_grounded(LESSON, (q for memory in memories for q in memory.lessons), own),
    ]
    last = turns[-1].turn if turns else 0
    entities = _unique(e for memory in memories for e in memory.entities if ":" in e)
    if entities:
        quotes.insert(0, (ENTITIES, ", ".join(entities[: 2 * NOTES_OF_A_KIND]), last))
    quotes.sort(key=lambda quote: quote[2])
    return [
        Artifact(
            artifact_id=_id(kind, text),
            # Redacted first: a secret that is cut has lost the end by which it is known.
            content=f"{kind}: {clip_tokens(redact(text), _NOTE_TOKENS)}",
            source=source_of(key),
            created_at=at,
            tenant=key.tenant,
            kind=ArtifactKind.NOTE,
            authority=Authority.AGENT,
            session=key.session,
            turn=turn,
        )
        for kind, text, turn in quotes
    ]


def _own_words(turn: Interaction) -> str:
    """What the user said of their own in a turn, without what they quoted."""
    if not turn.input.authority.may_rule:
        return ""
    return by_speaker(turn.input.text).own.strip()


def source_of(key: SessionKey) -> str:
    """Where the notes of a session say they come from."""
    return f"session:{key.session}"


def _grounded(
    kind: str, quotes: Iterable[str], words: dict[int, str]
) -> list[tuple[str, str, int]]:
    """The newest quotes, with the last turn that says them; what no turn says is left out."""
    grounded: list[tuple[str, str, int]] = []
    for quote in _unique(quotes):
        turns = [turn for turn, text in words.items() if _plain(quote) in _plain(text)]
        if turns:
            grounded.append((kind, quote, turns[-1]))
    return sorted(grounded, key=lambda quote: quote[2])[-NOTES_OF_A_KIND:]


def _unique(texts: Iterable[str]) -> list[str]:
    # Without the speaker and the marks that models put around a quotation.
    lines = (" ".join(text.split()).removeprefix("user: ").strip('"“”「」『』 ') for text in texts)
    return list({_plain(line): line for line in lines if line}.values())


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _id(kind: str, text: str) -> str:
    digest = hashlib.sha256(f"{kind}\n{_plain(text)}".encode("utf-8", "replace")).hexdigest()
    return f"note:{digest[:12]}"
