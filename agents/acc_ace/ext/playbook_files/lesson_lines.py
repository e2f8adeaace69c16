"""Read the lessons of a text, whoever wrote it: ACE's lines, Markdown lists, kayba's export.

    ## restarts                                    a section
    [str-00001] helpful=5 harmful=0 :: Drain it.   a lesson, as an item of a list too;
      Then wait for a minute.                      deeper lines, and its sentence, go on
    - [str-00002] Ask first. (helpful=1)           counters may stand behind it, or be missing
    ### `str-00003`                                kayba: id, paragraphs, '*Tags: helpful=1, …*'

Where no line has counters or stands without a list, each item of a list is a lesson. Everything
else is passed over and said, with its line.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet, id_number
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.bullet_lines import bullet_at, gathered, left_out, shown

MOST_LINE: Final = 100_000
"""Maximum characters of a line."""

_ITEM: Final = r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)"
_ADDRESS: Final = (
    r"(\s*)([-*+]\s+|\d{1,3}[.)]\s+)?(?:\*\*|`)?\[([^\[\]\s]{1,64})\](?:\*\*|`)?\s*(.*)"
)
_PLAIN_ID: Final = r"[a-z][a-z0-9_.]*-\d{3,9}"
"""An id that needs neither counters nor '::'; the number of a ticket is none."""

_COUNT: Final = r"\b(helpful|harmful|neutral)\s{0,4}[=:]\s{0,4}(\d{1,16})\b"
_COUNTS_BEHIND: Final = rf"\s\(\s?(?:{_COUNT}[\s,;]{{0,4}}){{1,3}}\)$"
_NAMED_HEADING: Final = r"#{3,6}\s+(?:`([^`\s]{1,64})`|\[([^\[\]\s]{1,64})\])\s*"
_HEADING: Final = r"\s{0,3}(#{1,6})(?:\s+(.*))?"
_ALMOST: Final = r"[-*+ \t]*\[(?![^\]]*\]\().*(?:::|\b(?:helpful|harmful)\s?=)"
_LABELLED: Final = r"\*\*([\w ]{1,40}):?\*\*:?\s*(.*)"
_LESSON_LABELS: Final = frozenset({"content", "insight", "issue", "lesson", "strategy"})
_FENCES: Final = ("```", "~~~")
_ENDS: Final = (".", "!", "?", "。", "！", "？")


class _Opening(NamedTuple):
    """The line that begins a lesson; without an id it is an item of a plain list."""

    bullet_id: str
    counts: dict[str, int]
    text: str
    indent: int = 0
    is_item: bool = True
    is_block: bool = False


class _Lesson:
    """A lesson that is being read."""

    def __init__(self, line: int, section: str, opening: _Opening) -> None:
        self.line, self.section, self.opening = line, section, opening
        self.parts, self.counts = [opening.text] if opening.text else [], dict(opening.counts)

    def fields(self) -> dict[str, object]:
        """The fields of its bullet; without 'id' if it has none."""
        separator = " — " if self.opening.is_block else " "
        fields = {"section": self.section, "content": separator.join(self.parts), **self.counts}
        return {**fields, "id": self.opening.bullet_id} if self.opening.bullet_id else fields


class LessonReader:
    """Reads the lines of a text once. Raises InputError that names the line."""

    def __init__(self, text: str, section: str = DEFAULT_SECTION, *, addressed: bool) -> None:
        """`section` is that of lessons above the first heading; `addressed`: ids are required."""
        self._lines = text.split("\n")
        openings = [opening for line in self._lines if (opening := _opening(line)) is not None]
        with_ids = sum(bool(opening.bullet_id) for opening in openings)
        self._addressed = addressed or any(
            opening.bullet_id and (opening.counts or opening.is_block or not opening.is_item)
            for opening in openings
        )
        self.has_ids = self._addressed or 0 < len(openings) <= 2 * with_ids
        levels = [len(match[1]) for line in self._lines if (match := _heading(line))]
        self._titled = levels.count(1) == 1 and len(levels) > 1
        self._top = self._section = section
        self._open: _Lesson | None = None
        self._gap = False
        self._lessons: list[_Lesson] = []
        self._passed: list[str] = []

    def read(self) -> Reading:
        """The lessons, and what was passed over."""
        lines = iter(enumerate(self._lines, start=1))
        for number, line in lines:
            if len(line) > MOST_LINE:
                raise InputError(f"line {number}: longer than {MOST_LINE:,} characters")
            if line.lstrip().startswith(_FENCES):
                self._fence(number, line, lines)
            elif line.strip():
                self._line(number, line)
            self._gap = not line.strip()
        if not self._lessons:
            raise InputError(
                "no lessons in the file; a lesson is a line like '- [b-00001] :: text'"
            )
        return Reading(_numbered(self._lessons), len(self._passed), left_out(self._passed))

    def _line(self, number: int, line: str) -> None:
        opening, heading = _opening(line), _heading(line)
        if opening is not None and self._begins(opening):
            self._begin(number, opening)
        elif heading:
            self._open = None
            is_title = len(heading[1]) == 1 and self._titled
            self._section = self._top if is_title else (heading[2] or "").strip()
        elif _is_broken(line):
            raise InputError(f"line {number}: not a bullet: {shown(line.strip())}")
        elif self._open is not None and self._open.opening.is_block:
            self._block_line(number, line.strip(), self._open)
        elif self._open is not None and self._continues(line):
            self._open.parts.append(line.strip())
        else:
            self._pass_over(number, line, "an item without an id" if opening else "no lesson")

    def _begins(self, opening: _Opening) -> bool:
        """Whether a line begins a lesson here."""
        return bool(opening.bullet_id) or not self._addressed

    def _begin(self, number: int, opening: _Opening) -> None:
        self._open = _Lesson(number, self._section, opening)
        self._lessons.append(self._open)

    def _continues(self, line: str) -> bool:
        """Whether a line belongs to the open lesson: it is deeper, or its sentence goes on."""
        if self._open is None or re.match(r"\s*(?:\||<!--|([-*_])(?:\s*\1){2,}\s*$)", line):
            return False
        if len(line) - len(line.lstrip()) > self._open.opening.indent:
            return True
        has_ended = bool(self._open.parts) and self._open.parts[-1].endswith(_ENDS)
        return not self._gap and (not has_ended or re.fullmatch(_ITEM, line) is not None)

    def _block_line(self, number: int, line: str, lesson: _Lesson) -> None:
        """A line of kayba's export: the lesson, its counters, or what else is known of it."""
        label = re.fullmatch(_LABELLED, line)
        if counts := _counts(line):
            lesson.counts |= counts
        elif label is None and not line.startswith("---"):
            lesson.parts.append(line)
        elif label and label[1].strip(": ").lower() in _LESSON_LABELS:
            lesson.parts.append(label[2].rstrip("."))
        else:
            self._pass_over(number, line, "not the lesson")

    def _fence(self, number: int, line: str, lines: Iterator[tuple[int, str]]) -> None:
        """A block of code: a part of the lesson above it, unless it is an example of lessons."""
        mark = line.lstrip()[:3]
        block = [(number, line)]
        for at, inner in lines:
            block.append((at, inner))
            if inner.strip().startswith(mark):
                break
        code = [inner.strip() for _, inner in block[1:] if not inner.strip().startswith(mark)]
        is_example = any(opening.bullet_id for each in code if (opening := _opening(each)))
        if self._open is not None and self._continues(line) and not is_example:
            self._open.parts += filter(None, code)
        else:
            for at, inner in block:
                if inner.strip():
                    self._pass_over(at, inner, "code")

    def _pass_over(self, number: int, line: str, why: str) -> None:
        if self._open is None or not self._open.opening.is_block:
            self._open = None
        self._passed.append(f"line {number}: {why}: {shown(line.strip())}")


def _numbered(lessons: list[_Lesson]) -> Playbook:
    """The playbook; lessons without an id get one above the others'."""
    every = [(lesson.line, lesson.fields()) for lesson in lessons]
    free = 1 + max(id_number(str(fields.get("id", ""))) for _, fields in every)
    bullets: list[tuple[int, Bullet]] = []
    for line, fields in every:
        if "id" not in fields:
            fields["id"] = f"b-{free:05d}"
            free += 1
        bullets.append((line, bullet_at(line, fields)))
    return gathered(bullets, free)


def _heading(line: str) -> re.Match[str] | None:
    return re.fullmatch(_HEADING, line)


def _opening(line: str) -> _Opening | None:
    """What a line begins: a lesson with an id, or an item of a list."""
    named = re.fullmatch(_NAMED_HEADING, line)
    if named:
        return _Opening(named[1] or named[2], {}, "", is_block=True)
    address = re.fullmatch(_ADDRESS, line)
    if address:
        indent, mark, bullet_id, rest = address.groups()
        if (opening := _addressed(bullet_id, rest)) is not None:
            return opening._replace(indent=len(indent), is_item=bool(mark))
    item = re.fullmatch(_ITEM, line)
    return _Opening("", {}, item[2], len(item[1])) if item and item[2].strip() else None


def _addressed(bullet_id: str, rest: str) -> _Opening | None:
    """A lesson behind '[id]'; None for a link, a checkbox, and counters that are none."""
    head, separator, text = rest.partition("::")
    if separator and not re.sub(_COUNT, "", head).strip(" ,;()"):
        return _Opening(bullet_id, _counts(head), text.strip())
    if rest.startswith(("(", ":")) or not re.fullmatch(_PLAIN_ID, bullet_id):
        return None
    if re.match(r"(?:helpful|harmful|neutral)\s{0,4}[=:]", rest):
        return None
    behind = re.search(_COUNTS_BEHIND, rest)
    text = rest[: behind.start()] if behind else rest
    return _Opening(bullet_id, _counts(behind[0]) if behind else {}, text.strip()) if text else None


def _counts(text: str) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(_COUNT, text)}


def _is_broken(line: str) -> bool:
    """Whether a line is almost a lesson: brackets, and a separator or counters that are none."""
    return re.match(_ALMOST, line) is not None
