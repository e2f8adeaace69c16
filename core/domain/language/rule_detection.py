"""Find the rules that a speaker lays on the agent or its work."""

import re
from dataclasses import dataclass

from core.domain.language.normal import normalise
from core.domain.language.sentences import split_sentences

_CUE = re.compile(
    r"^(?:please )?(?:never|do not|don't|always|only)\b|\bfrom now on\b|\b(?:frozen until|off-limits)\b"
    r"|^you (?:must|may not)\b|禁止|ないでください|必ず|口外無用|伏せて|今後は"
)


@dataclass(frozen=True)
class RuleSpan:
    """A rule as it was said: `text` is a verbatim clause or sentence, `sentence` holds it."""

    text: str
    sentence: str


def detect_rules(text: str) -> list[RuleSpan]:
    """The rules of a text, in order of speech."""
    return [
        RuleSpan(text=sentence, sentence=sentence)
        for sentence in split_sentences(text)
        if _CUE.search(normalise(sentence)) and not sentence.rstrip().endswith(("?", "？"))
    ]
