"""What was said in turns that are taken back is no longer recalled."""

from acc_ace.core.schemas.artifact import RecallQuery
from acc_ace.core.schemas.interaction import GeneratorOutput, Interaction, Outcome, TurnInput
from acc_ace.core.schemas.session import PastTurn, Utterance
from acc_ace.turn.event_offload import offload_events
from tests.fakes.clock import START
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, Life

SECRET = "we move the zebra herd on Friday by the north gate, quietly. "


async def test_offloaded_words_of_an_undone_turn_leave_recall(place: Place) -> None:
    life = Life(
        place,
        offload=False,
        session_events="offload",
        session_turns=1,
        limits={"tool_result_tokens": 200},
    )
    await life.say("Hello.")
    await life.say(SECRET * 30)
    for number in range(4):
        await life.say(f"more {number}")
    about = RecallQuery(key=KEY, text="zebra herd north gate Friday", limit=20)
    before = (await life.container.artifacts.recall(about)).candidates
    assert any(found.artifact.source.startswith("events:") for found in before)
    await life.conversation.rollback(KEY, 1)
    after = (await life.container.artifacts.recall(about)).candidates
    assert not any("zebra" in found.artifact.content for found in after)
    await life.conversation.close()


LONG = (
    "the herd is somewhere in the north today. " * 60
    + "At the end the zebra rotates. "
    + "and again the herd moves. " * 60
)


async def test_words_whose_events_went_while_they_were_undone_stay_out_of_recall(
    place: Place,
) -> None:
    life = Life(
        place,
        offload=False,
        session_events="offload",
        session_turns=1,
        limits={"tool_result_tokens": 200},
    )
    await life.say("Hello.")
    await life.say(LONG)
    await life.conversation.undo(KEY)
    for number in range(4):
        await life.say(f"more {number}")
    about = RecallQuery(key=KEY, text="where does the zebra rotate", limit=20, max_tokens=4_000)
    undone = (await life.container.artifacts.recall(about)).candidates
    assert not any("zebra" in found.artifact.content for found in undone)
    await life.conversation.rollback(KEY, 2)
    again = (await life.container.artifacts.recall(about)).candidates
    assert not any("zebra" in found.artifact.content for found in again)
    await life.conversation.close()


async def test_words_of_a_run_that_failed_behind_an_answer_are_not_offloaded(place: Place) -> None:
    container = place.open()
    answered = Interaction(
        turn=1,
        invocation_id="i",
        input=TurnInput(text="Where is the herd?"),
        decision=GeneratorOutput(final_answer="In the north."),
        created_at=START,
    )
    failed = answered.model_copy(
        update={"turn": 2, "invocation_id": "i/2", "decision": None, "outcome": Outcome.FAILED}
    )
    for each in (answered, failed):
        await container.evidence.record(KEY, each)
    said = [
        Utterance(speaker="user", text="Where is the herd?"),
        Utterance(speaker="agent", text="In the north."),
        Utterance(speaker="tool", text=SECRET * 300),
    ]
    pieces = await offload_events(
        container, KEY, [PastTurn(invocation_id="i", at=START, said=said)]
    )
    assert not [piece for piece in pieces if "zebra" in piece.content]
    await container.close()
