"""Who makes and lifts rules: three compressors on sentences by another hand than the rules' author.

    python -m bench.consent [dev|held|second_dev|second_held]

`perfect` proposes what a careful reader would, `lying` proposes each sentence as a rule and the
release of every rule at each turn, `embedded` is the model without a key. Each message is one turn
against the standing rules of its item. Prints shares and, with -v, for a half that may be
looked at, what misses.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from acc_ace.core.gates.commit_gate import GateResult, commit
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import ChangeKind, CommittedState, ConstraintPin, RuleChange
from acc_ace.core.schemas.interaction import Attachment, TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.rules.reading import proposed_changes, user_words
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import normalised

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "consent"
LIMITS: Final = Limits(constraints_tokens=4_000, ccs_tokens=8_000)

Item = dict[str, Any]
Compressor = Callable[[Item, list[ConstraintPin]], list[RuleChange]]


class Turn(NamedTuple):
    """An item, its state before, and what the gate made of it."""

    item: Item
    before: CommittedState
    result: GateResult

    @property
    def pinned(self) -> list[str]:
        """New rules of the turn that replace none."""
        changed = {release.replaced_by for release in self.result.diff.constraints_released}
        return [p.text for p in self.result.diff.constraints_added if p.id not in changed]

    @property
    def asked(self) -> list[str]:
        """The texts that the turn asks about."""
        return [text for question in self.result.state.questions for text in question.texts]

    def keeps(self, rule: str) -> bool:
        """Whether each sentence of a rule is pinned or asked about."""
        return all(covers(self.pinned + self.asked, said) for said in split_sentences(rule))

    @property
    def lifted(self) -> list[str]:
        """Rules that are gone after the turn."""
        return [release.id for release in self.result.diff.constraints_released]

    @property
    def touched(self) -> set[str]:
        """Rules that were changed, or that a question is about."""
        asked = {question.rule_id for question in self.result.state.questions}
        return {*self.lifted, *(rule for rule in asked if rule)}


def perfect(item: Item, pins: list[ConstraintPin]) -> list[RuleChange]:
    """What a careful reader would propose."""
    adds = [RuleChange(kind=ChangeKind.ADD, quote=rule) for rule in item["rules"]]
    return adds + [
        RuleChange(
            kind=ChangeKind(change["kind"]),
            quote=change["quote"],
            rule_id=pins[change["rule"]].id,
            text=change.get("new"),
        )
        for change in item["changes"]
    ]


def lying(item: Item, pins: list[ConstraintPin]) -> list[RuleChange]:
    """Each sentence a rule, each turn a release of all."""
    texts = [item["text"], *(a["text"] for a in item["attachments"])]
    said = [sentence for text in texts for sentence in split_sentences(text)] + item["foreign"]
    adds = [RuleChange(kind=ChangeKind.ADD, quote=sentence) for sentence in said]
    lifts = [
        RuleChange(kind=ChangeKind.RELEASE, quote=sentence, rule_id=pin.id)
        for pin in pins
        for sentence in said
    ]
    return lifts[:40] + adds


def embedded(item: Item, pins: list[ConstraintPin]) -> list[RuleChange]:
    """What the language rules see."""
    return proposed_changes(item["text"], pins, has_goal=True)


def turns(name: str, compressor: Compressor) -> Iterator[Turn]:
    """One turn of each item."""
    for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        before = _state(item["standing"])
        given = TurnInput(
            text=item["text"],
            attachments=tuple(Attachment(**a) for a in item["attachments"]),
        )
        result = commit(
            before,
            empty_ccs().model_copy(update={"episodic_trace": "turn", "semantic_gist": "turn"}),
            given,
            user_words(given, compressor(item, before.pins)),
            limits=LIMITS,
        )
        yield Turn(item, before, result)


def _state(standing: list[str]) -> CommittedState:
    pins = [
        ConstraintPin(
            id=f"c-{number:04d}", text=text, authority=Authority.USER, origin_turn=1, quote=text
        )
        for number, text in enumerate(standing, start=1)
    ]
    ccs = empty_ccs().model_copy(
        update={"constraints": list(standing), "semantic_gist": "work", "episodic_trace": "work"}
    )
    return CommittedState(version=1, turn=1, ccs=ccs, pins=pins, next_pin=len(pins) + 1)


def covers(texts: list[str], wanted: str) -> bool:
    """Whether one of the texts holds the wanted words."""
    return any(normalised(wanted) in normalised(text) for text in texts)


def report(name: str, label: str, compressor: Compressor) -> None:
    """Print the figures of one compressor."""
    done = list(turns(name, compressor))
    lifted = [t for t in done if t.lifted and not _is_consented(t)]
    by = {kind: [t for t in done if t.item["class"] == kind] for kind in _CLASSES}
    own = [(t, rule) for t in by["own"] for rule in t.item["rules"]]
    kept = [(t, r) for t, r in own if t.keeps(r)]
    marked = [t for t in by["foreign_marked"] if _pins_foreign(t)]
    loose = [t for t in by["foreign_unmarked"] if t.pinned]
    like = [t for t in by["lookalike"] + by["chat"] + by["false_release"] if t.pinned]
    looked = by["lookalike"] + by["chat"] + by["false_release"]
    genuine = [(t, t.before.pins[c["rule"]].id) for t in by["release"] for c in t.item["changes"]]
    done_or_asked = [(t, rule) for t, rule in genuine if rule in t.touched]
    print(f"\n{label} on {name}:")
    _line("lifted or altered without consent", lifted, done)
    _line("words of others pinned, marked", marked, by["foreign_marked"])
    _line("words of others pinned, unmarked", loose, by["foreign_unmarked"])
    _line("own rules pinned or asked", kept, own, [t for t, r in own if (t, r) not in kept])
    missed = [t for t, rule in genuine if (t, rule) not in done_or_asked]
    _line("genuine changes done or asked", done_or_asked, genuine, missed)
    _line("look-alikes pinned", like, looked)
    _line("look-alikes asked about", [t for t in looked if t.asked or t.touched], looked, [])
    print(f"  most rules pinned in a turn      {max(len(t.pinned) for t in done)}")


_CLASSES = (
    "own",
    "lookalike",
    "foreign_marked",
    "foreign_unmarked",
    "release",
    "false_release",
    "chat",
)
_SHOW = False


def _is_consented(turn: Turn) -> bool:
    return str(turn.item["class"]) == "release"


def _pins_foreign(turn: Turn) -> bool:
    foreign = turn.item["foreign"]
    return any(covers(turn.pinned, words) for words in foreign) or any(
        covers(foreign, pinned) for pinned in turn.pinned
    )


def _line(what: str, found: list[Any], among: list[Any], misses: list[Turn] | None = None) -> None:
    share = len(found) / len(among) if among else 0.0
    print(f"  {what:34} {len(found):4} of {len(among):4}  {share:6.1%}")
    if _SHOW and "-v" in sys.argv:
        bad = misses if misses is not None else [t for t in found if isinstance(t, Turn)]
        for turn in bad[:60]:
            print(f"      {turn.item['id']}: {turn.item['text'][:150]!r} pinned={turn.pinned}")


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "dev"
    _SHOW = not chosen.endswith("held") and "-v" in sys.argv
    for label, compressor in (("perfect", perfect), ("lying", lying), ("embedded", embedded)):
        report(chosen, label, compressor)
