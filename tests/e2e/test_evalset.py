"""The evalset and its configuration load with ADK's own models, and name what the app has."""

from pathlib import Path
from typing import Final

from google.adk.evaluation.eval_case import get_all_tool_calls
from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_set import EvalSet

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from tests.fakes.extensions import needs

FOLDER: Final = Path(__file__).parents[2] / "agents" / APP_NAME


def _evalset() -> EvalSet:
    return EvalSet.model_validate_json((FOLDER / "evalset.evalset.json").read_text("utf-8"))


def test_configuration_is_valid_and_needs_no_model_to_judge() -> None:
    config = EvalConfig.model_validate_json((FOLDER / "test_config.json").read_text("utf-8"))
    assert set(config.criteria) == {"tool_trajectory_avg_score", "response_match_score"}


@needs("embedded")
async def test_expected_tool_calls_and_answers_are_what_the_app_gives() -> None:
    conversation = Conversation(build_container(Settings(store="memory")))
    for case in _evalset().eval_cases:
        for number, invocation in enumerate(case.conversation or []):
            parts = invocation.user_content.parts or []
            key = SessionKey(APP_NAME, "eval", case.eval_id)
            report = await conversation.turn(key, parts[0].text or "")
            expected = get_all_tool_calls(invocation.intermediate_data)
            called = [(call["name"], call["args"]) for call in report.tool_calls]
            assert called == [(call.name, call.args) for call in expected], (case.eval_id, number)
            final = invocation.final_response
            assert final is not None
            assert final.parts
            assert (final.parts[0].text or "") in report.answer, (case.eval_id, number)
    await conversation.close()
