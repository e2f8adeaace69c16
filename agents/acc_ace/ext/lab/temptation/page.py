"""A run as a page that loads nothing from elsewhere: sections of tables and plots."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

from acc_ace.ext.lab.temptation.runs import Unplayed

_PAGE: Final = Path(__file__).parent / "page.html"
_MOST_FAILURES: Final = 50


class PageTable(NamedTuple):
    """A table of any values, as HTML."""

    head: Sequence[str]
    body: Iterable[Sequence[object]]

    def __str__(self) -> str:
        lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in self.body]
        first = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        return f'<div class="wide"><table><tr>{first}</tr>{rows}</table></div>'


class PagePlot(NamedTuple):
    """A picture in the run's folder."""

    file: str
    alt: str

    def __str__(self) -> str:
        return f'<p><img src="{escape(self.file)}" alt="{escape(self.alt)}"></p>'


class Section(NamedTuple):
    """What stands under a heading, and how to read it."""

    heading: str
    parts: Sequence[PageTable | PagePlot]
    note: str = ""

    def __str__(self) -> str:
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return f"<h2>{escape(self.heading)}</h2>{''.join(map(str, self.parts))}{note}"


def write_page(
    folder: Path,
    *,
    title: str,
    lead: str,
    about: str,
    warning: str,
    sections: Sequence[Section],
    failures: Sequence[Unplayed],
    command: str,
) -> Path:
    """Write `report.html` into the run's folder. `lead` and `warning` are HTML."""
    text = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=escape(title),
        lead=lead,
        about=escape(about),
        warning=f"<p>{warning}</p>" if warning else "",
        sections="\n".join(map(str, [*sections, *_unplayed(failures)])),
        command=escape(command),
    )
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def _unplayed(failures: Sequence[Unplayed]) -> list[Section]:
    if not failures:
        return []
    first = [(each.contender, each.episode, each.error[:200]) for each in failures[:_MOST_FAILURES]]
    return [
        Section(
            f"{len(failures)} episodes without an outcome",
            [PageTable(("contender", "episode", "error"), first)],
            "They are in no table. Start the run again to play them.",
        )
    ]
