"""The Compressor's model points at what the user says of themself; code keeps it, or nothing."""

from collections.abc import Mapping, Sequence

import pytest

from acc_ace.errors import ModelUnavailable
from acc_ace.memory.profile import MOST_FACTS, user_profile
from config import Settings
from schemas.base import Authority
from tests.fakes.reading_llm import fails
from tests.fakes.scripted_llm import Script
from tests.pipeline.talk import Talk, seen

SAID = "I live in Tampere. What is on today?"
HOME = {"about_user": [{"subject": "home", "sentence": 1}]}
RULE = "Rule: never book before nine."


def scripted(*replies: Mapping[str, object]) -> Talk:
    """A talk with these replies of the Compressor."""
    talk = Talk()
    talk.llm.on("compressor", *replies).on("generator", {"final_answer": "All right."})
    return talk


async def facts(talk: Talk) -> dict[str, str]:
    """What is known of the user, by subject."""
    known = await user_profile(talk.container, talk.key.tenant)
    return {fact.subject: fact.text for fact in known.facts}


async def repairs(talk: Talk) -> Sequence[str]:
    """Why something that the last reply pointed at is not kept."""
    newest = (await talk.conversation.history(talk.key))[0]
    return [each.reason for each in newest.diff.repairs if each.field == "about_user"]


async def test_a_new_session_starts_from_what_the_user_said_of_themself() -> None:
    talk = scripted(HOME, {})
    await talk.say(SAID)
    (fact,) = (await user_profile(talk.container, talk.key.tenant)).facts
    assert (fact.subject, fact.text) == ("home", "I live in Tampere.")
    assert (fact.session, fact.turn) == ("s1", 1)
    talk.key = talk.key._replace(session="s2")
    report = await talk.say("Hello there, what now?")
    (line,) = report.ccs.retrieved_artifacts
    assert line == f'[{fact.artifact_id}] user:home, {fact.day}: "I live in Tampere."'
    for role in ("compressor", "generator"):
        assert "I live in Tampere" in seen(talk.llm.requests_of(role)[-1])
    state = await talk.conversation.state(talk.key)
    assert state is not None
    assert not state.has_foreign_text
    assert "about_user: home" in seen(talk.llm.requests_of("compressor")[-1])


async def test_the_least_reply_keeps_nothing_and_says_nothing() -> None:
    talk = scripted({}, {})
    await talk.say(SAID)
    assert await facts(talk) == {}
    assert await repairs(talk) == []
    assert "about_user:" not in seen(talk.llm.requests_of("compressor")[-1])


@pytest.mark.parametrize(
    ("text", "entry", "kept"),
    [
        (SAID, {"subject": "home", "sentence": "⟦1⟧"}, "I live in Tampere."),
        (SAID, {"subject": "home", "quote": "I live in Tampere"}, "I live in Tampere."),
        (SAID, {"sentence": 1}, "I live in Tampere."),
        (
            "I live in Turku and work as a smith.",
            {"sentence": 1, "quote": "a smith"},
            "work as a smith.",
        ),
        (
            "I don't eat meat or fish.",
            {"sentence": 1, "quote": "fish"},
            "I don't eat meat or fish.",
        ),
        (SAID, 1, "I live in Tampere."),
        (SAID, "1", "I live in Tampere."),
        ("Please call me 'Fitz'.", {"subject": "name", "sentence": 1}, "Please call me 'Fitz'."),
        ("I'm vegan; never suggest meat.", {"sentence": 1, "quote": "I'm vegan"}, "I'm vegan"),
        ("I get up at 4, so keep answers short.", {"sentence": 1}, "I get up at 4"),
        ("/rule Never suggest meat to me, I'm vegan.", {"sentence": 1}, None),
        (SAID, {"subject": "home", "sentence": 7}, None),
        (SAID, {"subject": "home", "sentence": 2}, None),
        (SAID, {"subject": "home", "quote": "I live in Oslo"}, None),
        (SAID, {"subject": "home"}, None),
        ('Bob wrote: "I live in Oslo." Reply to him.', {"quote": "I live in Oslo"}, None),
        ("The letter says: I am a vet from Oslo.", {"sentence": 1}, None),
        ("The letter says: I am a vet from Oslo.", {"sentence": 1, "quote": "I am a vet"}, None),
        ("She said 'I am a vet and live in Oslo' to us.", {"sentence": 1}, None),
        (
            "She said 'I am a vet and live in Oslo' to us.",
            {"sentence": 1, "quote": "live in Oslo"},
            None,
        ),
        ("From the list: 'Hi, I'm Jo, a vet from Oslo.' Who is it?", {"sentence": 1}, None),
        ("> I live in Oslo.\nReply to it.", {"quote": "I live in Oslo"}, None),
    ],
)
async def test_only_the_users_own_words_become_facts(
    text: str, entry: object, kept: str | None
) -> None:
    talk = scripted({"about_user": [entry]})
    await talk.say(text)
    assert [*(await facts(talk)).values()] == ([kept] if kept else [])
    is_empty = entry == {"subject": "home"}
    assert bool(await repairs(talk)) is (kept is None and not is_empty)


async def test_what_a_tool_or_mail_says_is_nobodys_profile() -> None:
    talk = scripted(HOME)
    await talk.say("I live in Oslo.", authority=Authority.TOOL)
    assert await facts(talk) == {}


async def test_what_is_said_later_of_the_same_subject_takes_its_place() -> None:
    talk = scripted(HOME, {"about_user": [{"subject": "Home ", "sentence": 1}]})
    await talk.say(SAID)
    await talk.say("I live in Turku now.")
    assert [*(await facts(talk)).values()] == ["I live in Turku now."]


async def test_the_oldest_fact_goes_out() -> None:
    named = [{"subject": f"thing {at}", "sentence": at} for at in range(1, MOST_FACTS + 1)]
    talk = scripted(HOME, {"about_user": named})
    await talk.say(SAID)
    await talk.say(" ".join(f"I have thing number {at}." for at in range(1, MOST_FACTS + 1)))
    known = await facts(talk)
    assert len(known) == MOST_FACTS
    assert "home" not in known


async def test_a_turn_that_fails_costs_no_fact() -> None:
    named = [{"subject": f"thing {at}", "sentence": at} for at in range(1, MOST_FACTS + 1)]
    talk = scripted({"about_user": named}, HOME)
    await talk.say(" ".join(f"I have thing number {at}." for at in range(1, MOST_FACTS + 1)))
    known = await facts(talk)
    talk.llm._scripts["generator"].clear()
    talk.llm.on("generator", fails)
    with pytest.raises(ModelUnavailable):
        await talk.say(SAID)
    assert await facts(talk) == known


async def test_a_fact_in_conflict_with_a_rule_is_none_and_the_rule_holds() -> None:
    rule, fact = "Never restart db-01.", "I am the one who may have db-01 restarted."
    talk = scripted(
        {"about_user": [{"subject": "duty", "sentence": 1}]},
        {"rule_changes": [{"sentence": 1, "kind": "restriction"}]},
        {},
    )
    await talk.say(fact)
    await talk.say(rule)
    assert await talk.constraints() == [rule]
    report = await talk.say("What do you know about me?")
    assert report.ccs.constraints == [rule]
    assert not [each for each in report.ccs.retrieved_artifacts if each.startswith("[fact:")]
    (verdict,) = [each for each in report.qualified if each.artifact_id.startswith("fact:")]
    assert verdict.reason == "contradicts_constraint"
    assert await facts(talk) == {"duty": fact}


async def test_what_becomes_a_rule_is_no_fact_beside_it() -> None:
    pointed = {"sentence": 1, "quote": "never suggest meat", "kind": "restriction"}
    talk = scripted({**HOME, "rule_changes": [pointed]}, {})
    await talk.say("I'm vegan, so never suggest meat.")
    assert await talk.constraints() == ["I'm vegan, so never suggest meat."]
    assert await facts(talk) == {"home": "I'm vegan"}


async def test_a_fact_that_sounds_like_a_rule_makes_none_in_a_new_session() -> None:
    talk = scripted({"about_user": [{"subject": "diet", "sentence": 1}]}, {})
    await talk.say("I never eat gluten.")
    talk.key = talk.key._replace(session="s2")
    report = await talk.say("What do you know about me?")
    assert "I never eat gluten." in "".join(report.ccs.retrieved_artifacts)
    assert report.ccs.constraints == []


async def test_a_fact_goes_with_its_turn() -> None:
    talk = scripted(HOME, {}, HOME, {})
    await talk.say(SAID)
    await talk.say("/forget turn:s1:1")
    assert await facts(talk) == {}
    await talk.say("I live in Turku.")
    await talk.conversation.undo(talk.key)
    assert await facts(talk) == {}


MOVES = ["I live in Tampere.", "I live in Turku now.", "I live in Vaasa now."]


async def moved(moves: Sequence[str], *, sessions: Sequence[str] = ("s1",) * 3) -> Talk:
    """A user who says so, each time in a session."""
    talk = scripted(HOME)
    for text, session in zip(moves, sessions, strict=False):
        talk.key = talk.key._replace(session=session)
        await talk.say(text)
    return talk


@pytest.mark.parametrize("sessions", [("s1", "s1", "s1"), ("s1", "s2", "s2"), ("s1", "s2", "s3")])
async def test_what_an_undone_turn_had_replaced_holds_again(sessions: Sequence[str]) -> None:
    talk = await moved(MOVES, sessions=sessions)
    (first, second, third), facts_then = sessions, [MOVES[1], MOVES[0]]
    for session, holds in zip([third, second], facts_then, strict=True):
        await talk.conversation.undo(talk.key._replace(session=session))
        assert await facts(talk) == {"home": holds}
    await talk.conversation.undo(talk.key._replace(session=first))
    assert await facts(talk) == {}


async def test_a_rollback_over_two_moves_brings_back_the_first_with_its_place_and_day() -> None:
    talk = await moved(MOVES[:1])
    before = await user_profile(talk.container, talk.key.tenant)
    for text in MOVES[1:]:
        await talk.say(text)
    await talk.conversation.rollback(talk.key, 1)
    assert await user_profile(talk.container, talk.key.tenant) == before
    await talk.say("What do you know about me?")
    request = seen(talk.llm.requests_of("generator")[-1])
    assert MOVES[0] in request
    assert "Turku" not in request


async def test_what_was_undone_in_its_own_session_does_not_come_back() -> None:
    talk = await moved(MOVES, sessions=("s1", "s2"))
    await talk.conversation.undo(talk.key._replace(session="s1"))
    await talk.conversation.undo(talk.key)
    assert await facts(talk) == {}


@pytest.mark.parametrize("named", ["fact", "turn:s1:1", "turn:s1:2"])
async def test_what_was_forgotten_does_not_come_back_with_an_undo(named: str) -> None:
    talk = await moved(MOVES[:2])
    (fact,) = (await user_profile(talk.container, talk.key.tenant)).facts
    await talk.say(f"/forget {fact.artifact_id if named == 'fact' else named}")
    for _ in range(2):
        await talk.conversation.undo(talk.key)
    assert await facts(talk) == {}


async def test_an_older_statement_that_is_read_later_replaces_no_newer_one() -> None:
    talk = Talk(Settings(store="memory", compress="adaptive"))
    talk.llm.on("compressor", HOME).on("generator", {"final_answer": "All right."})
    await talk.say(MOVES[0])
    await talk.conversation.turn(talk.key._replace(session="s2"), f"{MOVES[1]} {RULE}")
    assert await facts(talk) == {"home": MOVES[1]}
    await talk.conversation.reset(talk.key)
    assert await facts(talk) == {"home": MOVES[1]}


async def test_a_forgotten_fact_is_in_no_request_and_its_turn_is_named() -> None:
    talk = scripted(HOME, {}, {}, {})
    await talk.say(SAID)
    (fact,) = (await user_profile(talk.container, talk.key.tenant)).facts
    report = await talk.say(f"/forget {fact.artifact_id}")
    assert f"Deleted: {fact.artifact_id}" in report.answer
    assert "Says it too, of your own, and stays: turn:s1:1" in report.answer
    asked = len(talk.llm.requests)
    await talk.say("And now?")
    assert not [each for each in talk.llm.requests[asked:] if "user:home" in seen(each)]
    assert await facts(talk) == {}


@pytest.mark.parametrize("keep_notes", [False, True])
async def test_a_deleted_session_leaves_its_facts_by_consent_alone(keep_notes: bool) -> None:
    talk = scripted(HOME)
    await talk.say(SAID)
    await talk.conversation.forget_session(talk.key, keep_notes=keep_notes)
    assert bool(await facts(talk)) is keep_notes


async def test_what_the_ccm_reads_later_is_of_the_turn_in_which_it_was_said() -> None:
    talk = Talk(Settings(store="memory", compress="adaptive"))
    talk.llm.on("compressor", {"about_user": [{"subject": "home", "sentence": 2}]})
    talk.llm.on("generator", {"final_answer": "All right."})
    await talk.say("I live in Tampere.")
    assert await facts(talk) == {}
    await talk.say("Rule: never book before nine.")
    (fact,) = (await user_profile(talk.container, talk.key.tenant)).facts
    assert (fact.text, fact.turn) == ("I live in Tampere.", 1)


async def test_a_session_that_ends_unread_still_tells_of_its_user() -> None:
    talk = Talk(Settings(store="memory", compress="adaptive", idle_s=0.001))
    talk.llm.on("compressor", HOME).on("generator", {"final_answer": "All right."})
    await talk.say("I live in Tampere.")
    state = await talk.conversation.state(talk.key)
    assert await facts(talk) == {}
    assert await talk.conversation.housekeep() == 1
    (fact,) = (await user_profile(talk.container, talk.key.tenant)).facts
    assert (fact.text, fact.session, fact.turn) == ("I live in Tampere.", "s1", 1)
    assert await talk.conversation.state(talk.key) == state
    assert "compressor" in {
        each.stage for each in await talk.container.spending.store.stages(talk.key)
    }


async def test_what_no_ccm_could_read_is_read_at_the_end_of_a_session() -> None:
    talk = Talk(Settings(store="memory", idle_s=0.001))
    talk.llm.on("compressor", fails).on("generator", {"final_answer": "All right."})
    await talk.say("I live in Tampere.")
    talk.llm._scripts["compressor"] = [HOME]
    assert await talk.conversation.housekeep() == 1
    assert await facts(talk) == {"home": "I live in Tampere."}


async def test_a_reset_forgets_no_fact_that_was_said_before_it() -> None:
    talk = Talk(Settings(store="memory", compress="adaptive"))
    talk.llm.on("compressor", HOME).on("generator", {"final_answer": "All right."})
    await talk.say("I live in Tampere.")
    await talk.conversation.reset(talk.key)
    assert await facts(talk) == {"home": "I live in Tampere."}


@pytest.mark.parametrize("reply", [{}, ModelUnavailable("down"), "nonsense"])
async def test_a_last_reading_that_finds_nothing_leaves_nothing(reply: Script) -> None:
    talk = Talk(Settings(store="memory", compress="adaptive", idle_s=0.001))
    talk.llm.on("compressor", reply).on("generator", {"final_answer": "All right."})
    await talk.say("I live in Tampere.")
    assert await talk.conversation.housekeep() == 1
    assert await facts(talk) == {}


async def test_a_session_of_which_all_is_read_asks_nobody_at_its_end() -> None:
    talk = Talk(Settings(store="memory", idle_s=0.001))
    talk.llm.on("compressor", HOME).on("generator", {"final_answer": "All right."})
    await talk.say(SAID)
    asked = len(talk.llm.requests_of("compressor"))
    assert await talk.conversation.housekeep() == 1
    assert len(talk.llm.requests_of("compressor")) == asked
