"""Rules compiled to checks over the tools of an app, and a call checked against them.

`compile_rule` and `decide` are pure. A check that covers its rule whole decides both ways; one that
covers a part stops or asks, and never clears.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal, NamedTuple, cast

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import GuardJudge
from acc_ace.core.text.lexicon_en import root_of
from acc_ace.core.text.normalize import normalise
from acc_ace.ext.guard.amounts import MONEY, Bounded, amounts_in, bounded
from acc_ace.ext.guard.calls import ActCall, Speech, Text, Tool
from acc_ace.ext.guard.matching import (
    Fit,
    act_fit,
    fit_in,
    has_word,
    is_among,
    lacks_object,
    shows,
    stems_of,
    thing_fit,
)
from acc_ace.ext.guard.reading import Limit, Relation, RuleReading, read_rule
from acc_ace.ext.guard.times import applies
from acc_ace.ext.guard.words import Thing, speaks_of

Op = Literal["forbidden", "beyond", "elsewhere", "mentioned", "set"]


class CallRuling(StrEnum):
    """What becomes of a call."""

    RUN = "run"
    ASK = "ask"
    CONFLICT = "conflict"
    JUDGE = "judge"


@dataclass(frozen=True)
class Check:
    """What is looked at when one tool is called, for one sentence of a rule."""

    tool: Tool
    rule: str
    op: Op
    reading: RuleReading
    covers_whole: bool
    argument: str = ""
    """The argument that it looks at; '' for any."""
    does: str = ""
    """The form in which a person has set it, if so."""


class Decision(NamedTuple):
    """What becomes of a call, by which check, and why.

    `named` is whether a rule that the code cannot decide speaks of the call.
    """

    ruling: CallRuling
    check: Check | None = None
    why: str = ""
    named: bool = False


RUN: Final = Decision(CallRuling.RUN)
_WORST: Final = (CallRuling.RUN, CallRuling.JUDGE, CallRuling.ASK, CallRuling.CONFLICT)
_WHO: Final = "to recipient user callee person cc bcc email name contact address who 宛先 相手"
_RECIPIENTS: Final = frozenset(map(root_of, _WHO.split()))


class Breach(NamedTuple):
    """A rule that a call breaks or may break, why, who judged that, and by which check."""

    rule_id: str
    rule: str
    why: str = ""
    by: GuardJudge = GuardJudge.CHECK
    check: Check | None = None


def breaches(
    call: ActCall, tool: Tool, pins: Iterable[ConstraintPin], now: datetime
) -> Iterator[Breach]:
    """The rules for which a call is stopped or asked about whatever a model says."""
    for pin in pins:
        result = decide(checks_of(pin, tool), call, now)
        if result.ruling in {CallRuling.CONFLICT, CallRuling.ASK}:
            yield Breach(pin.id, pin.text, result.why, check=result.check)


def checks_of(pin: ConstraintPin, tool: Tool) -> tuple[Check, ...]:
    """The checks of a rule at a tool: what a person has set there, else what it is compiled to."""
    does = next((each.does for each in pin.checks if each.tool == tool.name), None)
    return compile_rule(pin.text, (tool,)) if does is None else _as_set(pin.text, tool, does)


def _as_set(rule: str, tool: Tool, does: str) -> tuple[Check, ...]:
    check = Check(tool, rule, "set", RuleReading(), covers_whole=True, does=does)
    if (match := re.fullmatch(r"(\S+) ([<>]=?|!?=) ?(.+)", does)) is None:
        return () if does == "off" else (check,)
    value, thing = normalise(match[3]), (Thing((), (normalise(match[3]),)),)
    if match[2] == "!=":
        reading = RuleReading(allowed=thing)
    elif match[2] == "=":
        reading = RuleReading(things=thing)
    else:
        amount = next(amounts_in(value))
        limit = Limit(cast("Relation", match[2]), amount.value, amount.unit, wording=value)
        reading = RuleReading(limits=(limit,))
    return (replace(check, reading=reading, argument=match[1]),)


@lru_cache(maxsize=2_048)
def compile_rule(rule: str, tools: tuple[Tool, ...]) -> tuple[Check, ...]:
    """The checks of a rule over the tools that act."""
    readings = read_rule(rule)
    acting = [tool for tool in tools if not tool.reads]
    return tuple(_check(rule, reading, tool) for tool in acting for reading in readings)


def _check(rule: str, reading: RuleReading, tool: Tool) -> Check:
    if not reading.binds:
        return Check(tool, rule, "mentioned", reading, covers_whole=False)
    whole = reading.whole and not reading.open_clause and all(it.named for it in reading.allowed)
    op: Op = "beyond" if reading.limits else "elsewhere" if reading.allowed else "forbidden"
    argument = _argument(reading.limits[0], reading, tool) if reading.limits else ""
    return Check(tool, rule, op, reading, whole, argument)


def mentioning(check: Check) -> Check:
    """A check that only tells whether a call is what its sentence speaks of."""
    return replace(check, op="mentioned", covers_whole=False)


def _argument(limit: Limit, reading: RuleReading, tool: Tool) -> str:
    """The one argument of the schema that a limit bounds; '' where a call must show it."""
    sample = dict.fromkeys(tool.parameters, 1)
    result = bounded(
        limit.unit,
        stems_of(reading),
        Speech(ActCall(tool.name, sample), tool).leaves,
        each=limit.each,
    )
    return result[0].argument if result and len(result) == 1 else ""


def decide(
    checks: Iterable[Check], call: ActCall, now: datetime, earlier: Sequence[ActCall] = ()
) -> Decision:
    """What becomes of a call; `now` is aware, in the user's zone.

    `earlier` are calls of the same turn that ran or may run: their amounts count too.
    """
    worst = RUN
    for check in checks:
        if check.tool.name != call.tool:
            continue
        result = _decided(check, call, now, earlier)
        if check.tool.acts and result.ruling is CallRuling.JUDGE and not result.named:
            named = has_word(check.reading, check.tool, Speech(call, check.tool))
            result = result._replace(named=named)
        rank = (_WORST.index(result.ruling), result.named)
        if rank > (_WORST.index(worst.ruling), worst.named):
            worst = result
    return worst


def _decided(check: Check, call: ActCall, now: datetime, earlier: Sequence[ActCall]) -> Decision:
    speech, reading = Speech(call, check.tool), check.reading
    if speech.rehearses:
        return RUN
    values = [leaf.value for leaf in speech.leaves]
    if reading.window and not applies(reading.window, values, now, standing=bool(reading.limits)):
        return RUN if check.covers_whole else Decision(CallRuling.JUDGE, check)
    result = _DECIDES[check.op](check, speech, earlier)
    runs = result.ruling is CallRuling.RUN
    # What nobody can read off a call is asked, if the act may be the rule's and the thing is.
    is_open = reading.open_clause and result.named and not runs
    is_open = is_open and thing_fit(reading, check.tool, speech) is Fit.YES
    if is_open and act_fit(reading, check.tool, speech) is not Fit.UNKNOWN:
        return Decision(CallRuling.ASK, check, "it has a condition that no call shows", named=True)
    return Decision(CallRuling.JUDGE, check) if runs and not check.covers_whole else result


def _forbidden(check: Check, speech: Speech, _: Sequence[ActCall]) -> Decision:
    reading = check.reading
    act, thing = act_fit(reading, check.tool, speech), thing_fit(reading, check.tool, speech)
    if any(shows(each, speech) for each in reading.unless):
        return RUN
    if act is Fit.YES and thing is Fit.YES:
        return Decision(CallRuling.CONFLICT, check, "it is what the rule forbids", named=True)
    return _unsure(check, speech, act, thing)


def _unsure(check: Check, speech: Speech, act: Fit, thing: Fit) -> Decision:
    """What an act and a thing mean that are not both plain; a name may be written otherwise."""
    has_name = any(each.named for each in check.reading.things)
    has_id = any(each.named and not each.proper for each in check.reading.things)
    unknown = act is Fit.UNKNOWN and thing is not Fit.YES
    if act is Fit.YES and thing is Fit.NO and check.covers_whole:
        return RUN if has_id else Decision(CallRuling.JUDGE, check)
    named = Fit.NO not in (act, thing) and (not unknown or has_name)
    named = named or (act is Fit.OPEN and lacks_object(check.reading, speech))
    return Decision(CallRuling.JUDGE, check, "it may break it" if named else "", named)


def _beyond(check: Check, speech: Speech, earlier: Sequence[ActCall]) -> Decision:
    reading, tool = check.reading, check.tool
    act, thing = act_fit(reading, tool, speech), thing_fit(reading, tool, speech)
    if any(each.named for each in reading.things) and thing is Fit.NO:
        return _unsure(check, speech, Fit.YES, thing)
    if Fit.NO in (act, thing) and not (act is Fit.YES and reading.verbs):
        return Decision(CallRuling.JUDGE, check)
    plain = thing is Fit.YES and (act is Fit.YES or bool(reading.things))
    plain = plain or (act is Fit.YES and thing is Fit.OPEN)
    results = (_bound(limit, check, speech, earlier, plain=plain) for limit in reading.limits)
    stops = next((result for result in results if result is not RUN), RUN)
    may = stops.ruling is CallRuling.JUDGE and not plain and act is Fit.UNKNOWN
    return stops._replace(named=bool(speech.commands.text)) if may else stops


def _bound(
    limit: Limit, check: Check, speech: Speech, earlier: Sequence[ActCall], *, plain: bool
) -> Decision:
    """What one limit makes of a call; `plain` is whether the call is surely about it."""
    amounts = _amounts(limit, check, speech, each=limit.each)
    if not amounts:
        named = plain or bool(speech.commands.text)
        return Decision(CallRuling.JUDGE, check, "its amount cannot be compared", named)
    worst = next((each for each in amounts if limit.breaks(each.value)), None)
    if worst is not None:
        ruling = CallRuling.CONFLICT if plain else CallRuling.JUDGE
        return Decision(ruling, check, f"{worst.argument} is beyond {limit.wording}", named=True)
    total = sum(each.value for each in amounts) + _spent(limit, check, earlier)
    if limit.relation in {">", ">="} and not limit.each and limit.breaks(total):
        why = f"with earlier calls it is beyond {limit.wording}"
        return Decision(CallRuling.ASK, check, why, named=True)
    return RUN


def _spent(limit: Limit, check: Check, earlier: Sequence[ActCall]) -> float:
    """What earlier calls of the turn took of a limit; only money is known to add up."""
    if limit.unit not in MONEY:
        return 0.0
    own = [Speech(call, check.tool) for call in earlier if call.tool == check.tool.name]
    found = (_amounts(limit, check, speech, each=False) or [] for speech in own)
    return sum(each.value for amounts in found for each in amounts)


def _amounts(limit: Limit, check: Check, speech: Speech, *, each: bool) -> list[Bounded] | None:
    leaves = speech.leaves
    if check.does:
        leaves = tuple(leaf for leaf in leaves if leaf.key == check.argument)
    return bounded(limit.unit, stems_of(check.reading), leaves, each=each)


def _set(check: Check, speech: Speech, earlier: Sequence[ActCall]) -> Decision:
    """What a person has set for calls of a tool, whatever else the rule says."""
    ruling = CallRuling.ASK if check.does == "ask" else CallRuling.CONFLICT
    stops = Decision(ruling, check, "as you set it", named=True)
    if not check.argument:
        return stops
    if check.reading.limits:
        return _bound(check.reading.limits[0], check, speech, earlier, plain=True)
    leaves = [leaf for leaf in speech.leaves if leaf.key == check.argument]
    if not leaves:
        return stops._replace(ruling=CallRuling.ASK, why=f"it has no {check.argument}")
    (thing,) = check.reading.things or check.reading.allowed
    hits = [fit_in(thing, Text(str(leaf.value))) is Fit.YES for leaf in leaves]
    is_other = bool(check.reading.allowed)
    return stops if (not all(hits) if is_other else any(hits)) else RUN


def _elsewhere(check: Check, speech: Speech, _: Sequence[ActCall]) -> Decision:
    """A rule that names all that is allowed: each recipient, or something, must be it."""
    reading, tool = check.reading, check.tool
    act, thing = act_fit(reading, tool, speech), thing_fit(reading, tool, speech)
    if Fit.NO in (act, thing) or (reading.things and thing is not Fit.YES):
        return Decision(CallRuling.JUDGE, check, "", named=Fit.NO not in (act, thing))
    whos = [leaf for leaf in speech.leaves if leaf.kind == "value" and leaf.stems & _RECIPIENTS]
    texts = [Text(str(leaf.value)) for leaf in whos if leaf.value]
    if reading.who and texts:
        keeps = all(any(fit_in(each, text) for each in reading.allowed) for text in texts)
    else:
        keeps = any(is_among(each, tool, speech) for each in reading.allowed)
    if keeps:
        return RUN
    plain = act is Fit.YES and all(it.named for it in reading.allowed)  # No call shows 'inside'.
    ruling = CallRuling.CONFLICT if plain else CallRuling.JUDGE
    return Decision(ruling, check, "it is none of what the rule allows", named=True)


def _mentioned(check: Check, speech: Speech, _: Sequence[ActCall]) -> Decision:
    """A rule that is read as no ban: a call may turn off what it demands, or speak of it."""
    reading, tool = check.reading, check.tool
    words = [word for thing in reading.things for word in thing.words]
    if any(speaks_of(word, speech.off) for word in words):
        return Decision(CallRuling.CONFLICT, check, "it turns off what it demands", named=True)
    on = Text(" ".join(leaf.name for leaf in speech.leaves if leaf.value is True))
    act = not reading.verbs or act_fit(reading, tool, speech) is Fit.YES
    thing = thing_fit(reading, tool, speech) is not Fit.NO
    named = act and thing and bool(reading.verbs or reading.things)
    named = named and not any(speaks_of(word, on) for word in words)
    return Decision(CallRuling.JUDGE, check, "it may break it" if named else "", named)


_DECIDES: Final[dict[Op, Callable[[Check, Speech, Sequence[ActCall]], Decision]]] = {
    "forbidden": _forbidden,
    "beyond": _beyond,
    "elsewhere": _elsewhere,
    "mentioned": _mentioned,
    "set": _set,
}
