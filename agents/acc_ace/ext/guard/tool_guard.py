"""Enforce the rules in force: each tool call is checked against them before it runs.

On a conflict ADK's tool confirmation asks the person, or the call is refused, quoting the rule.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from google.adk.models import BaseLlm
from google.adk.tools._forwarding_artifact_service import ForwardingArtifactService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext

from acc_ace.adk.act_reading import is_own
from acc_ace.adk.sessions.json_safe import json_form
from acc_ace.adk.structured_agent import DirectCompletion
from acc_ace.config import GuardMode
from acc_ace.container import Container
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.bullet import clean_id
from acc_ace.core.schemas.commit import ChangeKind, ConstraintPin
from acc_ace.core.schemas.interaction import ActVerdict, GuardDecision, GuardJudge, GuardVerdict
from acc_ace.core.schemas.report import ReportedCheck
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.rules.loosening import loosens_by_form
from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import ModelOutputError
from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.checks import (
    Breach,
    CallRuling,
    Decision,
    checks_of,
    compile_rule,
    decide,
    mentioning,
)
from acc_ace.ext.guard.declared import declared, trusted_servers
from acc_ace.ext.guard.wording import describe, in_words
from acc_ace.memory.long_input import rest_from
from acc_ace.memory.tail import read_place
from acc_ace.turn.observer import StageUse
from acc_ace.turn.structured_call import StructuredResult, load_prompts, structured_call
from acc_ace.turn.turn_commit import call_text
from acc_ace.turn.turn_record import ToolUse, TurnRecord

_RULE: Final = "acc_ace_rule"
"""Key of a confirmation's payload: the id of the rule that the guard asks about."""

_SAYS: Final = "acc_ace_says"
"""Key of its words."""

_KNOWN: Final = "acc_ace_known"
"""Key of the rules that were in force when it was asked: the answer covers no later one."""

_UNREAD: Final = "unread"
"""In place of a rule: the user's words that no compressor has read."""

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
        act = Act(ActCall(tool.name, args), self._declared(tool), self._container.local_now())
        if context.tool_confirmation is not None:
            return await self._answered(act, context, record, context.tool_confirmation)
        call_id, is_on = context.function_call_id or "", self._mode != "off"
        breach = await self.find(act, record.rules, record, call_id) if is_on else None
        if breach is None and is_on and record.unread and self.acts(tool):
            breach = Breach(_UNREAD, _unread_words(record))
        if breach is None:
            return None
        if self._mode == "block" or _runs_as_tool(context):
            _note(record, call_id, act.call, breach, GuardVerdict.BLOCKED)
            return {"error": f"{tool.name} was not run: {_broken(breach)}"}
        # ADK would ask the model again, which would call the tool once more.
        context.actions.skip_summarization = True
        rules = [pin.id for pin in record.rules]
        payload = {_RULE: breach.rule_id, _SAYS: breach.rule, _KNOWN: rules}
        context.request_confirmation(hint=_question(act.call, breach), payload=payload)
        return {"status": f"{tool.name} waits for confirmation: {_broken(breach)}"}

    def acts(self, tool: BaseTool) -> bool:
        """Whether a call may act: what is not known to be ours, or only to read, does."""
        return not is_own(tool) and not self._declared(tool).reads

    def describe(
        self, pins: Sequence[ConstraintPin], tools: Sequence[BaseTool]
    ) -> Mapping[str, list[ReportedCheck]]:
        """What the rules do at the tools, in words, by the rule's id."""
        all_ = [self._declared(tool) for tool in tools]
        return {pin.id: checks for pin in pins if (checks := describe(pin, all_))}

    async def _answered(
        self, act: "Act", context: ToolContext, record: TurnRecord, answer: ToolConfirmation
    ) -> dict[str, Any] | None:
        """Apply a person's answer; an answer to the tool's own question is left to the tool."""
        call_id, hits = context.function_call_id or "", _decided(act, record.rules)
        broken = [pin for pin, result in hits if result.ruling is CallRuling.CONFLICT]
        question = _question_of(context)
        if answer.confirmed and self._mode != "off":
            later = await self._later(act, question, record, call_id)
            if later is not None:
                _note(record, call_id, act.call, later, GuardVerdict.BLOCKED)
                return {"error": _AGAIN.format(tool=act.call.tool, broken=_broken(later))}
        if question:
            # A "no" holds even if the rule has been lifted meanwhile.
            breach = Breach(question.rule_id, question.says, by=GuardJudge.PERSON)
        elif self._mode != "off" and broken:
            breach = Breach(broken[0].id, broken[0].text, by=GuardJudge.PERSON)
        else:
            return None
        if answer.confirmed:
            _note(record, call_id, act.call, breach, GuardVerdict.CONFIRMED)
            return None
        _note(record, call_id, act.call, breach, GuardVerdict.REFUSED)
        return {"error": f"{act.call.tool} was not run: the user refused it; {_broken(breach)}"}

    async def _later(
        self, act: "Act", question: "ActQuestion | None", record: TurnRecord, call_id: str
    ) -> Breach | None:
        """What the person could not know of when they said yes: a later rule, or unread words."""
        before, news = question.before if question else None, record.reading.news
        if before is None:
            before = frozenset(pin.id for pin in record.rules).difference(news)
        later = [pin for pin in record.rules if pin.id not in before]
        breach = await self.find(act, later, record, call_id) if later else None
        if breach is None and record.unread and (question is None or question.rule_id != _UNREAD):
            return Breach(_UNREAD, _unread_words(record))
        return breach

    async def find(
        self, act: "Act", pins: Sequence[ConstraintPin], record: TurnRecord, call_id: str = ""
    ) -> Breach | None:
        """What the call breaks: by a check, else what waits or was not kept, else by the model.

        What the model is unsure of is asked where a rule names it.
        """
        passed = self._passed.setdefault(record.tools, [])
        results = [*_decided(act, pins, passed), *_doubts(act, record)]
        breach = _worst([each for each in results if each[1].ruling in _STOPS])
        if breach is None:
            left = [each for each in results if each[1].ruling is CallRuling.JUDGE]
            breach = await self._judged(act, left, record, call_id)
        if breach is None:
            passed.append(act.call)
        return breach

    async def _judged(
        self, act: "Act", left: "Sequence[Ruled]", record: TurnRecord, call_id: str
    ) -> Breach | None:
        """What the model says of the rules that are left; what it is unsure of is asked."""
        named = {each[0].id or f"said-{at}": each for at, each in enumerate(left)}
        verdict = await self._verdict(act, named, record) if left else None
        if verdict is not None and verdict.conflict is False:
            passes = Breach("", "", verdict.why, GuardJudge.MODEL)
            _note(record, call_id, act.call, passes, GuardVerdict.ALLOWED)
            return None
        if verdict is not None and verdict.conflict:
            pin, result = named[verdict.rule_id or ""]
            return Breach(pin.id, pin.text, verdict.why, GuardJudge.MODEL, result.check)
        return _worst([each for each in left if each[1].named])

    async def _verdict(
        self, act: "Act", rules: "Mapping[str, Ruled]", record: TurnRecord
    ) -> ActVerdict | None:
        if self._judge is None:
            return None
        call, about = act.call, act.tool.description
        whole = {"tool": call.tool, "description": about, "arguments": dict(call.args)}
        text = json.dumps(json_form(whole), ensure_ascii=False)
        inputs = {
            "rules": [{"id": name, "text": pin.text} for name, (pin, _) in rules.items()],
            "call": clip_tokens(text, _CALL_TOKENS),
            "now": act.at.strftime("%Y-%m-%d %H:%M %A"),
        }
        limits = self._container.settings.limits
        result: StructuredResult[ActVerdict] = await structured_call(
            self._judge, self._prompt, inputs, partial(_verdict_on, rules), repairs=limits.repairs
        )
        record.observer.stages.setdefault("generator", StageUse()).add(result.use, result.model)
        record.observer.warn(*result.warnings)
        record.observer.note_calls(*result.calls)
        return result.value

    def _declared(self, tool: BaseTool) -> Tool:
        settings = self._container.settings
        acting, reading = settings.acting_tools, settings.read_only_tools
        return declared(tool, acting=acting, reading=reading, trusted=self._trusted)


def _verdict_on(rules: Collection[str], text: str) -> ActVerdict:
    """A verdict; a conflict with a rule that was not shown is none. Raises ModelOutputError."""
    verdict = read_reply(ActVerdict, text)
    longest_first = sorted(rules, key=len, reverse=True)  # said-1 begins said-10 too.
    rule_id = next(
        (r for r in longest_first if clean_id(verdict.rule_id or "").startswith(r)), None
    )
    if verdict.conflict and rule_id is None:
        raise ModelOutputError(f"ActVerdict.rule_id: '{verdict.rule_id}' is no rule in `rules`")
    return verdict.model_copy(update={"rule_id": rule_id})


class Act(NamedTuple):
    """A call, its tool as declared, and when it is made, in the user's zone."""

    call: ActCall
    tool: Tool
    at: datetime


Ruled = tuple[ConstraintPin, Decision]

_STOPS: Final = (CallRuling.CONFLICT, CallRuling.ASK)


def _decided(
    act: Act, pins: Sequence[ConstraintPin], passed: Sequence[ActCall] = ()
) -> list[Ruled]:
    return [(pin, decide(checks_of(pin, act.tool), act.call, act.at, passed)) for pin in pins]


def _doubts(act: Act, record: TurnRecord) -> list[Ruled]:
    """What x_t says and is not kept, and what waits for consent, where they speak of the call.

    A sentence of x_t may be the very order of the call. What no check of it decides goes to the
    model, as with a rule in force; without one it is asked about, and so is what would loosen.
    """
    words = [("", ChangeKind.ADD, text) for text in record.tools.unkept]
    questions = record.latest.questions
    waiting = [*words, *((each.id, each.kind, text) for each in questions for text in each.texts)]
    found: list[Ruled] = []
    for name, kind, text in waiting:
        own = compile_rule(text, (act.tool,))
        # A permission that nobody gave yet forbids nothing: that it speaks of the call is enough.
        checks = map(mentioning, own) if kind is ChangeKind.PERMIT else own
        result = decide(checks, act.call, act.at)
        if kind is not ChangeKind.GOAL and (result.named or result.ruling in _STOPS):
            asks = name or loosens_by_form(text)
            pin = ConstraintPin(
                id=name, text=text, authority=Authority.USER, origin_turn=0, quote=text
            )
            found.append((pin, result._replace(ruling=CallRuling.ASK) if asks else result))
    return found


def _worst(results: Sequence[Ruled]) -> Breach | None:
    """The first conflict, else the first rule that is asked about."""
    ranked = sorted(results, key=lambda each: each[1].ruling is not CallRuling.CONFLICT)
    for pin, decision in ranked[:1]:
        return Breach(pin.id, pin.text, decision.why, check=decision.check)
    return None


class ActQuestion(NamedTuple):
    """What the guard asked a person about."""

    rule_id: str
    says: str
    before: frozenset[str] | None
    """The rules then in force; None where an older version asked."""


def _question_of(context: ToolContext) -> ActQuestion | None:
    """What the guard asked about before this answer, from ADK's events."""
    call_id = context.function_call_id or ""
    for event in reversed(context.session.events):
        request = event.actions.requested_tool_confirmations.get(call_id)
        if request is not None and isinstance(request.payload, dict):
            rule_id, names = request.payload.get(_RULE), request.payload.get(_KNOWN)
            if rule_id is None:
                return None
            ids = frozenset(map(str, names)) if isinstance(names, list) else None
            return ActQuestion(rule_id, str(request.payload.get(_SAYS, "")), ids)
    return None


def _unread_words(record: TurnRecord) -> str:
    """What was said and not read, the newest last; of a long message from there on."""
    start, (name, end) = record.start, read_place(record.latest.read_to)
    rest = rest_from(start.x_t.text, end) if name == start.evidence_id else start.x_t.text
    inputs = [*(each.input for each in start.since.news)]
    texts = [each.text for each in inputs if each.authority.may_rule]
    texts += [rest] if start.x_t.authority.may_rule else []
    most = _UNREAD_TOKENS // max(1, len(texts))
    return " … ".join(clip_tokens(text, most) for text in texts)


_UNREAD_TOKENS: Final = 120
_AGAIN: Final = (
    "{tool} was not run: {broken}. The confirmation was given before this was known; call the tool "
    "again to ask for another one"
)


def _runs_as_tool(context: ToolContext) -> bool:
    """Whether the agent runs for an AgentTool, whose caller cannot ask a person."""
    service = context.get_invocation_context().artifact_service
    return isinstance(service, ForwardingArtifactService)


def _note(
    record: TurnRecord, call_id: str, call: ActCall, breach: Breach, verdict: GuardVerdict
) -> None:
    decision = {"call_id": call_id, "tool": call.tool, "rule_id": breach.rule_id}
    record.tools.guarded.append(
        GuardDecision(**decision, verdict=verdict, by=breach.by, why=breach.why)
    )


def _broken(breach: Breach) -> str:
    why = f" ({breach.why})" if breach.why else ""
    check = f" [{in_words(breach.check, 'en')}]" if breach.check else ""
    return f"{_name(breach, 'model')} says: {breach.rule}{why}{check}"


def _question(call: ActCall, breach: Breach) -> str:
    """The question to the person, in the language and wording of the rule."""
    done, language = call_text(call.tool, call.args), language_of(breach.rule)
    check, name = in_words(breach.check, language) if breach.check else "", _name(breach, language)
    if language == "ja":
        return f"{name}「{breach.rule}」に反するおそれがあります。{check}{done} を実行しますか？"
    why, check = f" ({breach.why})" if breach.why else "", f" {check}" if check else ""
    return f'{name} says: "{breach.rule}"{why}.{check} Run {done} anyway?'


def _name(breach: Breach, reader: str) -> str:
    """What it is that a call may break: a rule, what waits, or what was not kept."""
    name = breach.rule_id
    kind = name if name in {"", _UNREAD} else "q" if name.startswith("q") else "c"
    return _NAMES[reader][kind].format(id=name)


_NAMES: Final = {
    "en": {
        "c": "Your rule {id}",
        "q": "What waits for you ({id})",
        "": "Your unkept sentence",
        _UNREAD: "What you said, and no compressor could read,",
    },
    "ja": {
        "c": "ルール {id}",
        "q": "同意待ちの {id}",
        "": "ルールにしていない発言",
        _UNREAD: "まだ読み取れていない発言",
    },
    "model": {
        "c": "the user's rule {id}",
        "q": "what waits ({id})",
        "": "an unkept sentence",
        _UNREAD: "what the user said and no compressor has read",
    },
}
