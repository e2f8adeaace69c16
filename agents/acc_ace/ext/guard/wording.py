"""Checks in plain words, in English and Japanese."""

from acc_ace.core.text.normalize import language_of
from acc_ace.ext.guard.calls import ActCall, Speech, Tool
from acc_ace.ext.guard.checks import Check, compile_rule
from acc_ace.ext.guard.matching import Fit, act_fit


def in_words(check: Check, language: str) -> str:
    """What a check does, for people, in English or Japanese ('ja')."""
    reading, tool = check.reading, f"`{check.tool.name}`"
    things = ", ".join(map(str, reading.things))
    allowed = ", ".join(map(str, reading.allowed))
    asks = reading.open_clause or not check.covers_whole or check.op == "mentioned"
    if language == "ja":
        argument = f"`{check.argument}`" if check.argument else "値"
        when = {
            "beyond": "、".join(f"{argument} {limit}" for limit in reading.limits) + " のとき",
            "elsewhere": f"{allowed} でないとき",
            "forbidden": f"{things} が対象のとき" if things else "",
            "mentioned": "ルールに触れるとき",
        }[check.op]
        timed = "(ルールの時間内)" if reading.window else ""
        return f"{tool} は{when}{timed}{'確認します' if asks else '止めます'}。"
    argument = f"`{check.argument}`" if check.argument else "its amount"
    when = {
        "beyond": "when " + " or ".join(f"{argument} {limit}" for limit in reading.limits),
        "elsewhere": f"unless it is {allowed}",
        "forbidden": f"when it is about {things}" if things else "",
        "mentioned": "when it touches the rule",
    }[check.op]
    timed = "at the times of the rule" if reading.window else ""
    parts = ["I will", "ask before" if asks else "stop", tool, when, timed]
    return " ".join(part for part in parts if part) + "."


def described(rule: str, tools: tuple[Tool, ...]) -> tuple[str, ...]:
    """What is done about a rule at the tools of an app, for people, in the rule's language."""
    lines = []
    for check in compile_rule(rule, tools):
        speech = Speech(
            ActCall(check.tool.name, dict.fromkeys(check.tool.parameters, "?")), check.tool
        )
        if (
            act_fit(check.reading, check.tool, speech) in {Fit.YES, Fit.OPEN}
            and check.reading.verbs
        ):
            lines.append(in_words(check, language_of(rule)))
    return tuple(dict.fromkeys(lines))
