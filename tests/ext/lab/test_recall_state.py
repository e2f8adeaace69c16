"""The state helps recall where the input alone says too little, and never gets in its way."""

import pytest

from bench.recall_state import ablate
from tests.fakes.extensions import needs


@needs("embedded")
@pytest.mark.parametrize("language", ["en", "ja"])
async def test_follow_ups_find_their_fact_through_the_state(language: str) -> None:
    ablation = await ablate(language, 2)
    assert ablation.found_by_input <= 0.4
    assert ablation.first_by_both == 1.0
    assert ablation.switch_by_both == ablation.switch_by_input == 1.0
