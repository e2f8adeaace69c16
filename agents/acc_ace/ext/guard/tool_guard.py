"""Enforce the rules in force: each tool call is checked against them before it runs.

On a conflict ADK's tool confirmation asks the person, or the call is refused, quoting the rule.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from google.adk.models import BaseLlm
from google.adk.tools._forwarding_artifact_service import ForwardingArtifactService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from acc_ace.adk.sessions.json_safe import json_form
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import GuardMode
from acc_ace.container import Container
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import ActVerdict, GuardDecision, GuardJudge, GuardVerdict
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.checks import Breach, CallRuling, Decision, compile_rule, decide
from acc_ace.ext.guard.declared import declared, trusted_servers
from acc_ace.ext.guard.wording import in_words
from acc_ace.turn.observer import StageUse
from acc_ace.turn.structured_call import StructuredResult, load_prompts, parser, structured_call
from acc_ace.turn.turn_commit import call_text
from acc_ace.turn.turn_record import ToolUse, TurnRecord

_RULE: Final = "acc_ace_rule"
"""Key of a confirmation's payload: the id of the rule that the guard asks about."""

_CALL_TOKENS: Final = 2_000
"""Tokens of a call that the judging model is shown; a longer one is cut."""


class ToolGuard:
    """Decides before each tool call; its decisions are stored in the turn's evidence."""

    def __init__(
        self, container: Container, judge: BaseLlm | None = None, *, mode: GuardMode | None = None
    ) -> None:
        """`judge` decides what no check does; `mode` replaces ACC_ACE_GUARD."""
        self._container = container
        self._mode: GuardMode = mode or container.settings.guard
        self._prompt = load_prompts().guard
        block = container.settings.guard_model
        self._judge = DirectCompletion(judge, ActVerdict, block) if judge else None
        self._trusted = trusted_servers(container.settings)
        # Calls of a turn that run or may run; calls of one reply are decided side by side.
        self._passed: WeakKeyDictionary[ToolUse, list[ActCall]] = WeakKeyDictionary()

    async def check(
        self, tool: BaseTool, args: Mapping[str, Any], context: ToolContext, record: TurnRecord
    ) -> dict[str, Any] | None:
        """The result to give in place of running the tool; None when it may run."""
        call, declared = ActCall(tool.name, args), self._declared(tool)
        pins = record.rules
        if context.tool_confirmation is not None:
            confirmed = context.tool_confirmation.confirmed
            return self._answered(call, declared, pins, context, record, confirmed=confirmed)
        if self._mode == "off" or not pins:
            return None
        call_id, at = context.function_call_id or "", self._container.local_now()
        breach = await self.find(call, declared, pins, record, at=at, call_id=call_id)
        if breach is None:
            return None
        if self._mode == "block" or _runs_as_tool(context):
            _note(record, context, call, breach, GuardVerdict.BLOCKED)
            return {"error": f"{tool.name} was not run: {_broken(breach)}"}
        # ADK would ask the model again, which would call the tool once more.
        context.actions.skip_summarization = True
        payload = {_RULE: breach.rule_id}
        context.request_confirmation(hint=_question(call, breach), payload=payload)
        return {"status": f"{tool.name} waits for confirmation: {_broken(breach)}"}

    def _answered(
        self,
        call: ActCall,
        tool: Tool,
        pins: Sequence[ConstraintPin],
        context: ToolContext,
        record: TurnRecord,
        *,
        confirmed: bool,
    ) -> dict[str, Any] | None:
        """Apply a person's answer; an answer to the tool's own question is left to the tool."""
        hits = self._decided(call, tool, pins, self._container.local_now()) if pins else []
        broken = [pin for pin, results in hits if results.ruling is CallRuling.CONFLICT]
        if payload := _confirmed(context):
            # A "no" holds even if the rule has been lifted meanwhile.
            text = next((pin.text for pin in pins if pin.id == payload), "(lifted since)")
            breach = Breach(payload, text, by=GuardJudge.PERSON)
        elif self._mode != "off" and broken:
            breach = Breach(broken[0].id, broken[0].text, by=GuardJudge.PERSON)
        else:
            return None
        if confirmed:
            _note(record, context, call, breach, GuardVerdict.CONFIRMED)
            return None
        _note(record, context, call, breach, GuardVerdict.REFUSED)
        return {"error": f"{call.tool} was not run: the user refused it; {_broken(breach)}"}

    async def find(
        self,
        call: ActCall,
        tool: Tool,
        pins: Sequence[ConstraintPin],
        record: TurnRecord,
        *,
        at: datetime,
        call_id: str = "",
    ) -> Breach | None:
        """The rule that the call breaks: by a check, else by the model, else as a precaution."""
        passed = self._passed.setdefault(record.tools, [])
        results = self._decided(call, tool, pins, at, passed)
        plain = [
            each for each in results if each[1].ruling in {CallRuling.CONFLICT, CallRuling.ASK}
        ]
        left = [each for each in results if each[1].ruling is CallRuling.JUDGE]
        breach = (
            _worst(plain)
            if plain
            else await self._judged(call, tool, left, record=record, at=at, call_id=call_id)
        )
        if breach is None:
            passed.append(call)
        return breach

    def _decided(
        self,
        call: ActCall,
        tool: Tool,
        pins: Sequence[ConstraintPin],
        at: datetime,
        passed: Sequence[ActCall] = (),
    ) -> list[tuple[ConstraintPin, Decision]]:
        return [(pin, decide(compile_rule(pin.text, (tool,)), call, at, passed)) for pin in pins]

    async def _judged(
        self,
        call: ActCall,
        tool: Tool,
        left: Sequence[tuple[ConstraintPin, Decision]],
        *,
        record: TurnRecord,
        at: datetime,
        call_id: str,
    ) -> Breach | None:
        """What the model says of the rules that are left; what it is unsure of is asked."""
        pins = [pin for pin, _ in left]
        verdict = await self._verdict(call, tool, pins, record, at) if pins else None
        if verdict is not None and verdict.conflict is False:
            record.tools.guarded.append(
                GuardDecision(
                    call_id=call_id,
                    tool=call.tool,
                    verdict=GuardVerdict.ALLOWED,
                    by=GuardJudge.MODEL,
                    why=verdict.why,
                )
            )
            return None
        if verdict is not None and verdict.conflict:
            for pin, results in left:
                if pin.id == verdict.rule_id:
                    return Breach(pin.id, pin.text, verdict.why, GuardJudge.MODEL, results.check)
        return _worst([each for each in left if each[1].named])

    async def _verdict(
        self,
        call: ActCall,
        tool: Tool,
        pins: Sequence[ConstraintPin],
        record: TurnRecord,
        at: datetime,
    ) -> ActVerdict | None:
        if self._judge is None:
            return None
        shown = {"tool": call.tool, "description": tool.description, "arguments": dict(call.args)}
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

    def _declared(self, tool: BaseTool) -> Tool:
        settings = self._container.settings
        return declared(
            tool,
            acting=settings.acting_tools,
            reading=settings.read_only_tools,
            trusted=self._trusted,
        )


def _worst(results: Sequence[tuple[ConstraintPin, Decision]]) -> Breach | None:
    """The first conflict, else the first rule that is asked about."""
    ranked = sorted(results, key=lambda each: each[1].ruling is not CallRuling.CONFLICT)
    for pin, decision in ranked[:1]:
        return Breach(pin.id, pin.text, decision.why, check=decision.check)
    return None


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
    breach: Breach,
    verdict: GuardVerdict,
) -> None:
    record.tools.guarded.append(
        GuardDecision(
            call_id=context.function_call_id or "",
            tool=call.tool,
            rule_id=breach.rule_id,
            verdict=verdict,
            by=breach.by,
            why=breach.why,
        )
    )


def _broken(breach: Breach) -> str:
    why = f" ({breach.why})" if breach.why else ""
    check = f" [{in_words(breach.check, 'en')}]" if breach.check else ""
    return f"the user's rule {breach.rule_id} says: {breach.rule}{why}{check}"


def _question(call: ActCall, breach: Breach) -> str:
    """The question to the person, in the language and wording of the rule."""
    done, language = call_text(call.tool, call.args), language_of(breach.rule)
    check = f" {in_words(breach.check, language)}" if breach.check else ""
    if language == "ja":
        rule = f"ルール{breach.rule_id}「{breach.rule}」に反する恐れがあります。"
        return f"{rule}{check.strip()}{done} を実行しますか。"
    why = f" ({breach.why})" if breach.why else ""
    return f'Your rule {breach.rule_id} says: "{breach.rule}"{why}.{check} Run {done} anyway?'
