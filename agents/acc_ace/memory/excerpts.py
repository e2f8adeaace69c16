"""Quote from an artifact what answers an input, on one line, with who said it and when.

A decision sees CCS_t and x_t alone, so the sentences that matter travel in the references of the
state. Code chooses them; they are verbatim, and stay somebody's words.
"""

from collections.abc import Callable, Collection, Sequence

from acc_ace.core.gates.commands import is_acknowledgement
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.text.exchange import (
    AGENT,
    USER,
    ExchangePart,
    bare,
    in_one_line,
    parts_of,
    parts_of_input,
    written,
)
from acc_ace.core.text.normalize import neutralise, same_wording
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.prompt import Quotation
from acc_ace.core.text.rules.corrections import is_correction
from acc_ace.core.text.rules.mentions import rules_in
from acc_ace.core.text.search_terms import query_terms, terms_of
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.tokens import CUT_MARK, clip_tokens, estimate_tokens
from acc_ace.memory.chunking import excerpt

_RULE_ID = lazy_pattern(r"\b[cuq]-\d{4,}\b")
_WHO_TOKENS = 12
_LEAST_TOKENS = 8
"""Fewer tokens of text than this say nothing."""


def quotations(
    artifacts: Sequence[Artifact],
    user_text: str,
    around: Collection[str],
    *,
    needed: Collection[str],
    max_tokens: int,
) -> dict[str, str]:
    """A quotation from each artifact that has one, by id, each within `max_tokens`.

    First those that hold words of `said` (x_t), then those with words of `around` (the state
    before), then short ones with neither that are `needed`, as an answer to a question is; in the
    order given among themselves, but that a correction goes before what it may correct. What was
    said right after a turn that is quoted goes with it: it may say that this holds no more. An
    answer that repeats another quotation is left out, and so is a turn that only thanks or
    confirms.
    """
    levels = (frozenset(query_terms(user_text)), frozenset(query_terms(" ".join(around))))
    own = {each.artifact_id: _level(each, levels) for each in artifacts}
    before = {
        (each.session, each.turn): own[each.artifact_id] for each in artifacts if _is_turn(each)
    }
    quotes: list[tuple[tuple[int, bool], str, Quotation]] = []
    for artifact in artifacts:
        if _is_turn(artifact) and is_acknowledgement(_exchange(artifact.content)[0].text):
            continue
        level = own[artifact.artifact_id]
        wanted = levels[level] if level < len(levels) else frozenset[str]()
        if not wanted and artifact.artifact_id not in needed:
            continue
        if quoted := _quotation(artifact, wanted, max_tokens):
            led = before.get((artifact.session, (artifact.turn or 0) - 1), level)
            place = (min(level, led) if _is_turn(artifact) else level, not _corrects(artifact))
            quotes.append((place, artifact.artifact_id, quoted))
    texts = [quoted.text for _, _, quoted in quotes]
    return {
        name: str(quoted)
        for _, name, quoted in sorted(quotes, key=lambda item: item[0])
        if not _repeats(quoted.text, texts)
    }


def _repeats(text: str, others: Collection[str]) -> bool:
    """Whether an exchange holds another quotation whole, as answers that quote do."""
    answers = [part.text for part in parts_of(text, in_line=True) if part.who == AGENT]
    return any(other in answer for answer in answers for other in others)


def _is_turn(artifact: Artifact) -> bool:
    return artifact.kind is ArtifactKind.TURN


def _level(artifact: Artifact, levels: Sequence[frozenset[str]]) -> int:
    """The first of the levels whose words an artifact holds; behind them where it has none."""
    terms = terms_of(artifact.content)
    return next((at for at, words in enumerate(levels) if words & terms), len(levels))


def _corrects(artifact: Artifact) -> bool:
    if not _is_turn(artifact):
        return False
    return is_correction(_exchange(artifact.content)[0].text)


def _quotation(artifact: Artifact, wanted: frozenset[str], max_tokens: int) -> Quotation | None:
    who, text = _speaker(artifact, wanted)
    frame = Quotation(who, f"{artifact.created_at:%Y-%m-%d}", "")
    room = max_tokens - estimate_tokens(str(frame))
    if not text or room < _LEAST_TOKENS or (not wanted and estimate_tokens(text) > room):
        return None
    quoted = excerpt(text, wanted, room)
    if _is_turn(artifact):
        parts = ((part.who, _without_rules(part.text)) for part in parts_of(quoted))
        quoted = in_one_line(ExchangePart(*part) for part in parts if part[1])
    quoted = neutralise(quoted)
    return frame._replace(text=quoted) if quoted else None


def _speaker(artifact: Artifact, wanted: frozenset[str]) -> tuple[str, str]:
    """Who is quoted, and all that may be.

    Of a turn the user's own statements, where others say fewer of the wanted words or repeat
    them; else the whole exchange, in nobody's name, each part under its label.
    """
    if not _is_turn(artifact):
        who = clip_tokens(neutralise(artifact.source), _WHO_TOKENS)
        speaker, colon, text = artifact.content.partition(": ")
        return who, text if colon and speaker in who.split(", ") else artifact.content
    own, *others = _exchange(artifact.content)
    statements = _without(own.text, lambda sentence: sentence.endswith(("?", "？")))
    theirs = " ".join(part.text for part in others)
    is_more = _common(statements, wanted) > _common(theirs, wanted)
    is_enough = is_more or same_wording(statements) in same_wording(theirs) or not wanted
    if own.who and statements and is_enough:
        return own.who, bare(statements)
    return artifact.source, written([own, *others]) if own.who else artifact.content


@remembered
def _exchange(turn: str) -> tuple[ExchangePart, ...]:
    """The parts of a turn: what was said, what it quotes, and the answer; at least one."""
    first, *others = parts_of(turn) or [ExchangePart("", turn)]
    own = parts_of_input(first.who, first.text) if first.who == USER else [first]
    return (*own, *others)


def _without_rules(text: str) -> str:
    """What was said but for rules, and for words about one by its id: rules in force are in the
    constraints, and no other may come back.
    """
    return _without(
        text,
        lambda sentence: bool(_RULE_ID.search(sentence) or rules_in(sentence.strip(CUT_MARK))),
    )


def _without(text: str, is_out: Callable[[str], bool]) -> str:
    """A text without some of its sentences, and as it was between the others."""
    for sentence in filter(is_out, split_sentences(text)):
        text = text.replace(sentence, " ", 1)
    return text.strip()


def _common(text: str, wanted: frozenset[str]) -> int:
    return len(wanted & terms_of(text))
