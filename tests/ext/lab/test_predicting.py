"""A prediction asks the Generator with a playbook, and leaves the playbook as it is."""

from acc_ace.core.text.prompt import Prompt
from acc_ace.ext.lab.learning_plan import predict
from acc_ace.turn.structured_call import Reply
from schemas.limits import Limits
from tests.pipeline.test_playbook_known_failures import LESSON, holding


class Answering:
    """A model that answers with the bullet it is shown."""

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        return Reply(text='{"final_answer": "x", "bullet_ids": ["b-00001", "b-9"]}', model="fake")


async def test_predicting_changes_nothing() -> None:
    playbook = holding(LESSON)
    before = playbook.dumps()
    prompt = Prompt(name="generator", text="Answer.", inputs=("playbook", "state", "warnings"))

    asked = await predict(
        "How do I restart?", playbook, completion=Answering(), prompt=prompt, limits=Limits()
    )

    assert asked.value is not None
    assert asked.value.bullet_ids == ["b-00001"]
    assert playbook.dumps() == before
