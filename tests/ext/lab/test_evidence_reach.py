"""What recall finds reaches the Generator's prompt, whether or not the Compressor names it."""

from datetime import UTC, datetime, timedelta

import pytest

from bench.recall.corpus import Corpus, CorpusPassage, Question
from tests.fakes.extensions import needs

_TOPICS = ("harbour", "library", "stadium", "bakery", "museum", "station")


def corpus() -> Corpus:
    """A dialogue in which each place has an opening hour, and a question about each."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    said = [f"The {name} opens at {hour} o'clock." for hour, name in enumerate(_TOPICS, start=6)]
    passages = [
        CorpusPassage(f"D1:{at}", f"Ann: {text}", at, "1", at, "Ann", start + timedelta(minutes=at))
        for at, text in enumerate(said, start=1)
    ]
    questions = [
        Question(f"When does the {name} open?", frozenset({f"D1:{at}"}), "single-hop", f"{at + 5}")
        for at, name in enumerate(_TOPICS, start=1)
    ]
    return Corpus("places", passages, questions)


@needs("documents", "embedded", "strategies")
@pytest.mark.parametrize("name", ["acc", "acc, CCM names nothing", "replay", "window", "summary"])
async def test_evidence_of_a_short_dialogue_is_in_every_prompt(name: str) -> None:
    from bench.evidence_reach import CONTENDERS, ask_all, row  # noqa: PLC0415

    found = row(name, await ask_all(CONTENDERS[name], corpus()))
    assert found.questions == len(_TOPICS)
    assert (found.recalled, found.in_prompt, found.of_recalled) == (1.0, 1.0, 1.0)
    # The key-free engine answers from a state; where a request has none it reads no transcript.
    assert found.answered >= 0.5 or name in {"replay", "window", "summary"}
