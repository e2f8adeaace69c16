"""Whose words they are: leave out what a speaker quotes or pastes."""

from collections.abc import Iterator

from acc_ace.text.normalize import MAX_ANALYSED
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.quoted_spans import own_lines
from acc_ace.text.sentences import split_sentences

_QUOTATION = lazy_pattern(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|`[^`\n]{1,400}`"
    r"|(?<![\w])'[^'\n]{3,400}'(?![\w])|‘[^’\n]{3,400}’(?!\w)"
)
_MASK = "▢"
"""Stands for a quotation where patterns look, so that its words are nobody's."""


def own_sentences(text: str, *, wary: bool = False) -> Iterator[str]:
    """The sentences that are the speaker's own, in order, each a verbatim substring.

    What is pasted or quoted at length is left out, as `pasted.own_lines` says; a wary reader
    leaves out more.
    """
    for line in own_lines(text[:MAX_ANALYSED], wary=wary):
        yield from split_sentences(line)


def mask_quotations(sentence: str) -> str:
    """The sentence with every quotation replaced by a mark."""
    return _QUOTATION.sub(_MASK, sentence)


def first_quotation(sentence: str) -> str | None:
    """What stands between the first quotation marks of a sentence, or None."""
    found = _QUOTATION.search(sentence)
    return found.group()[1:-1].strip() if found else None


def is_only_quotation(sentence: str) -> bool:
    """Whether nothing is left of the sentence outside quotation marks."""
    return not mask_quotations(sentence).strip(f"{_MASK} .。!！,、")
