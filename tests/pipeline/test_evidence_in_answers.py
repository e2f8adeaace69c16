"""What was said turns ago reaches the answer inside the state; corrections win."""

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.conversation import Conversation
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.extensions import needs
from tests.pipeline.talk import KEY, Talk, seen


@needs("embedded")
@pytest.mark.parametrize(
    ("said", "asked", "answered", "wrong"),
    [
        (
            [
                "The errors on checkout started at 14:05.",
                "db-02 is slow too.",
                "We ship on Friday.",
            ],
            "when did the errors start?",
            "14:05",
            "Friday",
        ),
        (
            ["The errors started at 14:05.", "No, the errors started at 13:50.", "We wait."],
            "when did the errors start?",
            "13:50",
            "14:05",
        ),
        (
            ["My name is Aiko.", "We plan a trip to Kyoto.", "The hotel has a garden."],
            "what's my name?",
            "Aiko",
            "Kyoto",
        ),
        (
            ["DB担当は佐藤さんです。", "いえ、DB担当は田中さんです。", "今日は会議があります。"],
            "DB担当は誰?",
            "田中",
            "佐藤",
        ),
        (
            ["DB担当は佐藤です。", "訂正です。DB担当は田中でした。"],
            "DB担当は誰？",
            "田中",
            "佐藤",
        ),
        (
            ["エラーは14時5分に始まりました。", "db-02も遅いです。", "明日リリースします。"],
            "エラーはいつ始まりましたか？",
            "14時5分",
            "リリース",
        ),
        (
            ["私の名前は愛子です。", "京都への旅行を計画しています。", "ホテルには庭があります。"],
            "私の名前は何ですか？",
            "愛子",
            "京都",
        ),
        (
            ["A ticket for the gala is 40 euros.", "They raised it to 55 euros.", "It rains."],
            "How much is a ticket for the gala?",
            "55",
            "40",
        ),
        (
            ["会費は3000円です。", "来月から4000円に上がるそうです。", "雨です。"],
            "会費はいくらですか？",
            "4000円",
            "3000円",
        ),
    ],
)
async def test_the_embedded_model_quotes_what_was_said_turns_ago_and_the_newest_first(
    said: list[str], asked: str, answered: str, wrong: str
) -> None:
    before, found, _ = (await answer(said, asked)).partition(answered)
    assert found
    assert wrong not in before


@needs("embedded")
async def test_what_was_said_in_other_words_is_quoted_as_what_was_said_last() -> None:
    said = ["Hi, I'm Aiko and I run the payments team.", "The printer is broken.", "It rains."]
    head, *quoted = (await answer(said, "what's my name?")).splitlines()
    assert head.startswith("I find no fact in memory by these words.")
    assert any("I'm Aiko" in line for line in quoted)


async def answer(said: list[str], asked: str) -> str:
    conversation = Conversation(build_container(Settings(store="memory")))
    for text in said:
        await conversation.turn(KEY, text)
    answered = (await conversation.turn(KEY, asked)).answer
    await conversation.close()
    return answered


async def test_what_was_quoted_for_one_turn_is_a_gist_in_the_next() -> None:
    talk = Talk()
    long = "The errors on checkout started at 14:05, " + "after a valve of the pump broke, " * 9
    await talk.say(f"{long}as the monitor says.")
    await talk.say("It rains in Osaka.")
    await talk.say("When did the errors on checkout start?")
    await talk.say("Thanks, and the printer?")
    before = str(read_tagged(prompt_text(talk.llm.requests_of("compressor")[3]))["previous_state"])
    assert "turn:s1:1" not in before
    assert "[turn:s1:1] user, " in seen(talk.llm.requests_of("generator")[3])
    assert long[:200] not in seen(talk.llm.requests_of("generator")[3])


async def test_the_generator_reads_what_was_said_though_the_ccm_names_nothing() -> None:
    talk = Talk()
    await talk.say("The errors on checkout started at 14:05.")
    await talk.say("It rains in Osaka.")
    await talk.say("Go on with the report.")
    await talk.say("When did the errors on checkout start?")
    shown = seen(talk.llm.requests_of("generator")[-1])
    assert "[turn:s1:1] user, " in shown
    assert '"The errors on checkout started at 14:05."' in shown
