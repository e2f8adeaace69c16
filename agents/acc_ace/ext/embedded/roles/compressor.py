"""The Compressor role: the next cognitive state from x_t and the last state.

The gist has the newest statements first, word for word; the oldest are dropped at the budget. What
it leaves out stays as it was, and of rules it says nothing, which leaves them to the reader at the
commit gate.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CompressorReply
from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.rules.own_words import without_numbers
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.embedded.conflicts import things_in
from acc_ace.ext.embedded.forget_wish import forget_wish, wished
from acc_ace.ext.embedded.self_talk import about_user
from acc_ace.ext.embedded.speech_acts import is_hedged, is_list, is_said
from acc_ace.ext.embedded.views import items_of, mapping_of, state_of, text_of, turn_input_of

_NOTED = "An agent or tool noted: "  # Or the user would be taken to have said it.
_GIST_TOKENS = 95
_UNCERTAIN_TOKENS = 70
_ENDS = (".", "!", "?", "。", "！", "？", "…")
_TAKEN_BACK = re.compile(r"\bfalse alarm\b|誤報|誤りでした", re.IGNORECASE)


def compress(inputs: Mapping[str, object]) -> CompressorReply:
    """The state after x_t; reads `current_input` and `previous_state`."""
    current = turn_input_of(inputs.get("current_input"))
    state = state_of(inputs.get("previous_state"))
    previous = state.ccs
    text = without_numbers(current.text)
    said = _statements(text, "" if current.authority is Authority.USER else _NOTED)
    corrects = is_correction(text) or _TAKEN_BACK.search(text) is not None
    gist = _still_true(said, split_sentences(previous.semantic_gist), corrects=corrects)
    doubts = [item for item in said if is_hedged(item)]
    reply = CompressorReply(
        semantic_gist=_within([*said, *gist], _GIST_TOKENS),
        focal_entities=sorted(things_in(text))[:12] or None,
        predictive_cue="",
        uncertainty_signal=_within(
            [*doubts, *_open(split_sentences(previous.uncertainty_signal), text, said)],
            _UNCERTAIN_TOKENS,
        ),
    )
    # Whole, for a host that asks for the state itself.
    return CompressorReply(
        **reply.onto(previous).model_dump(),
        asks_to_forget=forget_wish(text),
        about_user=[*about_user([text, *_late(inputs.get("artifacts"))], state.subjects)] or None,
    )


def _late(artifacts: object) -> list[str]:
    """The user's messages among the artifacts, which no CCM has read."""
    users = (text_of(mapping_of(each).get("user")) for each in items_of(artifacts))
    return [without_numbers(text) for text in users if text]


def _statements(text: str, who: str) -> list[str]:
    """The statements of a text, each after `who`; its rules stand among the constraints."""
    rules = {rule.sentence for rule in rules_in(text)}
    return [
        f"{who}{item}"
        for item in ([] if is_list(text) else split_sentences(text)[:80])
        if item not in rules
        and is_said(item)
        and wished(item) is None
        and instruction_like(item) is None
        and len(content_words(item)) > 1
    ]


def _still_true(said: Sequence[str], known: Sequence[str], *, corrects: bool) -> list[str]:
    """Earlier statements that no newer one holds within it, or corrects; memory keeps them all."""
    return [
        item
        for item in known
        if not any(
            content_words(item) <= content_words(newer) or (corrects and _is_about(newer, item))
            for newer in said
        )
    ]


def _is_about(newer: str, older: str) -> bool:
    """Whether a sentence has at least half of the content words of an older one."""
    words = content_words(older)
    return bool(words) and 2 * len(words & content_words(newer)) >= len(words)


def _open(doubts: Sequence[str], text: str, said: Sequence[str]) -> list[str]:
    """Earlier doubts about the matter of x_t that it does not settle."""
    words = content_words(text)
    sure = [item for item in said if not is_hedged(item)]
    return [
        item
        for item in doubts
        if content_words(item) & words and not any(_is_about(newer, item) for newer in sure)
    ]


def _within(sentences: Iterable[str], budget: int) -> str:
    """The first sentences that fit a budget, each with an end mark to be split again."""
    result, used = list[str](), 0
    for item in sentences:
        end = "" if item.endswith(_ENDS) else "."
        cost = estimate_tokens(item) + 2
        if used + cost <= budget:
            result.append(item + end)
            used += cost
    return " ".join(result)
