"""Choose facts and lessons to quote, and write them as lines with citations."""

from collections.abc import Iterable

from core.models.embedded.matching import Fact, once, rank, terms_of
from core.models.embedded.situation import Situation, facts_held, is_claim
from core.models.embedded.wording import cited


def bearing_on(situation: Situation, text: str, *, limit: int) -> list[Fact]:
    """Facts that bear on a text, best first."""
    words = terms_of(text)
    matches = rank(text, facts_held(situation))
    near = [match.fact for match in matches if match.score >= 0.25 and match.shared >= 2]
    # A fact with no word beyond the text's own tells nothing about it.
    told = (fact for fact in near if terms_of(fact.text) - words)
    return once(fact for fact in told if not is_claim(fact.text))[:limit]


def lessons_for(situation: Situation, text: str) -> list[Fact]:
    """Bullets that apply to a text; those that did more harm than good are left alone."""
    facts = [
        Fact(bullet.content, bullet.id)
        for bullet in situation.bullets
        if bullet.harmful <= bullet.helpful
    ]
    matches = rank(text, facts)
    return [match.fact for match in matches if match.shared >= 2 or match.score >= 0.3][:2]


def quoted_lines(facts: Iterable[Fact]) -> list[str]:
    """Facts as list items with their citations."""
    return [f"- {fact.text}{cited(fact.cite)}" for fact in facts]
