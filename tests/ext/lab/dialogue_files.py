"""Small files in the formats of the public sets of dialogues, with words of our own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

PROBES: Final[Json] = {
    "instruction_following": [
        {
            "question": "When does the museum open?",
            "instruction_being_tested": "Always write times with twelve hours.",
            "rubric": ["LLM response should contain: times with twelve hours"],
            "source_chat_ids": [0],
        }
    ],
    "preference_following": [
        {
            "question": "How do I get to the museum?",
            "preference_being_tested": "I prefer trams over buses.",
            "rubric": ["LLM response should mention: trams"],
            "source_chat_ids": [2],
        }
    ],
    "knowledge_update": [
        {
            "question": "How many boxes are in the cellar?",
            "answer": "There are 31 boxes.",
            "rubric": ["LLM response should state: 31 boxes"],
            "source_chat_ids": {"original_info": [4], "updated_info": [6]},
        }
    ],
    "information_extraction": [
        {
            "question": "Where was the lamp bought?",
            "answer": "In Turin, by the seller on the bridge.",
            "rubric": ["LLM response should state: bought from a bridge seller in Turin"],
            "source_chat_ids": [8],
        }
    ],
    "abstention": [{"question": "Who broke it?", "rubric": ["LLM response should state: x"]}],
}

SPOKEN: Final = (
    "Always write times with twelve hours ->-> 1,1",
    "I will.",
    "I went there yesterday. I prefer trams over buses, you know. ->-> 1,2",
    "Noted.",
    "There are 24 boxes in the cellar. ->-> 1,3",
    "A good number.",
    "I counted again: there are 31 boxes. ->-> 1,4",
    "So many!",
    "The lamp is from Turin. ->-> 1,5",
    "It is a nice one.",
)
"""What a user and an assistant say in turn."""


def beam_chat(folder: Path, *, spoken: Sequence[str] = SPOKEN, probes: Json = PROBES) -> Path:
    """A chat in BEAM's folders: two batches, the second with two groups of turns."""
    turns = [
        {"role": "assistant" if number % 2 else "user", "id": number, "content": text}
        for number, text in enumerate(spoken)
    ]
    batches = [
        {"batch_number": 1, "turns": [turns[:4]]},
        {"batch_number": 2, "turns": [turns[4:6], turns[6:]]},
    ]
    _write(folder / "probing_questions" / "probing_questions.json", probes)
    return _write(folder / "chat.json", batches)


def beam_file(file: Path, *, spoken: Sequence[str] = SPOKEN, probes: Json = PROBES) -> Path:
    """The same as one file."""
    turns = {
        str(number): {"role": "assistant" if number % 2 else "user", "text": text}
        for number, text in enumerate(spoken)
    }
    return _write(file, [{"chat": "100K/7", "turns": turns, "probes": probes}])


def multichallenge_row(name: str = "q1", **changes: object) -> Json:
    """A conversation whose first message has the instruction."""
    return {
        "QUESTION_ID": name,
        "AXIS": "INSTRUCTION_RETENTION",
        "CONVERSATION": [
            {"role": "user", "content": "Plan a garden. End each answer with a proverb."},
            {"role": "assistant", "content": "Start with beans. Slow and steady wins."},
            {"role": "user", "content": "What grows in shade?"},
            {"role": "assistant", "content": "Ferns do. Still waters run deep."},
            {"role": "user", "content": "And beside a wall?"},
        ],
        "TARGET_QUESTION": "Does the answer end with a proverb?",
        "PASS_CRITERIA": "YES",
        **changes,
    }


def jsonl(file: Path, *rows: object) -> Path:
    """A file of a value a line."""
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    return file


def talk_of(sessions: Mapping[int, tuple[str, Sequence[tuple[str, str]]]]) -> Json:
    """A conversation of LoCoMo: time and lines of each session."""
    talk: Json = {"speaker_a": "Ines", "speaker_b": "Jo"}
    for number, (when, lines) in sessions.items():
        talk[f"session_{number}_date_time"] = when
        talk[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
            for place, (speaker, text) in enumerate(lines, start=1)
        ]
    return talk


TALK: Final = talk_of(
    {
        1: ("1:56 pm on 1 May, 2023", [("Ines", "I baked rye bread."), ("Jo", "With seeds?")]),
        10: ("9:05 am on 8 June, 2023", [("Jo", "My train is late."), ("Jo", "Ten minutes.")]),
        2: ("8:30 pm on 8 May, 2023", [("Ines", "Rex ran away."), ("Jo", "He came back in 2022.")]),
    }
)
"""The tenth session stands before the second one."""

QA: Final = (
    {"question": "What did Ines bake?", "answer": "Rye bread", "evidence": ["D1:1"], "category": 4},
    {"question": "When was Rex back?", "answer": 2022, "evidence": ["D2:2"], "category": 2},
    {"question": "Who is patient?", "answer": "Jo is, mostly", "evidence": [], "category": 3},
    {"question": "Both of what?", "answer": "Rex, train", "evidence": [], "category": 1},
    {"question": "Why did Jo bake?", "adversarial_answer": "Rye bread", "category": 5},
)


def locomo_file(file: Path, *talks: Json, qa: Sequence[Mapping[str, object]] = QA) -> Path:
    """LoCoMo's own file."""
    rows = [
        {"sample_id": f"conv-{number}", "conversation": talk, "qa": [*qa]}
        for number, talk in enumerate(talks or (TALK,), start=1)
    ]
    return _write(file, rows)


def cue_row(gap: str, **changes: object) -> Json:
    """A cue of LoCoMo-Plus, and what asks for it later."""
    return {
        "relation_type": "causal",
        "cue_dialogue": "A: Nuts make me ill. I keep away from them.\nB: Good to know.",
        "trigger_query": "A: Which cake should I order?",
        "time_gap": gap,
        **changes,
    }


def locomo_plus_file(folder: Path, *rows: Json, talks: Sequence[Json] = (TALK,)) -> Path:
    """LoCoMo-Plus with LoCoMo's file beside it."""
    locomo_file(folder / "locomo10.json", *talks)
    return _write(folder / "locomo_plus.json", [*rows])


def longmemeval_row(name: str = "e1", **changes: object) -> Json:
    """A question with a history of two sessions."""
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "How long is my commute?",
        "answer": "45 minutes",
        "haystack_sessions": [
            [
                {"role": "user", "content": "Tea is nice."},
                {"role": "assistant", "content": "It is. Is your commute over 45 minutes?"},
            ],
            [
                {"role": "user", "content": "It takes me 45 minutes each way.", "has_answer": True},
                {"role": "assistant", "content": "A long way."},
            ],
        ],
        **changes,
    }


def _write(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return file
