"""What was said at turn 5 is answered at turn 30, from the state or by the offered tool."""

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from bench.plugin_recall import play, run, variants, where
from tests.fakes.extensions import needs

VARIANTS = variants()
NAMED, NEEDED, JAPANESE = VARIANTS[0], VARIANTS[25], VARIANTS[-1]


@needs("semantic")
@pytest.mark.parametrize(
    ("variant", "found"),
    [(NAMED, "state"), (NEEDED, "tool"), (JAPANESE, "tool")],
    ids=["asked by its name", "asked by its use", "in Japanese"],
)
async def test_a_fact_of_turn_5_is_known_at_turn_30(variant: object, found: str) -> None:
    assert isinstance(variant, type(NAMED))
    container = build_container(Settings(store="memory", learning="off"))
    answer = await play(container, variant, user="ops")
    assert where(answer, variant) == found
    await container.close()


@pytest.mark.soak
async def test_fifty_of_fifty_are_known() -> None:
    found = await run()
    assert (sum(found.values()), found["lost"]) == (50, 0)
