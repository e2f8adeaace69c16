"""What a server says of its tools: MCP's hints, over the wire and as ADK hands them on.

Without the extra, what ADK hands on is played by a tool of the same shape.
"""

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from acc_ace.ext.guard.calls import ActCall
from acc_ace.ext.guard.checks import CallRuling, compile_rule, decide
from acc_ace.ext.guard.declared import declared
from tests.ext.guard.test_conflicts import NOW

SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
RULE = "Refunds are Dana's."
BAN = "Never refund anything."


class Played(BaseTool):
    """The shape of ADK's McpTool."""

    raw_mcp_tool: Any = None

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=SCHEMA)


def played(name: str, hints: dict[str, bool] | None) -> BaseTool:
    tool = Played(name=name, description="Refund an order.")
    none: dict[str, bool | None] = dict.fromkeys(("readOnlyHint", "destructiveHint"))
    annotations = None if hints is None else SimpleNamespace(**none | hints)
    tool.raw_mcp_tool = SimpleNamespace(annotations=annotations)
    return tool


def wired(name: str, hints: dict[str, bool] | None) -> BaseTool:
    """ADK's own tool over MCP's wire types, read from JSON as a server sends it."""
    pytest.importorskip("mcp", reason="needs the extra: pip install -e '.[mcp]'")
    mcp_types: Any = importlib.import_module("mcp.types")
    mcp_tool: Any = importlib.import_module("google.adk.tools.mcp_tool.mcp_tool")
    sent = {"name": name, "description": "Refund an order.", "inputSchema": SCHEMA}
    if hints is not None:
        sent["annotations"] = hints
    wire = mcp_types.Tool.model_validate(sent)
    tool: BaseTool = mcp_tool.McpTool(mcp_tool=wire, mcp_session_manager=None)
    return tool


@pytest.mark.parametrize("made", [played, wired])
@pytest.mark.parametrize(
    ("hints", "acts"),
    [
        (None, False),
        ({}, False),
        ({"readOnlyHint": False}, True),
        ({"destructiveHint": True}, True),
        ({"readOnlyHint": False, "destructiveHint": False}, True),
        ({"readOnlyHint": True, "destructiveHint": True}, False),
        ({"idempotentHint": True}, False),
    ],
)
def test_a_tool_that_its_server_calls_acting_is_asked_about_for_a_rule_with_a_word_of_it(
    made: Any, hints: dict[str, bool] | None, acts: bool
) -> None:
    tool = declared(made("till_refund", hints))
    assert (tool.acts, [*tool.parameters]) == (acts, ["order"])
    found = decide(compile_rule(RULE, (tool,)), ActCall(tool.name, {"order": "A1"}), NOW)
    assert (found.ruling, found.named) == (CallRuling.JUDGE, acts)


@pytest.mark.parametrize("made", [played, wired])
def test_only_a_trusted_server_is_believed_that_a_tool_only_reads(made: Any) -> None:
    hints = {"readOnlyHint": True}
    call = ActCall("till_refund", {"order": "A1"})
    for trusted, ruling in (((), CallRuling.CONFLICT), (("till_",), CallRuling.RUN)):
        tool = declared(made("till_refund", hints), trusted=trusted)
        assert decide(compile_rule(BAN, (tool,)), call, NOW).ruling is ruling
