"""One line that tells what memory did in a turn."""

from collections import Counter
from collections.abc import Iterator, Sequence

from acc_ace.schemas.report import ReportedDelta, ReportedVerdict, TurnReport

_SEPARATOR = " · "
_RESTORED = {"constraint_restored": "constraint", "goal_restored": "goal"}


def memory_line(report: TurnReport) -> str:
    """What memory did, in the order of the stages.

    For example: '+1 constraint · 2 artifacts qualified, 1 rejected: stale ·
    CCS 412/1024 tokens · +1 bullet · 2.1k tokens'. What did not happen is left out; the size
    of the CCS and the tokens of the turn (into and out of all model calls) always stand.
    """
    return _SEPARATOR.join(_parts(report))


def short_count(number: int) -> str:
    """A count in at most four figures: 640, 2.1k, 13k, 1.2M."""
    if number < 1_000:
        return str(number)
    scaled, unit = (number / 1_000, "k") if number < 999_500 else (number / 1_000_000, "M")
    return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"


def _parts(report: TurnReport) -> Iterator[str]:
    yield from _invariants(report)
    if report.qualified:
        yield _qualified(report.qualified)
    yield f"CCS {report.ccs_tokens}/{report.ccs_budget} tokens"
    if report.tool_calls:
        yield _counted(len(report.tool_calls), "tool call")
    yield from _deltas(report.deltas)
    used = sum(use.input + use.output for use in report.tokens.values())
    yield f"{short_count(used)} tokens"


def _invariants(report: TurnReport) -> Iterator[str]:
    """What happened to constraints and goal."""
    diff = report.ccs_diff
    if diff.constraints_added:
        yield f"+{_counted(len(diff.constraints_added), 'constraint')}"
    if diff.constraints_released:
        yield f"-{_counted(len(diff.constraints_released), 'constraint')}"
    if diff.goal_before != diff.goal_after:
        yield "goal changed" if diff.goal_before else "goal set"
    restored = Counter(
        _RESTORED[repair.reason] for repair in diff.repairs if repair.reason in _RESTORED
    )
    for noun, count in restored.items():
        yield f"{_counted(count, noun)} restored"


def _qualified(verdicts: Sequence[ReportedVerdict]) -> str:
    accepted = sum(verdict.ok for verdict in verdicts)
    reasons = Counter(verdict.reason for verdict in verdicts if not verdict.ok)
    line = f"{_counted(accepted, 'artifact')} qualified"
    return f"{line}, {reasons.total()} rejected: {_reasons(reasons)}" if reasons else line


def _deltas(deltas: Sequence[ReportedDelta]) -> Iterator[str]:
    """Bullets that changed, then operations that were held or rejected."""
    applied = Counter(delta.type.upper() for delta in deltas if delta.status == "applied")
    if applied["ADD"]:
        yield f"+{_counted(applied['ADD'], 'bullet')}"
    if applied["REMOVE"]:
        yield f"-{_counted(applied['REMOVE'], 'bullet')}"
    if applied["UPDATE"]:
        yield f"{_counted(applied['UPDATE'], 'bullet')} updated"
    if applied["TAG"]:
        yield f"{_counted(applied['TAG'], 'bullet')} tagged"
    for status in ("held", "rejected"):
        reasons = Counter(delta.reason for delta in deltas if delta.status == status)
        if reasons:
            yield f"{_counted(reasons.total(), 'delta')} {status}: {_reasons(reasons)}"


def _reasons(reasons: Counter[str]) -> str:
    return ", ".join(
        reason if count == 1 else f"{reason} ×{count}" for reason, count in reasons.most_common()
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
