"""What a CCM's reply proposes about rules: its quotes are held against x_t before the gate."""

import json
from collections.abc import Mapping, Sequence

from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    CompressorReply,
    RuleChange,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.proposals import fallback_changes
from acc_ace.core.text.similarity import same_wording

_NOT_COPIED = "`quote` is not in the user's own words of current_input; copy the whole sentence"


def read_proposals(text: str, *, x_t: TurnInput, inputs: Mapping[str, object]) -> CompressorReply:
    """The CCM's reply; proposals that mean words of x_t but do not quote them are unreadable.

    A quote of something else in the `inputs` is left to the gate, as is one of nothing at all: the
    user has not said it. Raises ModelOutputError.
    """
    reply = read_reply(CompressorReply, text)
    if not reply.rule_changes or not x_t.authority.may_rule:
        return reply
    own = own_words(x_t.text)
    others = [value for name, value in inputs.items() if name != "current_input"]
    attached = [each.text for each in x_t.attachments]
    shown = same_wording(json.dumps([others, attached], ensure_ascii=False, default=str))
    wording = same_wording(x_t.text)
    changes, entries = list[RuleChange](), list[str]()
    for change in reply.rule_changes:
        quote = same_wording(change.quote)
        if quote in shown and quote not in wording:
            # Somebody else's: a likeness to words of x_t makes them nobody's rule.
            changes += [] if own.find_all(change.quote) else [change]
        elif own.find_all(change.quote) or not own.about(change.quote):
            changes.append(change)
        else:
            entries.append(f"{change.model_dump_json(exclude_defaults=True)}: {_NOT_COPIED}")
    unreadable = [*reply.unreadable, *entries]
    return reply.model_copy(update={"rule_changes": changes, "unreadable": unreadable})


def proposals(
    reply: CompressorReply | None, x_t: TurnInput, previous: CommittedState
) -> Sequence[RuleChange]:
    """What a reply proposes: its rule changes, and what it only wrote into `constraints`.

    Where it says nothing of rules, or what it says cannot be used, the plain ones of x_t.
    """
    if reply is None:
        return fallback_changes(x_t.text, previous.pins)
    known = {same_wording(pin.text) for pin in previous.pins}
    own = own_words(x_t.text)
    written = [
        RuleChange(kind=ChangeKind.ADD, quote=text)
        for text in reply.constraints or ()
        if same_wording(text) not in known and own.find(text)
    ]
    changes = [*(reply.rule_changes or ()), *written]
    if reply.rule_changes is None:
        return [*changes, *fallback_changes(x_t.text, previous.pins)]
    unread = {own.about(entry) for entry in reply.unreadable} - {""}
    plain = fallback_changes(x_t.text, previous.pins) if unread else []
    return [*changes, *(each for each in plain if any(each.quote in line for line in unread))]
