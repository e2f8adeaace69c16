"""What was said later about a subject is there whenever what was said before is."""

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.model_settings import AgentSettings
from bench.facts_replaced import rows, shown, talk, verdict
from config import Settings
from tests.fakes.clock import FixedClock
from tests.fakes.extensions import needs

KEY = SessionKey("acc_ace", "user", "s1")


@pytest.mark.parametrize("half", ["tuned", "held"])
@pytest.mark.parametrize("at", [0, 1, 20, 29])
@needs("embedded")
async def test_a_value_that_was_replaced_in_other_words_is_not_shown_alone(
    half: str, at: int
) -> None:
    engine = AgentSettings(model="embedded/rules")
    settings = Settings(store="memory", learning="off", qualifier=engine, compressor=engine)
    container = build_container(settings)
    row = rows(half)[at]
    state = await shown(container, talk(row, 10), user="user")
    await container.close()
    assert verdict(row, state) == "right", state


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        (["The ticket price is 40 euros.", "They raised it to 55 euros."], {"2"}),
        (["入場料は100円です。", "120円に値上げしました。"], {"2"}),
        (["The ticket price: ask Eva.", "A lamp.", "A door.", "Eva has left us."], {"2", "4"}),
        (["The ticket price is 40 euros.", "ok " * 60], set()),
        (["They raised it to 55 euros.", "The ticket price is 40 euros."], set()),
    ],
)
async def test_what_was_said_right_after_or_names_the_subject_later_comes_along(
    said: list[str], comes: set[str]
) -> None:
    clock = FixedClock()
    container = build_container(Settings(store="memory"), clock)
    for number, text in enumerate(said, start=1):
        await container.artifacts.add([_turn(number, text, clock)])
        clock.advance(seconds=60)
    query = RecallQuery(key=KEY, text="What is the ticket price? 入場料は?", limit=4)
    found = (await container.artifacts.recall(query)).candidates
    later = {
        each.artifact.artifact_id.rpartition(":")[2]
        for each in found
        if any(why.startswith("later than") for why in each.why)
    }
    assert later == comes
    await container.close()


def _turn(number: int, said: str, clock: FixedClock) -> Artifact:
    return Artifact(
        artifact_id=f"turn:s1:{number}",
        content=f"user: {said}\nagent: Noted.",
        source="turn",
        created_at=clock.now(),
        tenant=KEY.tenant,
        kind=ArtifactKind.TURN,
        authority=Authority.AGENT,
        session=KEY.session,
        turn=number,
    )
