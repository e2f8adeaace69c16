"""Which result answers which tool call, also where a model gives its calls the same id."""

from collections import defaultdict
from collections.abc import Sequence

from acc_ace.schemas.interaction import ToolCall, ToolResult


def answered_calls(
    calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> list[tuple[ToolCall, ToolResult]]:
    """The calls of a turn that were answered, each with its own result, in the order of the calls.

    A call with an id of its own has the last result of that id: an earlier one said "pending".
    Calls that share an id are told apart by their tools and by the model calls that made them.
    Left out are those where that leaves a doubt: no result is ever shown for another call.
    """
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for at, call in enumerate(calls):
        sharing[call.id].append(at)
    of_id: defaultdict[str, list[ToolResult]] = defaultdict(list)
    for result in results:
        of_id[result.tool_call_id].append(result)
    found: dict[int, ToolResult] = {}
    for call_id, places in sharing.items():
        if len(places) > 1:
            found |= _by_position(calls, places, of_id[call_id])
        elif of_id[call_id]:
            found[places[0]] = of_id[call_id][-1]
    return [(calls[at], found[at]) for at in sorted(found)]


def _by_position(
    calls: Sequence[ToolCall], places: Sequence[int], results: Sequence[ToolResult]
) -> dict[int, ToolResult]:
    """Results of calls that share an id: the first of a tool is that of its first call, and so on.

    Parallel calls end in any order, and one lost result moves all others: both are left out.
    """
    by_tool: defaultdict[str, list[int]] = defaultdict(list)
    for at in places:
        by_tool[calls[at].name].append(at)
    found: dict[int, ToolResult] = {}
    for name, own in by_tool.items():
        given = [result for result in results if result.name == name]
        in_a_row = len({calls[at].step for at in own}) == len(own)
        if len(given) == len(own) and in_a_row:
            found |= dict(zip(own, given, strict=True))
    return found
