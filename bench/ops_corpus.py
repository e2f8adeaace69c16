"""Write a corpus of operations talk, English and Japanese, to measure recall on.

    python -m bench.ops_corpus [--dialogues 2] [--sessions 15] [--seed 5] > ops.json
    python -m bench.recall --data ops.json [--embed]

Everything in it is made up here, so it may be shared; weights must not be tuned to it either. Each
dialogue is of one language. In a session colleagues tell facts about machines and services; half
of the facts are told in an answer that does not name what it is about ("Which one?" "The second").
Every fact is asked for twice: in its own words ('single-hop'), and in other words ('open-domain',
the name of that category in LoCoMo's format, which this file has). Questions about two facts are
'multi-hop'.
"""

import argparse
import json
import random
import sys
from typing import Any, NamedTuple

_SAME, _OTHER, _BOTH = 4, 3, 1
"""Numbers of LoCoMo's categories."""

_HOSTS = ("db", "web", "cache", "queue", "mail", "build")


class Kind(NamedTuple):
    """A kind of fact: how it is told, in one turn or in two, and how it is asked for."""

    reported: str
    asked_by_colleague: str
    answered: str
    same_words: str
    other_words: str
    values: tuple[str, ...]


class Language(NamedTuple):
    """The words of one language."""

    people: tuple[str, str]
    kinds: tuple[Kind, ...]
    small_talk: tuple[str, ...]
    joint: str


_ENGLISH = Language(
    people=("Rosa", "Tomas"),
    kinds=(
        Kind(
            "The disk of {it} filled up because {x}.",
            "Why is the disk of {it} full?",
            "Because {x}.",
            "Why did the disk of {it} fill up?",
            "What ate all the storage space on {it}?",
            (
                "old logs were never rotated",
                "a backup was copied there twice",
                "somebody unpacked a dump in the home folder",
                "the core files of crashes piled up",
            ),
        ),
        Kind(
            "{x} looks after {it} from now on.",
            "Who looks after {it} from now on?",
            "It will be {x}.",
            "Who looks after {it}?",
            "Which person is responsible for {it}?",
            ("Priya", "Old Henrik", "the night shift", "Dana from billing"),
        ),
        Kind(
            "We restarted {it} because {x}.",
            "Why did you restart {it}?",
            "Simple: {x}.",
            "Why was {it} restarted?",
            "For what reason was {it} rebooted?",
            (
                "it leaked memory",
                "its certificate had run out",
                "the clock was off by an hour",
                "it answered nobody any more",
            ),
        ),
        Kind(
            "The runbook of {it} is kept {x}.",
            "Where is the runbook of {it} kept?",
            "You find it {x}.",
            "Where is the runbook of {it} kept?",
            "Where can I read the instructions for {it}?",
            (
                "in the blue binder",
                "on the wiki under Emergencies",
                "in the repository called harbour",
                "taped to the rack door",
            ),
        ),
        Kind(
            "The load balancer of {it} will be moved {x}.",
            "When will the load balancer of {it} be moved?",
            "That is planned {x}.",
            "When will the load balancer of {it} be moved?",
            "At what time does the traffic switch of {it} get relocated?",
            (
                "on the first Sunday of March",
                "right after the spring sale",
                "at dawn on Thursday",
                "once the audit is over",
            ),
        ),
    ),
    small_talk=(
        "Did you see the match yesterday?",
        "The coffee machine is broken again.",
        "I will be late tomorrow, dentist.",
        "All graphs are green this morning.",
        "Somebody left a bicycle in the server room.",
        "Lunch at noon?",
        "The new chairs have come.",
        "It rained all weekend here.",
    ),
    joint=" And: ",
)

_JAPANESE = Language(
    people=("美咲", "健太"),
    kinds=(
        Kind(
            "{it}のディスクが一杯になった原因は{x}です。",
            "{it}のディスクはなぜ一杯になったのですか？",
            "{x}が原因でした。",
            "{it}のディスクが一杯になった原因は何ですか？",
            "{it}の空き容量がなくなったのはどうしてですか？",
            (
                "古いログの放置",
                "バックアップの二重コピー",
                "展開したダンプの置き忘れ",
                "コアファイルの蓄積",
            ),
        ),
        Kind(
            "今後{it}の担当は{x}です。",
            "今後{it}の担当は誰ですか？",
            "{x}にお願いしました。",
            "{it}の担当は誰ですか？",
            "{it}の面倒を見ているのはどなたですか？",
            ("佐藤さん", "夜勤チーム", "経理の林さん", "新人の田中さん"),
        ),
        Kind(
            "{it}を再起動した理由は{x}です。",
            "どうして{it}を再起動したのですか？",
            "{x}のためです。",
            "{it}を再起動した理由は何ですか？",
            "{it}の電源を入れ直したのはなぜですか？",
            ("メモリの漏れ", "証明書の期限切れ", "時計のずれ", "応答の停止"),
        ),
        Kind(
            "{it}の手順書は{x}に保管してあります。",
            "{it}の手順書はどこに保管していますか？",
            "{x}を見てください。",
            "{it}の手順書はどこに保管していますか？",
            "{it}の操作マニュアルはどこで読めますか？",
            ("青いファイル", "社内ウィキの緊急欄", "港という名前のリポジトリ", "ラックの扉"),
        ),
        Kind(
            "{it}の負荷分散装置の移設は{x}の予定です。",
            "{it}の負荷分散装置の移設はいつですか？",
            "{x}を予定しています。",
            "{it}の負荷分散装置の移設はいつの予定ですか？",
            "{it}のロードバランサーを引っ越しさせる日はいつですか？",
            ("三月の第一日曜日", "春の特売の直後", "木曜日の明け方", "監査の終了後"),
        ),
    ),
    small_talk=(
        "昨日の試合を見ましたか？",
        "コーヒーメーカーがまた壊れました。",
        "明日は歯医者で遅れます。",
        "今朝のグラフはすべて正常です。",
        "サーバー室に自転車が置いてありました。",
        "お昼は十二時でいいですか？",
        "新しい椅子が届きました。",
        "週末はずっと雨でした。",
    ),
    joint="また、",
)


class Session(NamedTuple):
    """A session that is being written."""

    name: str
    language: Language
    turns: list[dict[str, str]]

    def say(self, text: str) -> str:
        """Add a turn by whoever's turn it is; its id."""
        number = len(self.turns)
        turn = f"{self.name}:{number + 1}"
        speaker = self.language.people[number % 2]
        self.turns.append({"speaker": speaker, "dia_id": turn, "text": text})
        return turn


def dialogue(language: Language, sessions: int, rng: random.Random) -> dict[str, Any]:
    """One dialogue in the format of LoCoMo."""
    subjects = [
        (f"{host}-{at:02}", kind)
        for at in range(1, 41)
        for host in _HOSTS
        for kind in language.kinds
    ]
    rng.shuffle(subjects)
    reported: dict[str, Any] = {"speaker_a": language.people[0], "speaker_b": language.people[1]}
    questions: list[dict[str, Any]] = []
    for session in range(1, sessions + 1):
        spoken = Session(f"D{session}", language, [])
        asked: list[tuple[str, str]] = []
        for _ in range(6):
            asked.append(_fact(*subjects.pop(), spoken, questions, rng))
            for _ in range(rng.randint(0, 2)):
                spoken.say(rng.choice(language.small_talk))
        (one, first), (other, second) = rng.sample(asked, 2)
        both = f"{one}{language.joint}{other}"
        questions.append({"question": both, "evidence": [first, second], "category": _BOTH})
        reported[f"session_{session}_date_time"] = f"day {session}"
        reported[f"session_{session}"] = spoken.turns
    return {"conversation": reported, "qa": questions}


def _fact(
    it: str, kind: Kind, session: Session, questions: list[dict[str, Any]], rng: random.Random
) -> tuple[str, str]:
    """Tell a fact and ask for it twice; the question in its own words, and the turn it is in."""
    x = rng.choice(kind.values)
    if rng.random() < 0.5:
        session.say(kind.asked_by_colleague.format(it=it))
        evidence = session.say(kind.answered.format(x=x))
    else:
        evidence = session.say(kind.reported.format(it=it, x=x))
    for form, category in ((kind.same_words, _SAME), (kind.other_words, _OTHER)):
        questions.append(
            {"question": form.format(it=it), "evidence": [evidence], "category": category}
        )
    return kind.same_words.format(it=it), evidence


def operations_talk(*, dialogues: int, sessions: int, seed: int) -> list[dict[str, Any]]:
    """So many dialogues of each language; the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - a workload, not a secret
    corpora = [
        dialogue(language, sessions, rng)
        for _ in range(dialogues)
        for language in (_ENGLISH, _JAPANESE)
    ]
    return [{"sample_id": f"ops-{number}", **corpus} for number, corpus in enumerate(corpora)]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=2, help="Of each language.")
    parser.add_argument("--sessions", type=int, default=15)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    corpora = operations_talk(
        dialogues=options.dialogues, sessions=options.sessions, seed=options.seed
    )
    json.dump(corpora, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
