"""The text form of the ACE authors' own code (arXiv 2510.04618, appendix).

## STRATEGIES & INSIGHTS
[str-00001] helpful=5 harmful=0 :: Check the units first.
"""

from acc_ace.playbook.formats.file_form import broken, bullet_at, gathered, shown
from acc_ace.schemas.bullet import DEFAULT_SECTION, Bullet
from acc_ace.schemas.playbook import Playbook
from acc_ace.text.patterns import lazy_pattern

LINE = lazy_pattern(
    r"\s*(?:[-*]\s+)?\[([^\[\]\s]{1,64})\]\s*helpful\s*=\s*(\d{1,16})\s*,?\s*"
    r"harmful\s*=\s*(\d{1,16})\s*::\s?(.*)"
)
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s+(.*)")


def write_ace_text(playbook: Playbook) -> str:
    """The playbook in that form, which keeps neither neutral counts nor dates."""
    return playbook.as_prompt() + "\n" if playbook.bullets else ""


def read_ace_text(text: str) -> Playbook:
    """The playbook of such a text. Raises InputError that names the line."""
    section = DEFAULT_SECTION
    found: list[tuple[int, Bullet]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        heading, entry = _HEADING.fullmatch(line), LINE.fullmatch(line)
        if heading:
            section = heading[1].strip()
        elif entry:
            bullet_id, helpful, harmful, content = entry.groups()
            fields = {
                "id": bullet_id,
                "section": section,
                "content": content,
                "helpful": int(helpful),
                "harmful": int(harmful),
            }
            found.append((number, bullet_at(number, fields)))
        elif line.strip():
            raise broken(number, f"neither a heading nor a bullet: {shown(line.strip())}")
    return gathered(found)
