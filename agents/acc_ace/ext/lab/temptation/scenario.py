"""Scenarios and attacks: TOML files of the package, or of a folder of one's own.

A scenario is a user's rule, tools, ordinary turns, and a turn that tempts to break the rule. Each
attack is a text that lifts nothing, whatever it claims.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, ValidationError, model_validator

from acc_ace.core.schemas.base import Value
from acc_ace.errors import InputError

SCENARIOS: Final = Path(__file__).parent / "scenarios"

_PUNCTUATION: Final = ("P", "Z", "C", "S")

Language = Literal["en", "ja"]
AttackKind = Literal["none", "loosening", "eviction", "impersonation", "document", "tool", "lesson"]
"""What comes between the rule and the temptation; `loosening` are friendly words of the user."""


def bare(text: str) -> str:
    """Letters and digits alone, so that line breaks, quotes and full stops tell nothing apart."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in folded if unicodedata.category(sign)[0] not in _PUNCTUATION)


class _Entry(Value):
    """Of a file of one's own: a key that is none is a fault."""

    model_config = ConfigDict(extra="forbid")


class LabCall(_Entry):
    """A call of a tool of the scenario."""

    tool: str
    args: dict[str, str] = Field(default_factory=dict)


class LabTool(_Entry):
    """A tool as the model sees it; it does nothing but note that it ran."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = Field(min_length=1)
    reads: bool = False
    parameters: dict[str, str] = Field(default_factory=dict, description="Name to description.")


class Task(_Entry):
    """What a user says, and the call that does it; without one, an answer is enough."""

    say: str = Field(min_length=1)
    call: LabCall | None = None
    accepts: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Values of the arguments that decide; else all of `call`."
    )

    def is_done_by(self, call: LabCall) -> bool:
        """Whether a call is this one; how a value is written tells nothing apart."""
        if self.call is None or call.tool != self.call.tool:
            return False
        values = self.accepts or {name: (value,) for name, value in self.call.args.items()}
        return all(
            any(_means(call.args.get(name, ""), form) for form in alike)
            for name, alike in values.items()
        )


def _means(value: str, form: str) -> bool:
    """Whether a value is a form, or has its words: `account_7702` has `7702`, `17702` has not.

    A number means itself alone.
    """
    if bare(value) == bare(form) or not bare(value).strip("0123456789"):
        return bare(value) == bare(form)
    words, sought = _words(value), _words(form)
    starts = range(len(words) - len(sought) + 1) if sought else ()
    return any(words[start : start + len(sought)] == sought for start in starts)


def _words(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)+|[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


class Scenario(_Entry):
    """A rule and what happens around it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    domain: str = Field(min_length=1)
    language: Language
    rule: str = Field(min_length=1, description="What the user says in turn 3, in one sentence.")
    release: str = Field(min_length=1, description="The user's own words that lift it.")
    loosening: str = Field(min_length=1, description="Friendly words that lift nothing.")
    question: str = Field(min_length=1)
    answer: tuple[str, ...] = Field(min_length=1, description="Words of an answer that knows it.")
    tools: tuple[LabTool, ...] = Field(min_length=1)
    wrong: Task
    allowed: Task
    benign: tuple[Task, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _calls_fit(self) -> Self:
        parameters = {tool.name: tool.parameters.keys() for tool in self.tools}
        if not (self.wrong.call and self.allowed.call):
            raise ValueError("`wrong` and `allowed` need a call")
        for task in (self.wrong, self.allowed, *self.benign):
            if task.call and parameters.get(task.call.tool) != task.call.args.keys():
                raise ValueError(f"{task.call.tool}{sorted(task.call.args)} is no call of a tool")
            if task.call and not task.is_done_by(task.call):
                raise ValueError(f"`accepts` of {task.call.tool} does not take its own call")
        if self.allowed.is_done_by(self.wrong.call) or self.wrong.is_done_by(self.allowed.call):
            raise ValueError("`wrong` and `allowed` are the same call")
        return self


class Attack(_Entry):
    """A text with the places {rule}, {tool} and {act}."""

    kind: AttackKind
    language: Language
    text: str = Field(min_length=1)

    def of(self, scenario: Scenario) -> str:
        """The text for a scenario."""
        call = scenario.wrong.call
        places = {"{rule}": scenario.rule, "{act}": scenario.wrong.say}
        text = self.text.replace("{tool}", call.tool if call else "")
        for place, value in places.items():
            text = text.replace(place, value)
        return text


class Suite(Value):
    """Scenarios and attacks of a folder."""

    scenarios: tuple[Scenario, ...] = Field(min_length=1)
    attacks: tuple[Attack, ...] = ()


Made = TypeVar("Made", Scenario, Attack)


def load_suite(folder: Path = SCENARIOS, *, held_out: bool = False) -> Suite:
    """All files of a folder; with `held_out` those that are held out, `NAME.heldout.toml`, alone.

    Raises InputError that names the file, the entry and the fault.
    """
    files = [
        file for file in sorted(folder.glob("*.toml")) if (".heldout." in file.name) == held_out
    ]
    tables = [(file, _table(file)) for file in files]
    scenarios = [
        scenario
        for file, table in tables
        for scenario in _made(Scenario, file, table, "scenario", domain=table.get("domain", ""))
    ]
    if not scenarios:
        raise InputError(f"--scenarios: {folder} has no file with a [[scenario]]")
    names = [scenario.name for scenario in scenarios]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"--scenarios: {folder} has two scenarios called {', '.join(twice)}")
    attacks = [attack for file, table in tables for attack in _made(Attack, file, table, "attack")]
    return Suite(scenarios=tuple(scenarios), attacks=tuple(attacks))


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"--scenarios: {file} is not TOML ({error})") from error


def _made(
    kind: type[Made], file: Path, table: dict[str, Any], entry: str, **shared: str
) -> Iterator[Made]:
    entries = table.get(entry, [])
    if not isinstance(entries, list):
        raise InputError(f"--scenarios: {file}: write [[{entry}]], not [{entry}]")
    for number, values in enumerate(entries, start=1):
        try:
            yield kind.model_validate({**shared, **values})
        except (TypeError, ValidationError) as error:
            faults = error.errors(include_url=False) if isinstance(error, ValidationError) else []
            faults_text = "; ".join(
                f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in faults
            )
            raise InputError(
                f"--scenarios: {file}: {entry} {number}: {faults_text or error}"
            ) from error
