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
from typing import Any, Final, NamedTuple

from acc_ace.core.playbook.playbook_form import Reading
from acc_ace.core.schemas.bullet import DEFAULT_SECTION, Bullet, id_number
from acc_ace.ext.playbook_files.bullet_lines import (
    broken,
    bullet_at,
    gathered,
    left_out,
    parse_line,
    shown,
)

MOST_LINE: Final = 100_000
"""Maximum characters of a line."""

_PLAIN_ID: Final = r"[a-z][a-z0-9_.]*-\d{3,9}"
"""An id that needs neither counters nor '::'; the number of a ticket is none."""

_ITEM: Final = r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)"
_ADDRESS: Final = (
    r"(\s*)([-*+]\s+|\d{1,3}[.)]\s+)?(?:\*\*|`)?\[([^\[\]\s]{1,64})\](?:\*\*|`)?\s*(.*)"
)
_COUNT: Final = r"\b(helpful|harmful|neutral)\s{0,4}[=:]\s{0,4}(\d{1,16})\b"
_COUNTS_BEHIND: Final = rf"\s\(\s?(?:{_COUNT}[\s,;]{{0,4}}){{1,3}}\)$"
_NAMED_HEADING: Final = r"#{3,6}\s+(?:`([^`\s]{1,64})`|\[([^\[\]\s]{1,64})\])\s*"
_HEADING: Final = r"\s{0,3}(#{1,6})(?:\s+(.*))?"
_ALMOST: Final = r"[-*+ \t]*\[(?![^\]]*\]\().*(?:::|\b(?:helpful|harmful)\s?=)"
_BESIDE: Final = r"\s*(?:\||<!--|([-*_])(?:\s*\1){2,}\s*$)"
"""A table, a comment, a rule."""

_LABELLED: Final = r"\*\*([\w ]{1,40}):?\*\*:?\s*(.*)"
_LESSON_LABELS: Final = frozenset({"content", "insight", "issue", "lesson", "strategy"})
_COMMENT: Final = r"\s*<!--\s*(\{.*\})\s*-->\s*"
_ESCAPED: Final = r"\\([!-/:-@\[-`{-~])"
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


class _Lesson(NamedTuple):
    """A lesson that is being read: its line, section, parts of its text, and other fields."""

    line: int
    section: str
    opening: _Opening
    parts: list[str]
    beside: dict[str, Any]


class LessonReader:
    """Reads the lines of a text once. Raises InputError that names the line."""

    def __init__(
        self,
        text: str,
        section: str = DEFAULT_SECTION,
        *,
        addressed: bool = False,
        is_ours: bool = False,
    ) -> None:
        """`section` is that of lessons above the first heading; `addressed`: ids are required.

        `is_ours`: Markdown of ours, with escapes, machine data in comments, and items of people.
        """
        self._lines, self._is_ours = text.split("\n"), is_ours
        openings = [opening for line in self._lines if (opening := _opening(line)) is not None]
        with_ids = [opening for opening in openings if opening.bullet_id]
        self._addressed = not is_ours and (
            addressed or any(each.counts or each.is_block or not each.is_item for each in with_ids)
        )
        self.has_ids = self._addressed or 0 < len(openings) <= 2 * len(with_ids)
        levels = [len(match[1]) for line in self._lines if (match := re.fullmatch(_HEADING, line))]
        self._titled = is_ours or (levels.count(1) == 1 and len(levels) > 1)
        self._top = self._section = section
        self._open: _Lesson | None = None
        self._gap = False
        self._lessons: list[_Lesson] = []
        self._passed: list[str] = []

    def read(self, next_id: int = 1) -> Reading:
        """The lessons, none perhaps, and what was passed over."""
        lines = iter(enumerate(self._lines, start=1))
        for number, line in lines:
            if len(line) > MOST_LINE:
                raise broken(number, f"longer than {MOST_LINE:,} characters")
            if line.lstrip().startswith(_FENCES):
                self._fence(number, line, lines)
            elif line.strip():
                self._line(number, line)
            self._gap = not line.strip()
        every = list(self._once())
        highest = max((id_number(str(fields.get("id", ""))) for _, fields in every), default=0)
        free = max(next_id, highest + 1)
        placed: list[tuple[int, int, Bullet]] = []
        for line_number, fields in every:
            place = fields.pop("at", len(every))
            if type(place) is not int:
                raise broken(line_number, "'at' in its comment must be a number")
            named = {"id": f"b-{free:05d}", **fields}
            free += "id" not in fields
            placed.append((place, line_number, bullet_at(line_number, named)))
        placed.sort(key=lambda each: each[:2])
        playbook = gathered([(at, bullet) for _, at, bullet in placed], free)
        return Reading(playbook, len(self._passed), left_out(self._passed))

    def _once(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The fields of each; of others', one without an id that stands above is passed over."""
        above: set[tuple[str, str]] = set()
        for lesson in self._lessons:
            fields = self._fields(lesson)
            words = (str(fields.get("section")), str(fields.get("content")))
            if self._is_ours or "id" in fields or words not in above:
                yield lesson.line, fields
            else:
                self._passed.append(f"line {lesson.line}: stands above already: {shown(words[1])}")
            above.add(words)

    def _line(self, number: int, line: str) -> None:
        opening, heading = _opening(line), re.fullmatch(_HEADING, line)
        comment = re.fullmatch(_COMMENT, line) if self._is_ours else None
        if opening is not None and (opening.bullet_id or not self._addressed):
            parts = [opening.text] if opening.text else []
            self._open = _Lesson(number, self._section, opening, parts, dict(opening.counts))
            self._lessons.append(self._open)
        elif heading:
            self._open = None
            is_title = len(heading[1]) == 1 and self._titled
            self._section = self._top if is_title else self._plain(heading[2] or "").strip()
        elif comment and self._open is not None:
            self._open.beside.update(parse_line(number, comment[1]))
        elif re.match(_ALMOST, line):
            raise broken(number, f"not a bullet: {shown(line.strip())}")
        elif self._open is not None and self._open.opening.is_block:
            self._block_line(number, line.strip(), self._open)
        elif self._open is not None and self._continues(line, self._open):
            self._open.parts.append(line.strip())
        else:
            self._open = None
            self._pass_over(number, line, "an item without an id" if opening else "no lesson")

    def _continues(self, line: str, lesson: _Lesson) -> bool:
        """Whether a line belongs to the open lesson: it is deeper, or its sentence goes on."""
        if re.match(_BESIDE, line):
            return False
        if len(line) - len(line.lstrip()) > lesson.opening.indent:
            return True
        has_ended = bool(lesson.parts) and lesson.parts[-1].endswith(_ENDS)
        return not self._gap and (not has_ended or re.fullmatch(_ITEM, line) is not None)

    def _block_line(self, number: int, line: str, lesson: _Lesson) -> None:
        """A line of kayba's export: the lesson, its counters, or what else is known of it."""
        label = re.fullmatch(_LABELLED, line)
        if counts := _counts(line):
            lesson.beside.update(counts)
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
        code = [inner.strip() for _, inner in block if not inner.strip().startswith(mark)]
        is_example = any(opening.bullet_id for each in code if (opening := _opening(each)))
        if self._open is not None and self._continues(line, self._open) and not is_example:
            self._open.parts.extend(filter(None, code))
            return
        self._open = None
        for at, inner in block:
            if inner.strip():
                self._pass_over(at, inner, "code")

    def _pass_over(self, number: int, line: str, why: str) -> None:
        self._passed.append(f"line {number}: {why}: {shown(line.strip())}")

    def _fields(self, lesson: _Lesson) -> dict[str, Any]:
        """The fields of a lesson's bullet; without 'id' if it has none, with 'at' of a comment."""
        unknown = set(lesson.beside) - set(Bullet.model_fields) - {"at"}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise broken(lesson.line, f"its comment has unknown fields: {names}")
        content = self._plain((" — " if lesson.opening.is_block else " ").join(lesson.parts))
        address = {"id": lesson.opening.bullet_id} if lesson.opening.bullet_id else {}
        return {**lesson.beside, **address, "section": lesson.section, "content": content}

    def _plain(self, text: str) -> str:
        return re.sub(_ESCAPED, r"\1", text) if self._is_ours else text


def _opening(line: str) -> _Opening | None:
    """What a line begins: a lesson with an id, or an item of a list."""
    if heading := re.fullmatch(_NAMED_HEADING, line):
        return _Opening(heading[1] or heading[2], {}, "", is_block=True)
    if address := re.fullmatch(_ADDRESS, line):
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
    is_other = re.match(r"[(:]|(?:helpful|harmful|neutral)\s{0,4}[=:]|$", rest)
    if is_other or not re.fullmatch(_PLAIN_ID, bullet_id):
        return None
    behind = re.search(_COUNTS_BEHIND, rest)
    text = rest[: behind.start()] if behind else rest
    return _Opening(bullet_id, _counts(behind[0]) if behind else {}, text.strip())


def _counts(text: str) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(_COUNT, text)}
