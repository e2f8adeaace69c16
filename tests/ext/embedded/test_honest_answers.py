"""Without a language model: what was said is quoted with its source, and nothing is reasoned."""

import re
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from config import Settings
from schemas.base import SessionKey

pytestmark = pytest.mark.asyncio(loop_scope="module")

EN: Final = (
    "Never open the tide gate without my word.",
    "The spare key of the boathouse hangs behind the ferry timetable.",
    "Mara Lind chairs the harbour committee.",
    "The pump in basin two was replaced on 12 March.",
    "We pay 340 euros a month for the crane.",
    "The tide gate is shut because its hinge cracked.",
    "Lunch came late and the soup was cold.",
    "A cruise ship passed at noon with its flags up.",
    "The gulls were loud all afternoon.",
    "Two of the deckhands learn to play chess.",
    "The new paint on the office door still smells.",
    "It rained on and off since the morning.",
    "The fish market moved its stalls to the north quay.",
    "The welding course begins after the holidays.",
)
JA: Final = (
    "水門は私の許可なく開けないでください。",
    "倉庫の予備の鍵は時刻表の裏に掛けてあります。",
    "港湾委員会の委員長は森さんです。",
    "第二ドックのポンプは3月12日に交換しました。",
    "クレーンの賃料は月に34万円です。",
    "水門が閉まっているのは、蝶番にひびが入ったからです。",
    "昼食の味噌汁は冷めていました。",
    "正午に客船が沖を通りました。",
    "午後はずっとカモメが鳴いていました。",
    "甲板員の二人が将棋を習っています。",
    "事務所の扉の塗料がまだ匂います。",
    "朝から雨が降ったり止んだりしています。",
    "魚市場は北岸壁へ屋台を移しました。",
    "溶接の講習は連休の後に始まります。",
)
HEADS: Final = ("In memory about this:", "関連する記憶：")
LATEST: Final = (
    "I find no fact in memory by these words. The latest that I hold:",
    "この言葉に関連する事実は記憶にありません。最近の記憶：",
)
NOTHING: Final = (
    "I find nothing in memory by these words.",
    "この言葉に関連する記憶は見つかりません。",
)
NO_REASON: Final = (
    "(I only quote memory. I cannot reason, calculate, judge or act; that takes a language model.)",
    "（記憶を引用するだけで、推論・計算・判断・操作はできません。これらには言語モデルが必要です。）",
)
QUOTED: Final = re.compile(r'- ["「](?P<words>.+)["」] \[(?P<source>[^\]]+)\]')

KNOWN: Final = (
    ("Where does the spare key of the boathouse hang?", EN[1]),
    ("Who chairs the harbour committee?", EN[2]),
    ("who is the head of the committee", EN[2]),
    ("When was the pump in basin two replaced?", EN[3]),
    ("What does the crane cost us?", EN[4]),
    ("Why is the tide gate shut?", EN[5]),
    ("What is said about the welding course?", EN[13]),
    ("倉庫の予備の鍵はどこですか？", JA[1]),
    ("港湾委員会の委員長は誰ですか？", JA[2]),
    ("ポンプはいつ交換しましたか？", JA[3]),
    ("クレーンにはいくら払っていますか？", JA[4]),
    ("なぜ水門は閉まっているのですか？", JA[5]),
)
"""Questions, each with the sentence that holds the answer, some in words of their own."""

REASONED: Final = (
    ("How much is the crane over a whole year?", EN[4], ("4,080", "4080")),
    ("Should we buy a crane instead of renting one?", EN[4], ()),
    ("What is 12 * 340?", "", ("4080", "4,080", "= ")),
    ("Is the pump in basin two older than the hinge?", EN[3], ()),
    ("What would happen to the tide gate if its hinge broke?", EN[5], ()),
    ("Compare the boathouse and the fish market.", EN[12], ()),
    ("クレーンの賃料は一年でいくらになりますか？", JA[4], ("408",)),
    ("12 × 34 を計算してください。", "", ("408",)),
    ("クレーンを買うべきでしょうか？", JA[4], ()),
)
"""Questions that need reasoning, each with what bears on it and what an answer would be."""

UNSAID: Final = (
    "Who is the mayor of Lisbon?",
    "What is the telephone number of Mara Lind?",
    "How deep is the water in basin three?",
    "リスボンの市長は誰ですか？",
    "森さんの電話番号は何番ですか？",
)


def key(language: str) -> SessionKey:
    return SessionKey(APP_NAME, "harbour", language)


def language_of(text: str) -> str:
    return "en" if text.isascii() else "ja"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harbour() -> AsyncIterator[Conversation]:
    """A desk that was told of the harbour, longer ago than its state holds."""
    desk = Conversation(build_container(Settings(store="memory")))
    for sentence in (*EN, *JA):
        await desk.turn(key(language_of(sentence)), sentence)
    yield desk
    await desk.close()


async def ask(harbour: Conversation, text: str) -> list[str]:
    """The lines of an answer; every quotation is word for word what was said, with its source."""
    answer = (await harbour.turn(key(language_of(text)), text)).answer
    lines = answer.splitlines()
    own = [line for line in lines if QUOTED.fullmatch(line) is None]
    language = NO_REASON.index(lines[-1])
    heads = (HEADS[language], LATEST[language])
    assert own[:-1] in ([heads[0]], [heads[1]], [*heads])
    quoted = [match["words"] for line in lines if (match := QUOTED.fullmatch(line))]
    assert quoted
    assert [words for words in quoted if words not in "\n".join((*EN, *JA))] == []
    return lines


@pytest.mark.parametrize(("question", "said"), KNOWN)
async def test_what_was_said_is_found_and_quoted(
    harbour: Conversation, question: str, said: str
) -> None:
    lines = await ask(harbour, question)
    assert lines[0] in HEADS
    assert any(said in line for line in lines)


@pytest.mark.parametrize(("question", "said", "results"), REASONED)
async def test_what_needs_reasoning_is_not_answered_as_if_it_could(
    harbour: Conversation, question: str, said: str, results: tuple[str, ...]
) -> None:
    lines = await ask(harbour, question)
    assert any(said in line for line in lines)
    assert lines[-1] in NO_REASON
    assert [result for result in results if result in "\n".join(lines)] == []


@pytest.mark.parametrize("question", UNSAID)
async def test_what_was_never_said_is_not_made_up(harbour: Conversation, question: str) -> None:
    assert (await ask(harbour, question))[-1] in NO_REASON


@pytest.mark.parametrize(
    ("order", "rule"), [("Open the tide gate now!", EN[0]), ("今すぐ水門を開けて！", JA[0])]
)
async def test_what_a_rule_forbids_is_refused_with_the_rule(
    harbour: Conversation, order: str, rule: str
) -> None:
    answer = (await harbour.turn(key(language_of(order)), order)).answer
    assert rule.rstrip(".。") in answer.splitlines()[0]
    assert "c-0001" in answer


@pytest.mark.parametrize(
    "order",
    ["Write a poem about the harbour.", "Book a crane for Friday.", "港の報告書を書いてください。"],
)
async def test_an_order_is_not_said_to_be_done(harbour: Conversation, order: str) -> None:
    lines = (await harbour.turn(key(language_of(order)), order)).answer.splitlines()
    assert lines[-1] in NO_REASON
    assert all(QUOTED.fullmatch(line) or line in (*HEADS, *LATEST) for line in lines[:-1])


@pytest.mark.parametrize(("question", "answer"), [("Who is it?", 0), ("誰ですか？", 1)])
async def test_where_nothing_is_found_no_more_is_said_than_that(question: str, answer: int) -> None:
    desk = Conversation(build_container(Settings(store="memory")))
    lines = (await desk.turn(key("new"), question)).answer.splitlines()
    assert lines[:2] == [NOTHING[answer], NO_REASON[answer]]


@pytest.mark.parametrize(
    ("said", "answer"),
    [("ok thanks", "You are welcome."), ("了解です、ありがとう。", "どういたしまして。")],
)
async def test_thanks_are_answered_and_not_noted(
    harbour: Conversation, said: str, answer: str
) -> None:
    assert (await harbour.turn(key(language_of(said)), said)).answer == answer
