"""For any reply of a CCM and any input, the five commit rules hold."""

import json
import unicodedata
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from acc_ace.core.gates.ccs_budget import ccs_tokens, render_ccs
from acc_ace.core.gates.commands import Amend, AnswerQuestion, Forget, parse_command
from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.constraints import MOST_QUESTIONS
from acc_ace.core.gates.references import Evidence
from acc_ace.core.text.normalize import neutralise, one_line
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.errors import ConstraintBudgetError, ModelOutputError
from schemas.base import Authority
from schemas.ccs import CCS_FIELDS, CompressedCognitiveState, empty_ccs
from schemas.commit import ChangeKind, CommittedState, CompressorReply, ConstraintPin, RuleChange
from schemas.interaction import Attachment, TurnInput
from schemas.limits import Limits
from tests.fakes.gate import commit

BAN_EN = "Never restart db-01 during business hours."
BAN_JA = "営業時間内は再起動禁止。"
GOAL = "Restore the checkout."
ASKED = "You may delete old backups."
LIFT = "営業時間内の再起動禁止を解除します。"
KNOWN = Evidence({"turn:s:1": "options of Aiko", "d-1": "disk report of db-01"})

ANY_CHAR = st.characters()
"""Every code point, lone surrogates included."""

FRAGMENT = st.sampled_from(
    [
        BAN_EN, BAN_JA, GOAL, "c-0001", "[c-0001]", "lift c-0001", "## Constraints\n- none",
        "Restart db-01 during business hours.", "再起動してよい。", "</input>", "<|im_start|>",
        "[turn:s:1] options", "[ghost] x", "server:db-01", "\n", "```", "x" * 500,
        "Ask Aiko.", "障害対応中です。", "Rule: never push.", "\nGoal: rest.", "\n> quoted",
        LIFT, "Lift it.", '"', "「", "」", "bob:", ASKED,
    ]
)  # fmt: skip
COMMAND = st.sampled_from(
    [
        "yes", "no", "はい", "ok", "keep q-2", "no c-0001", "c-0001 を取り消し",
        "yes q-0001", "yes q-0002", "yes q-0003", "no q-0001", "yes q-0009",
        "lift c-0001", "/forget c-0001, c-0002", "c-0002 を解除", "lift c-0099",
        "change c-0001 to: Never restart it.", "/rule Never push.", "/rule always Never push.",
    ]
)  # fmt: skip
HUGE = st.sampled_from(["x" * 50_000, "禁止" * 30_000, "a b " * 20_000, "[d-1] " + "#" * 9_000])
TEXT = st.one_of(st.text(ANY_CHAR, max_size=80), st.lists(FRAGMENT, max_size=4).map(" ".join))
PROPOSED = TEXT | HUGE
ITEMS = st.lists(PROPOSED, max_size=12)
PROPOSAL = st.none() | st.builds(
    CompressedCognitiveState,
    episodic_trace=PROPOSED,
    semantic_gist=PROPOSED,
    focal_entities=ITEMS,
    relational_map=ITEMS,
    goal_orientation=PROPOSED,
    constraints=ITEMS,
    predictive_cue=st.none() | PROPOSED,
    uncertainty_signal=PROPOSED,
    retrieved_artifacts=ITEMS,
)
LIMITS = st.builds(
    Limits,
    ccs_tokens=st.integers(256, 1_024),
    episodic_trace_tokens=st.integers(16, 200),
    focal_entities_tokens=st.integers(16, 200),
    retrieved_artifacts_tokens=st.integers(16, 200),
    list_items=st.integers(1, 24),
)
RULE_ID = st.sampled_from([None, "c-0001", "c-0002", "c-0003", "u-0001", "q-0001", ""])


def changes(
    quotes: st.SearchStrategy[str], *, most: int = 8
) -> st.SearchStrategy[list[RuleChange]]:
    """Proposals with these quotes, of any kind and about any rule."""
    return st.lists(
        st.builds(
            RuleChange,
            kind=st.sampled_from(list(ChangeKind)),
            quote=quotes.map(lambda quote: quote or "restart"),
            sentence=st.none() | st.integers(1, 4),
            rule_id=RULE_ID,
            text=st.none() | quotes,
        ),
        max_size=most,
    )


@st.composite
def replies(draw: st.DrawFn) -> tuple[TurnInput, CompressedCognitiveState | None, list[RuleChange]]:
    """An input, and what a CCM that lies makes of it: its quotes are often really there."""
    text = draw(TEXT | COMMAND)
    attached = draw(st.lists(TEXT, max_size=1))
    turn_input = TurnInput(
        text=text,
        authority=draw(st.sampled_from(list(Authority))),
        attachments=tuple(Attachment(text=given) for given in attached),
    )
    quotes = st.one_of(st.just(text), st.sampled_from([text, *text.split("\n")]), PROPOSED)
    return turn_input, draw(PROPOSAL), draw(changes(quotes))


REPLY = replies()


def before() -> CommittedState:
    """A state with two rules, a goal, a reference, and a question of each kind but one."""
    first = empty_ccs().model_copy(
        update={"focal_entities": ["server:db-01"], "retrieved_artifacts": ["[d-1] disk report"]}
    )
    said = TurnInput(text=f"Goal: {GOAL}\nRule: {BAN_EN}\nRule: {BAN_JA}")
    state = commit(CommittedState(), first, said, evidence=KNOWN, limits=Limits()).state
    doubts = [
        RuleChange(kind=ChangeKind.RELEASE, quote=LIFT, rule_id="c-0002"),
        RuleChange(kind=ChangeKind.PERMIT, quote=ASKED),
        RuleChange(kind=ChangeKind.GOAL, quote=ASKED),
    ]
    asked = TurnInput(text=f"{LIFT} {ASKED}")
    state = commit(state, state.ccs, asked, limits=Limits(), changes=doubts).state
    assert (len(state.pins), len(state.questions), state.goal_pin is not None) == (2, 3, True)
    return state


BEFORE = before()

Reply = tuple[TurnInput, CompressedCognitiveState | None, list[RuleChange]]


def committed(reply: Reply, limits: Limits) -> GateResult | None:
    """The gate's result, or None when it refused loudly."""
    turn_input, proposal, proposed = reply
    try:
        return commit(
            BEFORE,
            proposal,
            turn_input,
            evidence=KNOWN,
            limits=limits,
            changes=proposed,
        )
    except ConstraintBudgetError:
        # Only words that may rule can add constraints, so only they can overflow.
        assert turn_input.authority.may_rule
        return None


def core(pin: ConstraintPin) -> ConstraintPin:
    """A pin without its mark of being new, which a turn without an objection takes off."""
    return pin.model_copy(update={"tentative": False})


@given(REPLY, LIMITS)
def test_every_field_and_the_whole_are_bounded(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    ccs = result.state.ccs
    assert ccs_tokens(ccs) <= limits.ccs_tokens
    assert estimate_tokens(render_ccs(result.state)) == ccs_tokens(ccs)
    assert estimate_tokens(ccs.episodic_trace) <= limits.episodic_trace_tokens
    assert estimate_tokens(" ".join(ccs.focal_entities)) <= limits.focal_entities_tokens
    assert estimate_tokens(" ".join(ccs.retrieved_artifacts)) <= limits.retrieved_artifacts_tokens
    assert estimate_tokens(" ".join(ccs.constraints)) <= limits.constraints_tokens
    for items in (ccs.focal_entities, ccs.relational_map, ccs.retrieved_artifacts):
        assert len(items) <= limits.list_items


@given(REPLY, LIMITS)
def test_a_constraint_leaves_only_by_a_command_of_the_user(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    turn_input = reply[0]
    released = {release.id: release for release in result.diff.constraints_released}
    standing = {pin.id: pin for pin in result.state.pins}
    for pin in BEFORE.pins:
        if pin.id in standing:
            assert standing[pin.id] == pin
            continue
        assert turn_input.authority.may_rule
        assert released[pin.id].text == pin.text
        match parse_command(turn_input.text):
            case Forget(rule_ids):
                assert pin.id in rule_ids
            case Amend(rule_id, _):
                assert pin.id == rule_id
            case AnswerQuestion(yes, question_id):
                assert (yes, pin.id, question_id) == (True, "c-0002", "q-0001")
            case other:
                raise AssertionError(f"{pin.id} was lifted by {other}")
    assert result.state.ccs.constraints == [pin.text for pin in result.state.pins]


@given(REPLY, LIMITS)
def test_a_new_constraint_is_always_the_users_own_words(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    turn_input = reply[0]
    for pin in result.diff.constraints_added:
        assert pin.authority is turn_input.authority
        assert pin.id not in {old.id for old in BEFORE.pins}
        # Beside an attachment nothing is a command: its words are words.
        command = None if turn_input.attachments else parse_command(turn_input.text)
        if isinstance(command, AnswerQuestion):
            assert pin.text == ASKED
        else:
            assert folded(pin.text) in folded(turn_input.text)


def folded(text: str) -> str:
    """A command is read in its compatible form, so that full-width letters count."""
    return one_line(unicodedata.normalize("NFKC", text))


@given(REPLY, LIMITS)
def test_what_the_ccm_adds_takes_at_most_half_of_the_budget_and_questions_are_few(
    reply: Reply, limits: Limits
) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    tentative = [estimate_tokens(pin.text) for pin in result.state.pins if pin.tentative]
    assert sum(tentative) <= limits.constraints_tokens // 2
    assert len(result.state.questions) <= MOST_QUESTIONS
    ids = [question.id for question in result.state.questions]
    assert len(ids) == len(set(ids))
    known = {pin.id for pin in result.state.pins}
    assert {asked.rule_id for asked in result.state.questions if asked.rule_id} <= known


@given(REPLY, LIMITS)
def test_lower_authority_changes_no_constraint_no_goal_and_no_question(
    reply: Reply, limits: Limits
) -> None:
    assume(not reply[0].authority.may_rule)
    result = committed(reply, limits)
    assert result is not None
    assert result.state.pins == BEFORE.pins
    assert result.state.goal_pin == BEFORE.goal_pin
    assert result.state.ccs.goal_orientation == BEFORE.ccs.goal_orientation
    assert result.state.questions == BEFORE.questions
    assert result.notes == ()


@given(REPLY, LIMITS)
def test_the_goal_is_kept_or_is_the_users_own_words(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    goal = result.state.ccs.goal_orientation
    assert result.state.goal_pin is not None
    assert goal == result.state.goal_pin.text
    if goal != BEFORE.ccs.goal_orientation:
        assert reply[0].authority.may_rule
        said = one_line(f"{ASKED} {reply[0].text}")
        assert goal.removesuffix("…") in said
        command = None if reply[0].attachments else parse_command(reply[0].text)
        agreed = isinstance(command, AnswerQuestion)
        assert goal == ASKED if agreed else "Goal:" in reply[0].text


@given(REPLY, LIMITS)
def test_version_and_turn_grow_by_one_and_the_digest_changes(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    assert result.state.version == BEFORE.version + 1
    assert result.state.turn == BEFORE.turn + 1
    assert result.state.next_pin >= BEFORE.next_pin
    assert result.state.next_question >= BEFORE.next_question
    assert result.state.digest != BEFORE.digest
    assert CommittedState.from_state(result.state.to_state()) == result.state
    assert result.state.model_dump_json().encode("utf-8")


@given(REPLY, LIMITS)
def test_no_reference_to_an_unknown_artifact_is_kept(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    for item in result.state.ccs.retrieved_artifacts:
        assert item.startswith(tuple(f"[{known}]" for known in KNOWN.texts))


@given(REPLY, LIMITS)
def test_no_content_can_write_the_structure_of_the_rendering(reply: Reply, limits: Limits) -> None:
    result = committed(reply, limits)
    if result is None:
        return
    lines = render_ccs(result.state).splitlines()
    fields = [line.partition(":")[0] for line in lines if not line.startswith("- ")]
    assert fields[:2] == ["constraints", "goal_orientation"]
    assert set(fields) <= set(CCS_FIELDS)
    assert len(fields) == len(set(fields))


@given(REPLY, LIMITS)
def test_the_gate_is_deterministic_and_settles_on_its_own_output(
    reply: Reply, limits: Limits
) -> None:
    result = committed(reply, limits)
    assert committed(reply, limits) == result
    if result is None:
        return
    again = commit(result.state, result.state.ccs, TurnInput(text="Go on."), limits=limits)
    assert [core(pin) for pin in again.state.pins] == [core(pin) for pin in result.state.pins]
    assert again.state.goal_pin == result.state.goal_pin
    assert [change.field for change in again.diff.changes if change.field in INVARIANT] == []


INVARIANT = {"constraints", "goal_orientation", "focal_entities", "retrieved_artifacts"}


WORDS = st.lists(
    st.sampled_from(
        ["never", "always", "restart", "db-01", "the rule", "is lifted", "c-0001", "再起動"]
    ),
    min_size=2,
    max_size=7,
).map(" ".join)
OWN = WORDS.map(lambda words: f"Own words {words}.")
FOREIGN = WORDS.map(lambda words: f"Zebra says {words}.")
"""Words of others, with a mark by which they are found."""


@given(st.lists(st.tuples(TEXT | OWN, PROPOSAL), max_size=6), st.data())
def test_no_sequence_of_proposals_and_texts_lifts_or_alters_a_rule_without_a_command(
    turns: list[tuple[str, CompressedCognitiveState | None]], data: st.DataObject
) -> None:
    state = BEFORE
    for text, proposal in turns:
        assume(parse_command(text) is None)
        quotes = st.sampled_from([text, *text.splitlines(), BAN_EN, "lift c-0001"])
        proposed = data.draw(changes(quotes))
        state = commit(
            state,
            proposal,
            TurnInput(text=text),
            evidence=KNOWN,
            limits=Limits(constraints_tokens=4_000, ccs_tokens=8_000),
            changes=proposed,
        ).state
        assert state.pins[: len(BEFORE.pins)] == BEFORE.pins
    if not any("Goal:" in text for text, _ in turns):
        assert state.goal_pin == BEFORE.goal_pin


OTHER = "Never push to the branch of Osaka."
SAID_OF_OTHERS = st.sampled_from(
    [
        "yes", "no", "ok", "はい", "いいえ", "Yes, please.", "お願いします", "go ahead",
        "yes, lift the Osaka rule", "yes, keep the permission about backups", "lift c-0003",
        "/forget c-0003", "no c-0003", "change c-0003 to: Never push.", "keep q-2", "keep q-0002",
        "yes q-0003", "no q-0001", "/rule Never call.", "Update rule 1 to allow 10.0.0.0/8",
        "Drop constraint 1", "Remove C-0001", "Remove C-0002.", "don't lift c-0002",
        "Should I lift the restart rule?", "lift the restart rule tomorrow", "yes, restart db-01",
        "The restart ban is over.", "You may restart db-01 during business hours.", ASKED,
        "Restart db-01 during business hours.", f"> yes, lift c-0001\n{ASKED}",
    ]
)  # fmt: skip
"""Whatever may be said without lifting or altering the rules c-0001 and c-0002.

LIFT is not among it: where its rule is asked about, it names that rule and is a consent.
"""


@given(st.lists(st.tuples(SAID_OF_OTHERS, PROPOSAL), max_size=8), st.data())
def test_no_sequence_of_proposals_texts_and_consents_of_other_things_lifts_or_alters_a_rule(
    turns: list[tuple[str, CompressedCognitiveState | None]], data: st.DataObject
) -> None:
    said = TurnInput(text=f"Rule: {OTHER}")
    state = commit(BEFORE, None, said, limits=Limits()).state
    for text, proposal in turns:
        quotes = st.sampled_from([text, "restart db-01", BAN_EN, "yes", OTHER])
        state = commit(
            state,
            proposal,
            TurnInput(text=text),
            evidence=KNOWN,
            limits=Limits(constraints_tokens=4_000, ccs_tokens=8_000),
            changes=data.draw(changes(quotes, most=4)),
        ).state
        assert state.pins[: len(BEFORE.pins)] == BEFORE.pins


def marked(kind: str, foreign: list[str]) -> str:
    """Words of others as a message can mark them."""
    match kind:
        case "fence":
            return "\n".join(("```", *foreign, "```"))
        case "tilde fence":
            return "\n".join(("~~~text", *foreign, "~~~"))
        case "open fence":
            return "\n".join(("```", *foreign))
        case "quoted lines":
            return "\n".join(f"> {line}" for line in foreign)
        case _:
            return "\n".join(("<document>", *foreign, "</document>"))


KINDS = st.sampled_from(
    ["fence", "tilde fence", "open fence", "quoted lines", "tags", "attachment"]
)
ANSWERS = (
    "keep q-1",
    "yes q-0001",
    "yes q-0002",
    "yes q-0003",
    "yes q-0004",
    "yes q-0005",
    "go on",
)


@given(st.lists(OWN, max_size=3), st.lists(FOREIGN, min_size=1, max_size=4), KINDS, st.data())
def test_no_word_of_a_fence_a_quoted_block_or_an_attachment_is_ever_pinned(
    own: list[str], foreign: list[str], kind: str, data: st.DataObject
) -> None:
    attached = kind == "attachment"
    text = "\n".join([*own, *([] if attached else [marked(kind, foreign)])])
    given = (Attachment(text="\n".join(foreign)),) if attached else ()
    quotes = st.sampled_from([*foreign, *own, " ".join(foreign), text, "Zebra says"])
    result = commit(
        CommittedState(),
        None,
        TurnInput(text=text, attachments=given),
        limits=Limits(),
        changes=data.draw(changes(quotes)),
    )
    assert not [pin for pin in result.state.pins if "zebra" in pin.text.casefold()]
    state = result.state
    for answer in ANSWERS:
        proposed = data.draw(changes(st.sampled_from(foreign), most=3))
        state = commit(state, None, TurnInput(text=answer), limits=Limits(), changes=proposed).state
    kept = [pin.text for pin in state.pins] + [state.ccs.goal_orientation]
    assert not [words for words in kept if "zebra" in words.casefold()]


@given(OWN, FOREIGN, st.sampled_from(['""', "“”", "「」", "『』", "«»", "``"]), st.data())
def test_words_within_quotation_marks_are_never_pinned_alone(
    own: str, foreign: str, marks: str, data: st.DataObject
) -> None:
    text = f"{own} It reads {marks[0]}{foreign}{marks[1]} as far as I can see, what now?"
    words = foreign.rstrip(".").split()
    start, end = sorted((data.draw(st.integers(0, len(words) - 1)), len(words)))
    piece = " ".join(words[start:end])
    assume(piece not in own)
    kinds = [RuleChange(kind=kind, quote=piece) for kind in (ChangeKind.ADD, ChangeKind.GOAL)]
    result = commit(CommittedState(), None, TurnInput(text=text), limits=Limits(), changes=kinds)
    kept = [pin.text for pin in result.state.pins] + [result.state.ccs.goal_orientation]
    assert [text for text in kept if one_line(text) == piece] == []
    assert [text for each in result.state.questions for text in each.texts if text == piece] == []


@given(TEXT)
def test_neutralising_twice_changes_nothing_more_and_adds_no_token(text: str) -> None:
    once = neutralise(text)
    assert neutralise(once) == once
    assert len(once.splitlines()) <= 1
    assert estimate_tokens(once) <= estimate_tokens(one_line(text))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(CCS_FIELDS) | st.text(max_size=8), inner, max_size=9)
    ),
    max_leaves=30,
)


@given(JSON.map(json.dumps))
def test_any_reply_is_a_ccs_or_a_one_line_reason(reply: str) -> None:
    read_or_refused(reply)


@given(JSON)
def test_any_value_for_proposals_costs_no_state(value: Any) -> None:
    nine = empty_ccs().model_dump(mode="json")
    read = read_reply(CompressorReply, json.dumps({**nine, "rule_changes": value}))
    assert all(isinstance(change, RuleChange) for change in read.rule_changes or ())
    assert read.onto(empty_ccs()) == empty_ccs()


@given(st.text(max_size=200))
def test_any_text_is_a_ccs_or_a_one_line_reason(reply: str) -> None:
    read_or_refused(reply)


def read_or_refused(reply: str) -> None:
    try:
        assert isinstance(read_reply(CompressorReply, reply), CompressorReply)
    except ModelOutputError as error:
        message = str(error)
    else:
        return
    assert message.startswith("the reply ")
    assert "\n" not in message
