"""Public sets of dialogues with questions, read from files that the user has fetched.

None is part of this package. What a set gives as an answer is a fact where it stands in the
dialogue word for word; other questions only a judge can judge.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from acc_ace.errors import InputError
from acc_ace.ext.lab.dialogues.dialogue import (
    Dialogue,
    Exchange,
    Inquiry,
    closest_sentence,
    sentences_of,
    verbatim,
)

Reader = Callable[[Path], Iterator[Dialogue]]

_BEAM_KINDS: Final = {
    "instruction_following": "instruction_being_tested",
    "preference_following": "preference_being_tested",
    "knowledge_update": "",
    "information_extraction": "",
}
"""The kinds of BEAM that are played, and the field that names what has to be kept."""

_LOCOMO_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
_LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_COUNTS: Final = (
    *("", "", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_ASKED_AFTER: Final = timedelta(days=7)
"""From the last session to the trigger, as LoCoMo-Plus has it."""

_LABEL: Final = r"\s*->->.*$"
_STATES: Final = r"^LLM response should [a-z ]+:"


def load_dialogues(name: str, path: Path, *, limit: int | None = None) -> list[Dialogue]:
    """The first dialogues of a set. Raises InputError that names the file and the fault."""
    if name not in SETS:
        raise InputError(f"no set is called {name!r:.40}; there are {', '.join(SETS)}")
    with _faults_of(path, name):
        dialogues = [*SETS[name](path)]
    if not any(isinstance(step, Inquiry) for one in dialogues for step in one.steps):
        raise InputError(f"--data: {path} has no {name} dialogue with a question")
    names = Counter(dialogue.name for dialogue in dialogues)
    if twice := [each for each, count in names.items() if count > 1]:
        raise InputError(f"--data: {path} has two dialogues called {twice[0]!r:.40}")
    return dialogues[:limit]


@contextmanager
def _faults_of(path: Path, name: str) -> Iterator[None]:
    """Raise InputError that names the file for what is wrong in it."""
    try:
        yield
    except OSError as error:
        raise InputError(f"--data: {path} cannot be read: {error.strerror}") from error
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        fault = f"{type(error).__name__}: {error}"
        raise InputError(f"--data: {path} is no {name} ({fault:.300})") from error


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON as others wrote it
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        # A line of a text may have other line breaks in it.
        yield from (json.loads(line) for line in text.split("\n") if line.strip())


def _exchanges(spoken: Sequence[tuple[bool, str]]) -> list[Exchange]:
    """Alternate turns of (is the user's, text): neighbours of one side become one turn."""
    exchanges: list[Exchange] = []
    for is_user, text in spoken:
        last = exchanges[-1] if exchanges else None
        if is_user and last and not last.agent:
            exchanges[-1] = Exchange(user=f"{last.user}\n{text}")
        elif is_user or not last:
            exchanges.append(Exchange(user=text) if is_user else Exchange(user="…", agent=text))
        else:
            exchanges[-1] = Exchange(user=last.user, agent=f"{last.agent}\n{text}".strip())
    return exchanges


def _beam(path: Path) -> Iterator[Dialogue]:
    """BEAM (arXiv 2510.27246): its folder of chats, or chats with turns and probes in one file."""
    if path.is_dir():
        for file in sorted(path.rglob("chat.json")):
            name = file.parent.relative_to(path).as_posix()
            with _faults_of(file, "beam"):
                turns = [
                    turn for batch in _read(file) for group in batch["turns"] for turn in group
                ]
                texts = {int(turn["id"]): (turn["role"], turn["content"]) for turn in turns}
            questions = file.parent / "probing_questions" / "probing_questions.json"
            with _faults_of(questions, "beam"):
                yield _beam_chat(name, texts, _read(questions))
        return
    for chat in _read(path):
        texts = {int(key): (turn["role"], turn["text"]) for key, turn in chat["turns"].items()}
        yield _beam_chat(str(chat["chat"]), texts, chat["probes"])


def _beam_chat(
    name: str, turns: Mapping[int, tuple[str, str]], probes: Mapping[str, Any]
) -> Dialogue:
    turns = {number: (role, re.sub(_LABEL, "", text)) for number, (role, text) in turns.items()}
    spoken = [(role == "user", text) for role, text in turns.values()]
    inquiries = [
        _beam_inquiry(f"{kind} {number}", kind, probe, turns)
        for kind in _BEAM_KINDS
        for number, probe in enumerate(probes[kind], start=1)
    ]
    return Dialogue(name=name.replace("/", "-"), steps=(*_exchanges(spoken), *inquiries))


def _beam_inquiry(
    name: str, kind: str, probe: Mapping[str, Any], turns: Mapping[int, tuple[str, str]]
) -> Inquiry:
    ask, rubric, field = str(probe["question"]), tuple(probe["rubric"]), _BEAM_KINDS[kind]
    if field:
        sources = [turns[number][1] for number in probe["source_chat_ids"]]
        facts = tuple(filter(None, [closest_sentence(probe[field], sources)]))
    else:
        stated = [re.sub(_STATES, "", line).strip() for line in rubric]
        facts = verbatim(stated, ask, [text for _, text in turns.values()])
    return Inquiry(name=name, kind=kind, ask=ask, facts=facts, is_kept=bool(field), rubric=rubric)


def _multichallenge(path: Path) -> Iterator[Dialogue]:
    """MultiChallenge (arXiv 2501.17399): the instruction stands in the first message.

    The sentence closest to the question about the answer is taken for it.
    """
    for row in _lines(path):
        *before, last = row["CONVERSATION"]
        spoken = [(turn["role"] == "user", str(turn["content"])) for turn in before]
        inquiry = Inquiry(
            name=str(row["QUESTION_ID"]),
            kind=str(row["AXIS"]).lower(),
            ask=str(last["content"]),
            facts=tuple(filter(None, [closest_sentence(row["TARGET_QUESTION"], [spoken[0][1]])])),
            is_kept=True,
            rubric=(f"{row['TARGET_QUESTION']} {row['PASS_CRITERIA']}",),
        )
        yield Dialogue(name=inquiry.name, steps=(*_exchanges(spoken), inquiry))


def _locomo(path: Path) -> Iterator[Dialogue]:
    """LoCoMo (Maharana et al., ACL 2024): one speaker is the user, the other the agent."""
    for number, row in enumerate(_read(path)):
        talk = row["conversation"]
        spoken = [line for _, session in _sessions(talk) for line in session]
        inquiries = [
            _answerable(
                f"{place}", _LOCOMO_KINDS[item["category"]], item, [text for _, text in spoken]
            )
            for place, item in enumerate(row["qa"], start=1)
        ]
        name = str(row.get("sample_id", number))
        yield Dialogue(name=name, steps=(*_exchanges(spoken), *inquiries))


def _sessions(talk: Mapping[str, Any]) -> list[tuple[datetime, list[tuple[bool, str]]]]:
    numbers = sorted(
        int(match[1]) for key in talk if (match := re.fullmatch(r"session_(\d+)", key))
    )
    return [
        (
            datetime.strptime(talk[f"session_{number}_date_time"], _LOCOMO_TIME),
            [
                (line["speaker"] == talk["speaker_a"], f"{line['speaker']}: {line['text']}")
                for line in talk[f"session_{number}"]
            ],
        )
        for number in numbers
    ]


def _answerable(name: str, kind: str, item: Mapping[str, Any], texts: Sequence[str]) -> Inquiry:
    ask, answer = str(item["question"]), str(item.get("answer", ""))
    rubric = (f"The answer is: {answer}",) if answer else ("It says that this was not said.",)
    facts = verbatim([answer], ask, texts) if answer else ()
    return Inquiry(name=name, kind=kind, ask=ask, facts=facts, rubric=rubric)


def _locomo_plus(path: Path) -> Iterator[Dialogue]:
    """LoCoMo-Plus (arXiv 2602.10715): a cue in a LoCoMo dialogue, which has to lie beside it.

    As its authors do, the cue is put in before the trigger by its gap in time; the dialogues of
    `locomo10.json` are taken in turn.
    """
    beside = path.parent / "locomo10.json"
    with _faults_of(beside, "locomo"):
        talks = [row["conversation"] for row in _read(beside)]
        histories = [_sessions(talk) for talk in talks]
        if not all(histories) or not histories:
            raise ValueError("a dialogue has no session")
    for number, row in enumerate(_read(path)):
        talk, sessions = talks[number % len(talks)], histories[number % len(talks)]
        cue, trigger = _sides(row["cue_dialogue"], talk), _sides(row["trigger_query"], talk)
        at = sessions[-1][0] + _ASKED_AFTER - _gap(row["time_gap"])
        spoken = [line for when, lines in sessions if when <= at for line in lines]
        spoken += [*cue, *(line for when, lines in sessions if when > at for line in lines)]
        inquiry = Inquiry(
            name=str(number),
            kind=str(row["relation_type"]),
            ask=" ".join(text for is_user, text in trigger if is_user),
            facts=tuple(
                sentence for is_user, text in cue if is_user for sentence in sentences_of(text)
            ),
            is_kept=True,
            rubric=(f"It takes into account: {row['cue_dialogue']}",),
        )
        yield Dialogue(name=inquiry.name, steps=(*_exchanges(spoken), inquiry))


def _sides(text: str, talk: Mapping[str, Any]) -> list[tuple[bool, str]]:
    lines = re.findall(r"^\s*([AB]):\s*(.+)$", text, re.MULTILINE)
    return [(side == "A", f"{talk[f'speaker_{side.lower()}']}: {words}") for side, words in lines]


def _gap(text: str) -> timedelta:
    """'two weeks later'; nothing for words that are no such gap."""
    match = re.search(r"(\w+) (day|week|month|year)", text.casefold())
    if match is None:
        return timedelta()
    count, unit = match[1], match[2]
    number = int(count) if count.isdigit() else _COUNTS.index(count) if count in _COUNTS else 1
    return timedelta(days=number * _DAYS[unit])


def _longmemeval(path: Path) -> Iterator[Dialogue]:
    """LongMemEval (Wu et al., ICLR 2025): a history of its own for each question."""
    for row in _lines(path):
        sessions = row["haystack_sessions"]
        # Those of its `oracle` file are in no order.
        if dates := row.get("haystack_dates"):
            order = sorted(range(len(sessions)), key=lambda place: str(dates[place]))
            sessions = [sessions[place] for place in order]
        turns = [turn for session in sessions for turn in session]
        spoken = [(turn["role"] == "user", str(turn["content"])) for turn in turns]
        is_unsaid = str(row["question_id"]).endswith("_abs")
        item = {"question": row["question"], "answer": "" if is_unsaid else row["answer"]}
        sources = [str(turn["content"]) for turn in turns if turn.get("has_answer")]
        inquiry = _answerable(str(row["question_id"]), str(row["question_type"]), item, sources)
        yield Dialogue(name=inquiry.name, steps=(*_exchanges(spoken), inquiry))


SETS: Final[Mapping[str, Reader]] = {
    "beam": _beam,
    "multichallenge": _multichallenge,
    "locomo": _locomo,
    "locomo-plus": _locomo_plus,
    "longmemeval": _longmemeval,
}
