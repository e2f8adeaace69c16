"""Checks in plain words, in English and Japanese."""

from collections.abc import Collection, Sequence
from typing import Final

from acc_ace.core.schemas.commit import ConstraintPin, ToolCheck
from acc_ace.core.schemas.report import ReportedCheck
from acc_ace.core.text.normalize import language_of
from acc_ace.ext.guard.calls import ActCall, Speech, Tool
from acc_ace.ext.guard.checks import Check, compile_rule
from acc_ace.ext.guard.matching import Fit, act_fit


def in_words(check: Check, language: str) -> str:
    """What a check does, for people, in English or Japanese ('ja')."""
    reading, forms = check.reading, _FORMS[language]
    if check.does:
        own = ToolCheck(tool=check.tool.name, does=check.does)
        return _as_set(own, language, (own.tool,))
    argument = f"`{check.argument}`" if check.argument else forms["amount"]
    asks = reading.open_clause or not check.covers_whole or check.op == "mentioned"
    is_any = check.op == "forbidden" and not reading.things
    when = (
        ""
        if is_any
        else forms[check.op].format(
            limits=forms["or"].join(f"{argument} {limit}" for limit in reading.limits),
            things=", ".join(map(str, reading.things)),
            allowed=", ".join(map(str, reading.allowed)),
        )
    )
    span = forms["timed"] if reading.window else ""
    return forms["asks" if asks else "stops"].format(tool=check.tool.name, when=when + span)


def describe(pin: ConstraintPin, tools: Sequence[Tool]) -> list[ReportedCheck]:
    """What a rule does at the tools that it speaks of, and what a person has set there."""
    language, names = language_of(pin.text), {tool.name for tool in tools}
    lines = [
        ReportedCheck(tool=own.tool, text=_as_set(own, language, names), does=own.does)
        for own in pin.checks
    ]
    own = {own.tool for own in pin.checks}
    for check in compile_rule(pin.text, tuple(tool for tool in tools if tool.name not in own)):
        arguments = dict.fromkeys(check.tool.parameters, "?")
        speech = Speech(ActCall(check.tool.name, arguments), check.tool)
        fit = act_fit(check.reading, check.tool, speech)
        if check.reading.verbs and fit in {Fit.YES, Fit.OPEN}:
            lines.append(ReportedCheck(tool=check.tool.name, text=in_words(check, language)))
    return list({(each.tool, each.text): each for each in lines}.values())


def _as_set(own: ToolCheck, language: str, names: Collection[str]) -> str:
    forms = _FORMS[language]
    kind = "gone" if own.tool not in names else own.does if own.does in forms else "when"
    return forms[kind].format(tool=own.tool, when=own.does)


_FORMS: Final = {
    "en": {
        "stops": "I will stop `{tool}`{when}.",
        "asks": "I will ask before `{tool}`{when}.",
        "beyond": " when {limits}",
        "elsewhere": " unless it is {allowed}",
        "forbidden": " when it is about {things}",
        "mentioned": " when it touches the rule",
        "timed": " at the times of the rule",
        "amount": "its amount",
        "or": " or ",
        "off": "`{tool}` is not checked against this rule, as you set it.",
        "ask": "I will ask before `{tool}`, as you set it.",
        "stop": "I will stop `{tool}`, as you set it.",
        "when": "I will stop `{tool}` when {when}, as you set it.",
        "gone": "Ignored while no tool `{tool}` is declared: {when}",
    },
    "ja": {
        "stops": "`{tool}` は{when}実行を止めます。",
        "asks": "`{tool}` は{when}実行前に確認します。",
        "beyond": "、{limits} のとき、",
        "elsewhere": "、対象が {allowed} でないとき、",
        "forbidden": "、対象が {things} のとき、",
        "mentioned": "、ルールに関係するとき、",
        "timed": "ルールの時間帯に限り、",
        "amount": "値",
        "or": " または ",
        "off": "設定により、`{tool}` はこのルールと照合しません。",
        "ask": "設定により、`{tool}` の実行前に確認します。",
        "stop": "設定により、`{tool}` の実行を止めます。",
        "when": "設定により、{when} のとき、`{tool}` の実行を止めます。",
        "gone": "`{tool}` というツールがないため、この設定は無視します：{when}",
    },
}
