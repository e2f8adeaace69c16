"""Follow the bullets of an answer to what they have become: a merged one to its survivor."""

from collections.abc import Sequence
from dataclasses import replace

from acc_ace.playbook.playbook_store import PlaybookReader
from acc_ace.schemas.bullet import clean_id
from acc_ace.schemas.generation import GeneratorOutput
from acc_ace.schemas.playbook import Playbook
from acc_ace.schemas.tenancy import PlaybookScope
from acc_ace.turn.turn_outcome import TurnOutcome


async def with_current_bullets(
    outcome: TurnOutcome, store: PlaybookReader, scope: PlaybookScope, playbook: Playbook
) -> TurnOutcome:
    """The outcome with the bullets that the used ones are in `playbook`.

    Feedback and corrections may come long after the answer. A bullet that left without a
    successor keeps its id, so that its tag is rejected in the log. Raises StoreError.
    """
    live = frozenset(bullet.id for bullet in playbook.bullets)

    async def current(output: GeneratorOutput) -> GeneratorOutput:
        ids = [await _current(name, live, store, scope) for name in output.bullet_ids]
        return output.model_copy(update={"bullet_ids": list(dict.fromkeys(ids))})

    previous = outcome.previous
    if _all_live(outcome.used_ids, live) and _all_live(outcome.previous_ids, live):
        return outcome
    if previous is not None and previous.decision is not None:
        previous = previous.model_copy(update={"decision": await current(previous.decision)})
    return replace(outcome, generation=await current(outcome.generation), previous=previous)


def _all_live(ids: Sequence[str], live: frozenset[str]) -> bool:
    return all(clean_id(name) in live for name in ids)


async def _current(
    name: str, live: frozenset[str], store: PlaybookReader, scope: PlaybookScope
) -> str:
    bullet_id = clean_id(name)
    if bullet_id in live:
        return bullet_id
    return await store.resolve(scope, bullet_id) or bullet_id
