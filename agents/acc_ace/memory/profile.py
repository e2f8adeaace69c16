"""A small profile of a user: what they said of themself, one fact for each subject, newest first.

A fact is a note of the user's own words, where and when they were said; what is said later of the
same subject takes its place, and the oldest goes out. It is quoted, and never a rule. It is
corrected and forgotten like any artifact, and goes with the turn that it was said in; what it had
replaced, kept as superseded, then holds again.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.commands import parse_command
from acc_ace.core.gates.qualification_gate import NEAR_BEST, RELEVANT_SCORE
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecalledArtifact, RecallQuery
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.schemas.commit import Repair
from acc_ace.core.schemas.interaction import AboutUser, TurnInput
from acc_ace.core.schemas.profile import Profile, UserFact
from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.redaction import redact
from acc_ace.core.text.rules.own_words import OwnWords
from acc_ace.core.text.rules.reading import message_of, numbered_words
from acc_ace.core.text.rules.self_statements import concerns_user, self_statement
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.memory.artifact_edit import CORRECTED
from acc_ace.memory.artifact_store import ArtifactListing
from acc_ace.memory.derivation import BEFORE

MOST_FACTS: Final = 24
_MOST_STORED: Final = 4 * MOST_FACTS

_PREFIX: Final = "fact:"
_SOURCE: Final = "user:"
_SUBJECT_TOKENS: Final = 8
_FACT_TOKENS: Final = 48


class NewFacts(NamedTuple):
    """What a reply leaves in the profile, and what it pointed at in vain."""

    facts: list[Artifact]
    repairs: list[Repair]


async def profile_artifacts(
    container: Container, tenant: Tenant, most: int = MOST_FACTS, prefix: str = _PREFIX
) -> list[Artifact]:
    """The facts, newest first; none where the store cannot list. Raises StoreError.

    More may be stored: those that newer ones have put out go with the next that are noted.
    """
    store = container.artifacts
    if not isinstance(store, ArtifactListing):
        return []
    page = await store.page(tenant, limit=_MOST_STORED, after=prefix)
    facts = (each for each in page if each.artifact_id.startswith(prefix))
    return sorted(facts, key=lambda fact: fact.created_at, reverse=True)[:most]


async def user_profile(container: Container, tenant: Tenant) -> Profile:
    """The profile as a person reads it. Raises StoreError."""
    zone = container.settings.zone
    return Profile(
        facts=[
            UserFact(
                artifact_id=each.artifact_id,
                subject=subject_of(each),
                text=each.content,
                day=each.created_at.astimezone(zone).date(),
                session=each.session,
                turn=each.turn,
            )
            for each in await profile_artifacts(container, tenant)
        ]
    )


async def facts_before(container: Container, key: SessionKey, turn: int) -> list[Artifact]:
    """What was said in undone turns of a session had replaced, as it was. Raises StoreError."""
    facts, replaced = await _stored(container, key.tenant)
    gone = {fact.artifact_id for fact in facts if _is_after(fact, key, turn)}
    return [
        each.model_copy(update={"artifact_id": each.superseded_by, "superseded_by": None})
        for each in reversed(replaced)  # The newest of a subject comes last, and holds.
        if each.superseded_by in gone and not _is_after(each, key, turn)
    ]


async def forget_after(container: Container, key: SessionKey, turn: int) -> None:
    """Forget what was said in the undone turns of a session. Raises StoreError."""
    for fact in chain(*await _stored(container, key.tenant)):
        if _is_after(fact, key, turn):
            await container.artifacts.remove(key.tenant, fact.artifact_id)


async def _stored(container: Container, tenant: Tenant) -> list[list[Artifact]]:
    """The facts, and those that they have replaced."""
    names = (_PREFIX, f"{BEFORE}{_PREFIX}")
    return [await profile_artifacts(container, tenant, _MOST_STORED, name) for name in names]


def _is_after(fact: Artifact, key: SessionKey, turn: int) -> bool:
    return fact.session == key.session and (fact.turn or 0) > turn


def subject_of(fact: Artifact) -> str:
    """What a fact is about."""
    return fact.source.removeprefix(_SOURCE).removesuffix(CORRECTED)


async def with_profile(
    container: Container,
    query: RecallQuery,
    candidates: Sequence[RecalledArtifact],
    *,
    is_first: bool,
) -> list[RecalledArtifact]:
    """The candidates, and what is known of the user: first where x_t asks about that.

    At a session's start (`is_first`) it comes behind what x_t asks for. Raises StoreError.
    """
    is_asked = concerns_user(query.text)
    if not is_asked and not (is_first and container.settings.bootstrap):
        return [*candidates]
    best = max((each.score for each in candidates), default=0.0)
    score = max(RELEVANT_SCORE, best if is_asked else NEAR_BEST * best)
    profile = [
        RecalledArtifact(artifact=fact, score=score, why=["known of the user"])
        for fact in await profile_artifacts(container, query.key.tenant)
    ]
    names = {each.artifact.artifact_id for each in profile}
    others = [each for each in candidates if each.artifact.artifact_id not in names]
    return [*profile, *others] if is_asked else [*others, *profile]


async def new_facts(
    container: Container,
    key: SessionKey,
    entries: Sequence[AboutUser],
    messages: Sequence[TurnInput],
    *,
    places: Sequence[tuple[int, datetime]],
    rules: Sequence[str],
) -> NewFacts:
    """What a CCM points at in the messages that it read, x_t first, as its numbers count them.

    Each message has its turn and time. Only the user's own words become facts, whatever the CCM
    makes of them. Facts are removed only for newer ones that are committed: this turn may fail.
    Raises StoreError.
    """
    if not isinstance(container.artifacts, ArtifactListing):
        # What cannot be listed could be neither seen nor bounded.
        return NewFacts([], [])
    # In a thread: each sentence is read for rules.
    news = await asyncio.to_thread(_facts_of, key, entries[:MOST_FACTS], messages, places, rules)
    facts, replaced = await _stored(container, key.tenant)
    for fact in (*facts[MOST_FACTS:], *replaced[MOST_FACTS:]):
        await container.artifacts.remove(fact.tenant, fact.artifact_id)
    olds = {each.artifact_id: each for each in facts}
    with_olds = (_in_place(new, olds.get(new.artifact_id)) for new in news.facts)
    return news._replace(facts=[*chain(*with_olds)])


def _in_place(new: Artifact, old: Artifact | None) -> list[Artifact]:
    """A fact and the one that it replaces; none where that was said later, and read earlier."""
    if old is None or (old.session, old.turn) == (new.session, new.turn):
        return [new]
    name = f"{BEFORE}{old.artifact_id}:{old.created_at:%Y%m%d%H%M%S%f}"
    before = old.model_copy(update={"artifact_id": name, "superseded_by": old.artifact_id})
    return [before, new] if old.created_at <= new.created_at else []


def _facts_of(
    key: SessionKey,
    entries: Sequence[AboutUser],
    messages: Sequence[TurnInput],
    places: Sequence[tuple[int, datetime]],
    rules: Sequence[str],
) -> NewFacts:
    owns = numbered_words(messages)
    facts, repairs = dict[str, Artifact](), list[Repair]()
    for entry in entries:
        at, text = _pointed(entry, owns, rules)
        if not text or parse_command(messages[at].text) is not None:
            detail = clip_tokens(one_line(f"{entry.subject} {entry.quote}"), _SUBJECT_TOKENS)
            repairs.append(Repair(field="about_user", reason="not_own_words", detail=detail))
            continue
        fact = _fact(key, entry.subject or text, text, places[at])
        earlier = facts.get(fact.artifact_id)
        if earlier is None or earlier.created_at <= fact.created_at:
            facts[fact.artifact_id] = fact
    return NewFacts([*facts.values()], repairs)


def _pointed(entry: AboutUser, owns: Sequence[OwnWords], rules: Sequence[str]) -> tuple[int, str]:
    """The message and the words that an entry points at; without a number, the first with them."""
    at, number = message_of(entry.number, owns)
    possible = [at] if number else [*range(1, len(owns)), 0]
    words = ((each, self_statement(owns[each], number, entry.quote, rules)) for each in possible)
    return next((each for each in words if each[1]), (0, ""))


def _fact(key: SessionKey, subject: str, text: str, place: tuple[int, datetime]) -> Artifact:
    turn, at = place
    label = clip_tokens(redact(one_line(subject)).replace(",", " "), _SUBJECT_TOKENS)
    digest = hashlib.sha256(" ".join(label.casefold().split()).encode("utf-8", "replace"))
    return Artifact(
        # In digits, which are easy to type.
        artifact_id=f"{_PREFIX}{int.from_bytes(digest.digest()[:4])}",
        # Redacted first: a secret that is cut has lost the end by which it is known.
        content=clip_tokens(redact(one_line(text)), _FACT_TOKENS),
        source=f"{_SOURCE}{label}",
        created_at=at,
        tenant=key.tenant,
        kind=ArtifactKind.NOTE,
        # Its words are the user's own. As what is recalled, they make no rule all the same.
        authority=Authority.USER,
        session=key.session,
        turn=turn,
    )
