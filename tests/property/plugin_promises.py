"""What must hold of memory, and of what models were sent, after runs of a session."""

import re
from collections.abc import Mapping, Sequence

from google.adk.models.llm_request import LlmRequest

from acc_ace.core.gates.ccs_budget import ccs_tokens
from acc_ace.core.schemas.state import CCS, PERSISTED
from acc_ace.core.text.rules.own_words import without_numbers
from schemas.artifact import RecallQuery
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.interaction import Interaction, Outcome
from schemas.limits import Limits
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.prompt_state import state_of
from tests.property.plugin_app import KEY, WAITING_TOOLS, PlannedApp
from tests.property.plugin_world import Run, Waiting

_BEGUN = re.compile(r"\w+\([^)\n]*\)[^\n]{0,60}(?:in a turn that ended without an answer|…)")
"""A tool call of a turn that failed, which later turns are shown, whole or cut."""

_WORD = re.compile(r"\bw\d+x")
_MEMORY = re.compile(r'<input name="(state|playbook|warnings)">.*?</input>', re.DOTALL)
_COMMITS = {CommitKind.COMMIT, CommitKind.KEPT}


class Promises:
    """Compares what the stores hold with what the runs brought and what their clients saw."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.waiting: list[Waiting] = []
        self.rules: list[str] = []
        self.undone: set[str] = set()
        """Words of turns of which nothing stands."""
        self._kept: Mapping[str, Interaction] = {}
        self._history: Sequence[JournalEntry] = ()
        self._version = 0

    async def check(self, app: PlannedApp, runs: Sequence[Run]) -> None:
        """Check what must hold after `runs`, once nothing runs any more."""
        journal, evidence = app.container.journal, app.container.evidence
        self._history = list(await journal.history(KEY, limit=1_000))[::-1]
        versions = [entry.state.version for entry in self._history]
        assert versions == list(range(1, len(versions) + 1))
        self.runs.extend(runs)
        kept = {each.invocation_id: each for each in await evidence.list(KEY, limit=1_000)}
        self._check_evidence(kept)
        fresh = [each for name, each in kept.items() if self._kept.get(name) != each]
        answers = [each for each in fresh if each.outcome is Outcome.ANSWERED]
        assert len(answers) <= len(runs)
        if len(runs) == 1:
            self._check_resumed(runs[0], answers)
        for run in runs:
            self._check_end(run, [each for each in answers if run.plan.word in _answer(each)])
        self._check_rules(runs)
        for run in runs:
            self._check_requests(run)
        await self._check_state(app, runs)
        for word in self.undone:
            await _check_not_recalled(app, word)
        self._kept, self._version = kept, len(self._history)
        self.waiting += [waiting for run in runs for waiting in _waiting(run)]

    def pin_of(self, rule: str) -> str:
        """The id of a rule that stands."""
        return next(pin.id for pin in self._history[-1].state.pins if pin.text == rule)

    def _check_evidence(self, kept: Mapping[str, Interaction]) -> None:
        """What was answered stays as it was kept, one answer to a turn and to a state."""
        for name, before in self._kept.items():
            assert before.outcome is not Outcome.ANSWERED or kept.get(name) == before, name
        answered = [each for each in kept.values() if each.outcome is Outcome.ANSWERED]
        for numbers in ([e.turn for e in answered], [e.ccs_version for e in answered]):
            assert len(numbers) == len(set(numbers)), numbers
        for each in answered:
            entry = self._history[each.ccs_version - 1]
            assert entry.kind in _COMMITS
            assert entry.state.turn == each.turn

    def _check_end(self, run: Run, own: Sequence[Interaction]) -> None:
        """A run is answered and kept, or paused, or wholly undone."""
        if run.whole and run.answered and run.error is None and not run.pauses:
            assert own, f"not kept: {run}"
        # A host with several final responses commits at each; what fails later takes none back.
        assert run.answered or not (own and run.error), f"failed, and kept as answered: {run}"
        if not run.text:
            if own or self._commits(run):
                # What is run again is of the turn that it began as.
                self.undone -= {each.plan.word for each in self._same(run)}
            return
        assert all(run.text == each.input.text for each in own), f"kept under other words: {run}"
        if own:
            return
        if not self._commits(run):
            self.undone.add(run.plan.word)
            return
        assert run.error is None, f"failed, and stands: {run}"
        assert run.pauses if run.whole else run.may_pause, f"stands without an answer: {run}"

    def _check_resumed(self, run: Run, answers: Sequence[Interaction]) -> None:
        """A result that the newest turn waited for answers that turn, under its own words."""
        paused = self._history[self._version - 1] if self._version else None
        answered = {each.ccs_version for each in self._kept.values()}
        if paused is None or paused.kind not in _COMMITS or paused.state.version in answered:
            return
        if run.text or paused.invocation_id != run.invocation:
            return
        assert len(self._history) == self._version, f"compressed again: {run}"
        assert all(each.ccs_version == paused.state.version for each in answers), str(run)
        assert all(each.input.authority.may_rule for each in answers), str(run)

    def _check_rules(self, runs: Sequence[Run]) -> None:
        """Rules are those of the turns that stand; of runs side by side in either order.

        A rule of a turn that got no answer is in force in the next one.
        """
        head = self._history[-1].state if self._history else CommittedState()
        expected = set(self.rules)
        for run in runs:
            began = run if run.text else next((r for r in self._same(run) if r.text), None)
            brings_result = run.message is not None and not run.text
            if began is not None and not brings_result and self._commits(run):
                expected |= {began.rule} - {""}
        lost = {run.rule for run in (*self.runs, *runs)}
        assert expected <= set(head.ccs.constraints) <= expected | lost
        assert ccs_tokens(head.ccs) <= Limits().ccs_tokens
        self.rules = list(head.ccs.constraints)

    def _check_requests(self, run: Run) -> None:
        """Nothing of other turns but through memory; each call with its result; each rule.

        Of a turn of which nothing stands the user's own words may be shown, and no others.
        """
        own = {run.plan.word} | {each.plan.word for each in self._same(run)}
        own |= set(_WORD.findall(" ".join(each.rule for each in self.runs)))
        for role, request in run.plan.seen:
            text = without_numbers(_BEGUN.sub("", prompt_text(request)))
            for each in self.runs:
                # What the user said stands until it is read, also where no answer came.
                text = text.replace(each.text, "") if each.text else text
            stale = (set(_WORD.findall(text)) & self.undone) - own
            assert not stale, f"{role} was sent words of undone turns: {stale} {run}"
            if role == "generator":
                others = set(_WORD.findall(_MEMORY.sub("", text))) - own
                assert not others, f"words of other turns: {others} {_shape(request)} {run}"
                _check_pairs(request, run)
                self._check_shown(request, run)

    def _check_shown(self, request: LlmRequest, run: Run) -> None:
        if run.error is not None or not run.whole or not run.answered:
            return  # It ended before its commit: nothing is there to compare with.
        shown = state_of(read_tagged(prompt_text(request))["state"])
        committed = [
            (entry.state.turn, entry.state.ccs.constraints, entry.state.ccs.episodic_trace)
            for entry in self._history
            if entry.kind in _COMMITS and run.invocation in {"", entry.invocation_id}
        ]
        seen = (shown.turn, shown.ccs.constraints, shown.ccs.episodic_trace)
        assert seen in committed or not committed, f"a state that was never committed: {run}"

    async def _check_state(self, app: PlannedApp, runs: Sequence[Run]) -> None:
        """What ADK keeps between turns is the journal's, and nothing beside it."""
        session = await app.sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        state = session.state if session else {}
        assert set(state) <= PERSISTED
        if state.get(CCS) is None:
            return
        held = CommittedState.from_state(state[CCS])
        assert self._history[held.version - 1].state == held
        if len(runs) == 1 and runs[0].text and runs[0].whole and runs[0].answered:
            assert runs[0].error or held == self._history[-1].state, f"behind: {runs[0]}"

    def _commits(self, run: Run) -> list[JournalEntry]:
        """What stands of the states that were committed in a run."""
        return [
            entry
            for entry in self._history[self._version :]
            if entry.invocation_id == run.invocation and entry.kind in _COMMITS
        ]

    def _same(self, run: Run) -> list[Run]:
        """The runs of the same invocation, oldest first."""
        return [r for r in self.runs if run.invocation and r.invocation == run.invocation]


async def _check_not_recalled(app: PlannedApp, word: str) -> None:
    found = await app.container.artifacts.recall(RecallQuery(key=KEY, text=word, limit=20))
    assert not [
        each for each in found.candidates if word in _words(_BEGUN.sub("", each.artifact.content))
    ]


def _check_pairs(request: LlmRequest, run: Run) -> None:
    """Every call has one result behind it; ADK takes the ids that it made out of requests."""
    waiting: list[tuple[str, str]] = []
    named: set[str] = set()
    reported = f"{_shape(request)} {run}"
    for part in (part for content in request.contents for part in content.parts or []):
        if (call := part.function_call) is not None:
            assert not call.id or call.id not in named, f"a call is doubled: {reported}"
            named.add(call.id or "")
            waiting.append((call.id or "", call.name or ""))
        if (result := part.function_response) is not None:
            answers = (result.id or "", result.name or "")
            assert answers in waiting, f"a result without its call: {reported}"
            waiting.remove(answers)
    # Beside a call that a person must answer ADK asks the model already for the others.
    left = [name for _, name in waiting if name not in WAITING_TOOLS]
    assert not left, f"a call without its result: {reported}"


def _shape(request: LlmRequest) -> list[str]:
    parts = [part for content in request.contents for part in content.parts or []]
    return [
        f"call {part.function_call.name}"
        if part.function_call
        else f"result {part.function_response.name}"
        if part.function_response
        else (part.text or "")[:40]
        for part in parts
    ]


def _waiting(run: Run) -> list[Waiting]:
    return [
        Waiting(call, event)
        for event in run.events
        if not event.partial
        for call in event.get_function_calls()
        if call.id in (event.long_running_tool_ids or ())
    ]


def _answer(interaction: Interaction) -> list[str]:
    return _words(interaction.decision.final_answer if interaction.decision else "")


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
