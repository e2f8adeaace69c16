"""A session that was kept with a memory of an older version goes on with the compressed state."""

import json

from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, Life


async def test_a_session_kept_with_a_window_goes_on_and_says_that_no_rule_was_pinned(
    place: Place,
) -> None:
    before = Life(place)
    await before.say("Never restart db-01 by day.")
    [turn] = await before.container.evidence.list(KEY)
    record = await before.container.directory.find(KEY)
    assert record is not None
    await before.conversation.close()
    summary = {"content": "Hello.", "through_turn": 1, "created_at": str(record.created_at)}
    older_record = {**record.model_dump(mode="json"), "memory": "window", "summary": summary}
    older_turn = {**turn.model_dump(mode="json"), "memory": "window"}
    place.execute("UPDATE session_directory SET body = ?", json.dumps(older_record))
    place.execute("UPDATE interactions SET body = ?", json.dumps(older_turn))

    life = Life(place)
    report = await life.conversation.turn(KEY, "What now?")
    assert report.turn == 2
    [warning] = [text for text in report.warnings if "older version" in text]
    assert "'window'" in warning
    assert "pinned no rules" in warning
    assert (await life.conversation.turn(KEY, "And now?")).warnings == []
    await life.conversation.close()
