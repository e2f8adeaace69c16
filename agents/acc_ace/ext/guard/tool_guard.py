"""Enforce the rules in force: each tool call is checked against them before it runs.

On a conflict ADK's tool confirmation asks the person, or the call is refused, quoting the rule.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from google.adk.models import BaseLlm
from google.adk.tools._forwarding_artifact_service import ForwardingArtifactService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from acc_ace.adk.act_guard import build_judge
from acc_ace.adk.sessions.json_safe import json_form
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import GuardMode
from acc_ace.container import Container
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import ActVerdict, GuardDecision, GuardJudge, GuardVerdict
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.guard.guard import ActCall, Breach, conflicts, undecided
from acc_ace.turn.observer import StageUse
from acc_ace.turn.structured_call import StructuredResult, load_prompts, parser, structured_call
from acc_ace.turn.turn_commit import call_text
from acc_ace.turn.turn_record import TurnRecord

_RULE: Final = "acc_ace_rule"
"""Key of a confirmation's payload: the id of the rule that the guard asks about."""

_CALL_TOKENS: Final = 2_000
"""Tokens of a call that the judging model is shown; a longer one is cut."""


class JudgedBreach(NamedTuple):
    """A rule that a call breaks, and who judged that."""

    conflict: Breach
    by: GuardJudge


class ToolGuard:
    """Decides before each tool call; its decisions are stored in the turn's evidence."""

    def __init__(
        self, container: Container, judge: BaseLlm | None = None, *, mode: GuardMode | None = None
    ) -> None:
        """`judge` replaces the model of the settings, `mode` their ACC_ACE_GUARD."""
        self._container = container
        self._mode: GuardMode = mode or container.settings.guard
        self._prompt = load_prompts().guard
        self.model = judge
        if judge is None and self._mode != "off":
            self.model = build_judge(container)
        block = container.settings.guard_model
        self._judge = DirectCompletion(self.model, ActVerdict, block) if self.model else None

    async def check(
        self, tool: BaseTool, args: Mapping[str, Any], context: ToolContext, record: TurnRecord
    ) -> dict[str, Any] | None:
        """The result to give in place of running the tool; None when it may run."""
        pins = record.rules
        call = ActCall(tool.name, tool.description or "", args)
        if context.tool_confirmation is not None:
            confirmed = context.tool_confirmation.confirmed
            return self._answered(call, pins, context, record, confirmed=confirmed)
        if self._mode == "off" or not pins:
            return None
        call_id, at = context.function_call_id or "", self._container.local_now()
        breach = await self.find(call, pins, record, at=at, call_id=call_id)
        if breach is None:
            return None
        if self._mode == "block" or _runs_as_tool(context):
            _note(record, context, call, breach, GuardVerdict.BLOCKED)
            return {"error": f"{tool.name} was not run: {_broken(breach.conflict)}"}
        # ADK would ask the model again, which would call the tool once more.
        context.actions.skip_summarization = True
        payload = {_RULE: breach.conflict.rule_id}
        context.request_confirmation(hint=_question(call, breach.conflict), payload=payload)
        return {"status": f"{tool.name} waits for confirmation: {_broken(breach.conflict)}"}

    def _answered(
        self,
        call: ActCall,
        pins: Sequence[ConstraintPin],
        context: ToolContext,
        record: TurnRecord,
        *,
        confirmed: bool,
    ) -> dict[str, Any] | None:
        """Apply a person's answer; an answer to the tool's own question is left to the tool."""
        if payload := _confirmed(context):
            # A "no" holds even if the rule has been lifted meanwhile.
            text = next((pin.text for pin in pins if pin.id == payload), "(lifted since)")
            conflict = Breach(payload, text, "")
        elif self._mode != "off" and (hits := conflicts(call, pins, self._container.local_now())):
            conflict = hits[0]
        else:
            return None
        finding = JudgedBreach(conflict, GuardJudge.PERSON)
        if confirmed:
            _note(record, context, call, finding, GuardVerdict.CONFIRMED)
            return None
        _note(record, context, call, finding, GuardVerdict.REFUSED)
        return {"error": f"{call.name} was not run: the user refused it; {_broken(conflict)}"}

    async def find(
        self,
        call: ActCall,
        pins: Sequence[ConstraintPin],
        record: TurnRecord,
        *,
        at: datetime,
        call_id: str = "",
    ) -> JudgedBreach | None:
        """The rule that the call breaks: by the check, else by the model, else as a precaution."""
        if breaches := conflicts(call, pins, at):
            return JudgedBreach(breaches[0], GuardJudge.CHECK)
        verdict = await self._judged(call, pins, record, at) if self._judge else None
        if verdict is not None and verdict.conflict is not None:
            pin = next((pin for pin in pins if pin.id == verdict.rule_id), None)
            if not verdict.conflict:
                allowed = GuardDecision(
                    call_id=call_id,
                    tool=call.name,
                    verdict=GuardVerdict.ALLOWED,
                    by=GuardJudge.MODEL,
                    why=verdict.why,
                )
                record.tools.guarded.append(allowed)
                return None
            if pin is not None:
                return JudgedBreach(Breach(pin.id, pin.text, verdict.why), GuardJudge.MODEL)
        if call.name in self._container.settings.acting_tools:
            for pin in undecided(call, pins, at):
                return JudgedBreach(Breach(pin.id, pin.text, "it may break it"), GuardJudge.CHECK)
        return None

    async def _judged(
        self, call: ActCall, pins: Sequence[ConstraintPin], record: TurnRecord, at: datetime
    ) -> ActVerdict | None:
        if self._judge is None:
            return None
        shown = {"tool": call.name, "description": call.description, "arguments": dict(call.args)}
        inputs = {
            "rules": [{"id": pin.id, "text": pin.text} for pin in pins],
            "call": clip_tokens(json.dumps(json_form(shown), ensure_ascii=False), _CALL_TOKENS),
            "now": at.strftime("%Y-%m-%d %H:%M %A"),
        }
        limits = self._container.settings.limits
        result: StructuredResult[ActVerdict] = await structured_call(
            self._judge, self._prompt, inputs, parser(ActVerdict), repairs=limits.repairs
        )
        record.observer.stages.setdefault("generator", StageUse()).add(result.use, result.model)
        record.observer.warn(*result.warnings)
        record.observer.note_calls(*result.calls)
        return result.value


def _confirmed(context: ToolContext) -> str:
    """The id of the rule that the guard asked about before this answer, from ADK's events."""
    call_id = context.function_call_id or ""
    for event in reversed(context.session.events):
        request = event.actions.requested_tool_confirmations.get(call_id)
        if request is not None and isinstance(request.payload, dict):
            return str(request.payload.get(_RULE, ""))
    return ""


def _runs_as_tool(context: ToolContext) -> bool:
    """Whether the agent runs for an AgentTool, whose caller cannot ask a person."""
    service = context.get_invocation_context().artifact_service
    return isinstance(service, ForwardingArtifactService)


def _note(
    record: TurnRecord,
    context: ToolContext,
    call: ActCall,
    breach: JudgedBreach,
    verdict: GuardVerdict,
) -> None:
    record.tools.guarded.append(
        GuardDecision(
            call_id=context.function_call_id or "",
            tool=call.name,
            rule_id=breach.conflict.rule_id,
            verdict=verdict,
            by=breach.by,
            why=breach.conflict.why,
        )
    )


def _broken(conflict: Breach) -> str:
    why = f" ({conflict.why})" if conflict.why else ""
    return f"the user's rule {conflict.rule_id} says: {conflict.rule}{why}"


def _question(call: ActCall, conflict: Breach) -> str:
    """The question to the person, in the language and wording of the rule."""
    done = call_text(call.name, call.args)
    if language_of(conflict.rule) == "ja":
        return f"ルール{conflict.rule_id}「{conflict.rule}」に反します。{done} を実行しますか。"
    why = f" ({conflict.why})" if conflict.why else ""
    return f'Your rule {conflict.rule_id} says: "{conflict.rule}"{why}. Run {done} anyway?'
