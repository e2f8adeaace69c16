"""Offline learning: epochs, resuming, failures, and the held-out score that decides."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace import Container, build_container
from acc_ace.adk.student_models import STUDENTS, StudentModels
from acc_ace.errors import InputError, ModelUnavailable, NotFoundError, SessionBusyError, StoreError
from acc_ace.ext.lab import run_copy
from acc_ace.ext.lab.learning_plan import best, order, split
from acc_ace.ext.lab.offline_learning import PATIENCE
from acc_ace.ext.lab.offline_run import continue_run, read_samples, run_folder, started
from acc_ace.ext.lab.run_state import HeldoutScore, RunOptions, RunState, Sample
from config import Settings
from schemas.base import PlaybookScope
from schemas.bullet import Bullet
from tests.contract.playbooks import add
from tests.fakes.clock import FixedClock
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.scripted_llm import ScriptedLlm

APP = "acc_ace"
MAIN = PlaybookScope(APP)
SAMPLES = [Sample(text=f"What is the code of gate {n}?", target=str(n % 3)) for n in range(12)]


class KilledError(Exception):
    """Stands for kill -9: nothing after it runs."""


@dataclass
class School:
    """A student that answers what its playbook says of a gate, and learns from known answers."""

    folder: Path
    insight: str = "Gate {gate} has code {truth}."
    llm: ScriptedLlm = field(default_factory=ScriptedLlm)
    seen: list[RunState] = field(default_factory=list)
    database_url: str | None = None

    def __post_init__(self) -> None:
        store = "postgres" if self.database_url else "sqlite"
        settings = Settings(store=store, data_dir=self.folder, database_url=self.database_url)
        self.container: Container = build_container(settings, FixedClock())
        self.llm.on("generator", self._answer)
        self.llm.on("reflector", self._reflect)
        self.llm.on("curator", self._curate)

    async def learn(
        self,
        samples: Sequence[Sample] = SAMPLES,
        *,
        apart: Sequence[Sample] = (),
        die_after: int | None = None,
        resume: bool = False,
        restart: bool = False,
        **options: object,
    ) -> RunState:
        run = RunOptions(app=APP, **options)

        def progress(state: RunState) -> None:
            self.seen.append(state)
            if die_after is not None and len(self.seen) > die_after:
                raise KilledError

        models = dict.fromkeys(STUDENTS, self.llm)
        async with (
            StudentModels(self.container, models=models) as students,
            started(
                self.container, samples, run, apart=apart, resume=resume, restart=restart
            ) as the_run,
        ):
            return await continue_run(self.container, the_run, students, progress=progress)

    async def bullets(self) -> tuple[Bullet, ...]:
        """Those of the app."""
        return (await self.container.playbooks.load(MAIN)).playbook.bullets

    async def learnt(self, state: RunState) -> tuple[Bullet, ...]:
        """Those of the run's own playbook."""
        folder = run_folder(self.container, state.run)
        async with run_copy.opened(folder, self.container.clock) as copy:
            return (await copy.load(MAIN)).playbook.bullets

    def _answer(self, request: LlmRequest) -> dict[str, object]:
        inputs = read_tagged(prompt_text(request))
        gate = inputs["current_input"]["text"].rstrip("?").split()[-1]
        for line in inputs["playbook"].splitlines():
            if f"Gate {gate} " in line or "Every gate" in line:
                code = line.rstrip(".").split()[-1]
                return {"final_answer": code, "bullet_ids": [line.split("]")[0].strip("[")]}
        return {"final_answer": "9"}

    def _reflect(self, request: LlmRequest) -> dict[str, object]:
        inputs = read_tagged(prompt_text(request))
        given = [item["ground_truth"] for item in inputs["feedback"] if "ground_truth" in item]
        right = inputs["generation"]["final_answer"] in given
        tags = [
            {"id": item["id"], "tag": "helpful" if right else "harmful"}
            for item in inputs["used_bullets"]
        ]
        gate = inputs["current_input"]["text"].rstrip("?").split()[-1]
        insight = self.insight.format(gate=gate, truth=given[0]) if given and not right else ""
        return {"bullet_tags": tags, "key_insight": insight}

    def _curate(self, request: LlmRequest) -> dict[str, object]:
        insight = read_tagged(prompt_text(request))["reflection"]["key_insight"]
        operation = {"type": "ADD", "section": "gates", "content": insight}
        return {"operations": [operation] if insight else []}


async def test_what_helps_on_held_out_samples_becomes_the_playbook(tmp_path: Path) -> None:
    # Gates come back: each text is there twice, so half of every pair could be held out.
    school = School(tmp_path, insight="Every gate has code {truth}.")
    same = [Sample(text=f"What is the code of gate {n}?", target="2") for n in range(10)]
    state = await school.learn(same, heldout=0.3)
    assert state.outcome == "promoted"
    assert [score.score for score in state.scores] == [0.0, 1.0]
    assert [bullet.content for bullet in await school.bullets()] == ["Every gate has code 2."]
    assert (await school.container.playbooks.load(MAIN)).version == state.promoted_version


async def test_a_version_that_is_worse_on_held_out_samples_is_not_promoted(tmp_path: Path) -> None:
    school = School(tmp_path, insight="Every gate has code 7.")
    await school.learn(SAMPLES[:1], heldout=0.0, seed=9)
    same = [Sample(text=f"What is the code of gate {n}?", target="9") for n in range(1, 10)]
    odd = [*same, Sample(text="What is the code of gate 77?", target="7")]
    # A seed that leaves the odd one to learn from: it teaches what is wrong everywhere else.
    seed = next(s for s in range(50) if odd[-1] in split(odd, _options(s)).train)
    state = await school.learn(odd, heldout=0.3, seed=seed)
    assert [score.score for score in state.scores] == [1.0, 0.0]
    assert state.outcome == "kept"
    assert await school.bullets() == ()
    assert [item.content for item in await school.learnt(state)] == ["Every gate has code 7."]


async def test_what_is_no_better_than_before_is_not_promoted(tmp_path: Path) -> None:
    state = await School(tmp_path).learn(heldout=0.25, epochs=2)
    assert [score.score for score in state.scores] == [0.0, 0.0, 0.0]
    assert state.outcome == "kept"


async def test_without_held_out_samples_nothing_is_decided(tmp_path: Path) -> None:
    school = School(tmp_path)
    state = await school.learn(heldout=0.0)
    assert state.outcome == "undecided"
    assert await school.bullets() == ()
    assert len(await school.learnt(state)) == 12


async def test_more_epochs_tag_what_the_first_one_learnt(tmp_path: Path) -> None:
    school = School(tmp_path)
    state = await school.learn(heldout=0.0, epochs=3)
    learnt = await school.learnt(state)
    assert len(learnt) == 12
    assert {bullet.helpful for bullet in learnt} == {2}


@pytest.mark.parametrize("feedback", ["none", "reward"])
async def test_without_ground_truth_the_reflector_never_sees_it(
    tmp_path: Path, feedback: str
) -> None:
    school = School(tmp_path)
    state = await school.learn(heldout=0.0, feedback=feedback)
    shown = [
        read_tagged(prompt_text(request))["feedback"]
        for request in school.llm.requests_of("reflector")
    ]
    assert shown == [[{"reward": -1.0}] if feedback == "reward" else []] * 12
    assert await school.learnt(state) == ()
    assert all(
        "target" not in prompt_text(request) for request in school.llm.requests_of("generator")
    )


async def test_samples_without_a_target_are_learnt_from_without_one(tmp_path: Path) -> None:
    school = School(tmp_path)
    state = await school.learn([Sample(text="Gate 1?"), Sample(text="Gate 2?")], heldout=0.0)
    assert (state.outcome, state.scored, state.failures) == ("undecided", 0, 0)
    with pytest.raises(InputError, match="have no 'target'"):
        await school.learn([Sample(text="Gate 1?"), Sample(text="Gate 2?")], heldout=0.5)


@pytest.mark.parametrize("die_after", [0, 1, 4, 9, 10, 14, 19, 21])
async def test_a_resumed_run_ends_with_the_digest_of_an_uninterrupted_one(
    tmp_path: Path, die_after: int
) -> None:
    whole = await School(tmp_path / "whole").learn(heldout=0.25, epochs=2)
    killed = School(tmp_path / "killed")
    with pytest.raises(KilledError):
        await killed.learn(heldout=0.25, epochs=2, die_after=die_after)
    resumed = School(tmp_path / "killed")
    state = await resumed.learn(heldout=0.25, epochs=2, resume=True)
    assert state.digest == whole.digest
    assert state.scores == whole.scores
    assert (state.outcome, state.failures) == (whole.outcome, 0)


async def test_a_run_on_postgresql_is_killed_and_resumed_all_the_same(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    whole = await School(tmp_path / "whole").learn(heldout=0.25, epochs=2)
    url = postgres.clean_database()
    killed = School(tmp_path / "killed", database_url=url)
    with pytest.raises(KilledError):
        await killed.learn(heldout=0.25, epochs=2, die_after=13)
    await killed.container.close()
    resumed = School(tmp_path / "killed", database_url=url)
    state = await resumed.learn(heldout=0.25, epochs=2, resume=True)
    await resumed.container.close()
    assert (state.digest, state.scores) == (whole.digest, whole.scores)


async def test_a_sample_that_was_committed_but_not_noted_is_not_applied_twice(
    tmp_path: Path,
) -> None:
    whole = await School(tmp_path / "whole").learn(heldout=0.0, epochs=2)
    killed = School(tmp_path / "killed")
    with pytest.raises(KilledError):
        await killed.learn(heldout=0.0, epochs=2, die_after=17)
    # The file is one sample behind the playbook, as after a kill between the two.
    file = next((tmp_path / "killed" / "learning").glob("*.json"))
    behind = json.loads(file.read_text())
    file.write_text(json.dumps({**behind, "position": behind["position"] - 1}))
    state = await School(tmp_path / "killed").learn(heldout=0.0, epochs=2, resume=True)
    assert state.digest == whole.digest


async def test_a_run_that_has_begun_is_not_begun_again_unasked(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        await School(tmp_path).learn(die_after=3)
    with pytest.raises(InputError, match="--resume to continue"):
        await School(tmp_path).learn()
    state = await School(tmp_path).learn(restart=True)
    assert state.outcome


async def test_a_restart_cut_short_before_its_old_playbook_is_deleted_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KilledError):
        await School(tmp_path).learn(heldout=0.25, epochs=2, die_after=13)

    def refused(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", refused)
        with pytest.raises(StoreError, match="cannot be deleted"):
            await School(tmp_path).learn(heldout=0.25, epochs=2, restart=True)
    await begins_anew(tmp_path)


async def test_a_restart_cut_short_before_its_first_note_begins_anew(tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        await School(tmp_path).learn(heldout=0.25, epochs=2, die_after=13)
    note = next((tmp_path / "learning").glob("*.json"))
    # Nothing can be noted while a folder is where the note is written.
    note.with_suffix(".new").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        await School(tmp_path).learn(heldout=0.25, epochs=2, restart=True)
    note.with_suffix(".new").rmdir()
    await begins_anew(tmp_path)


async def begins_anew(folder: Path) -> None:
    """The run goes on as one that nobody has begun."""
    whole = await School(folder / "whole").learn(heldout=0.25, epochs=2)
    school = School(folder)
    state = await school.learn(heldout=0.25, epochs=2, resume=True)
    assert (school.seen[0].epoch, school.seen[0].position, school.seen[0].calls) == (0, 0, 0)
    assert (state.digest, state.scores) == (whole.digest, whole.scores)
    assert await school.learnt(state) == await School(folder / "whole").learnt(state)


async def test_a_resumed_run_that_is_finished_calls_no_model(tmp_path: Path) -> None:
    done = await School(tmp_path).learn()
    again = School(tmp_path)
    assert await again.learn(resume=True) == done
    assert again.llm.requests == []


async def test_failures_are_counted_and_end_nothing(tmp_path: Path) -> None:
    school = School(tmp_path)
    tries = iter(range(1_000))

    def sometimes(request: LlmRequest) -> dict[str, object]:
        if next(tries) % 3 == 2:
            raise ModelUnavailable("generator: away")
        return school._answer(request)

    school.llm = ScriptedLlm().on("generator", sometimes)
    school.llm.on("reflector", school._reflect).on("curator", school._curate)
    state = await school.learn(heldout=0.0)
    assert (state.failures, state.outcome) == (4, "undecided")
    assert "away" in state.last_error
    assert len(await school.learnt(state)) == 8


async def test_a_model_that_is_away_ends_the_run_and_no_sample_is_lost(tmp_path: Path) -> None:
    whole = await School(tmp_path / "whole").learn(heldout=0.0, epochs=2)
    away = School(tmp_path / "away")
    calls = iter(range(1_000))

    def once_away(request: LlmRequest) -> dict[str, object]:
        if next(calls) >= 5:
            raise ModelUnavailable("generator: away")
        return away._answer(request)

    away.llm = ScriptedLlm().on("generator", once_away)
    away.llm.on("reflector", away._reflect).on("curator", away._curate)
    with pytest.raises(ModelUnavailable, match="can be resumed"):
        await away.learn(heldout=0.0, epochs=2)
    assert len(away.llm.requests_of("generator")) == 5 + PATIENCE
    state = await School(tmp_path / "away").learn(heldout=0.0, epochs=2, resume=True)
    assert state.digest == whole.digest


async def test_scores_with_unanswered_samples_decide_nothing(tmp_path: Path) -> None:
    school = School(tmp_path)
    school.llm = ScriptedLlm().on("generator", ModelUnavailable("away"))
    state = await school.learn(SAMPLES[:6], heldout=0.5)
    assert state.scores[0].answered == 0
    assert state.outcome == "undecided"


async def test_a_playbook_that_moved_on_is_not_overwritten(tmp_path: Path) -> None:
    school = School(tmp_path, insight="Every gate has code {truth}.")
    same = [Sample(text=f"What is the code of gate {n}?", target="2") for n in range(10)]
    with pytest.raises(KilledError):
        await school.learn(same, heldout=0.3, die_after=2)
    other = await School(tmp_path, insight="Every gate surely has code {truth}.").learn(
        same, heldout=0.3, seed=5
    )
    assert other.outcome == "promoted"
    before = await school.bullets()
    state = await School(tmp_path, insight="Every gate has code {truth}.").learn(
        same, heldout=0.3, resume=True
    )
    assert state.outcome == "conflict"
    assert await school.bullets() == before


async def test_a_run_is_done_by_one_process_at_a_time(tmp_path: Path) -> None:
    school = School(tmp_path)
    options = RunOptions(app=APP)
    async with started(school.container, SAMPLES, options):
        with pytest.raises(SessionBusyError, match="another process is doing the run learn-"):
            await School(tmp_path).learn(resume=True)


async def test_a_run_whose_playbook_is_gone_says_so(tmp_path: Path) -> None:
    school = School(tmp_path)
    with pytest.raises(KilledError):
        await school.learn(die_after=3)
    shutil.rmtree(run_folder(school.container, school.seen[0].run))
    with pytest.raises(NotFoundError, match="use --restart"):
        await School(tmp_path).learn(resume=True)


async def test_what_a_run_adds_is_logged_step_by_step_and_users_stay_named(
    tmp_path: Path,
) -> None:
    school = School(tmp_path, insight="Every gate has code {truth}.")
    before = await add(school.container, "Ask before you open.", scope=MAIN, user="aiko")
    same = [Sample(text=f"What is the code of gate {n}?", target="2") for n in range(10)]
    state = await school.learn(same, heldout=0.3)
    assert (state.outcome, state.promoted_version) == ("promoted", before.version + 1)
    assert [bullet.origin and bullet.origin.user for bullet in await school.bullets()] == [
        "aiko",
        None,
    ]
    assert [bullet.origin for bullet in await school.learnt(state)] == [None, None]
    log = await school.container.playbooks.deltas(MAIN)
    assert [record.kind for record in reversed(log)][:3] == ["ADD", "PROMOTE", "ADD"]
    assert {record.session for record in log[:-2]} == {f"learn-{state.run}"}
    assert (
        await school.container.playbooks.replay(MAIN)
        == (await school.container.playbooks.load(MAIN)).playbook
    )


async def test_a_run_that_was_killed_after_it_published_publishes_once(tmp_path: Path) -> None:
    school = School(tmp_path, insight="Every gate has code {truth}.")
    same = [Sample(text=f"What is the code of gate {n}?", target="2") for n in range(10)]
    done = await school.learn(same, heldout=0.3)
    file = next((tmp_path / "learning").glob("*.json"))
    ended = json.loads(file.read_text())
    file.write_text(json.dumps({**ended, "outcome": "", "promoted_version": None}))
    state = await School(tmp_path, insight="x").learn(same, heldout=0.3, resume=True)
    assert (state.outcome, state.promoted_version) == ("promoted", done.promoted_version)
    assert (await school.container.playbooks.load(MAIN)).version == done.promoted_version


def test_a_question_is_never_learnt_from_and_scored_on() -> None:
    twice = [*SAMPLES, *SAMPLES]
    for seed in range(20):
        parts = split(twice, _options(seed))
        assert not {s.text for s in parts.train} & {s.text for s in parts.heldout}
        assert len(parts.train) + len(parts.heldout) == len(twice)
        assert len({s.text for s in parts.heldout}) == 4


def test_every_epoch_takes_each_sample_once_in_an_order_of_its_own() -> None:
    first, second = order(30, _options(1), 0), order(30, _options(1), 1)
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second
    assert first == order(30, _options(1), 0)


def test_of_equal_versions_the_oldest_is_best() -> None:
    scores = [_score(0, 0.5), _score(1, 0.7), _score(2, 0.7)]
    winner = best(scores)
    assert winner is not None
    assert winner.epoch == 1
    assert best([]) is None
    assert best([_score(0, 0.5), _score(1, 0.9).model_copy(update={"answered": 8})]) is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("not json", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ('{"target": "x"}', "line 2: neither 'question' nor 'context'"),
        ('{"question": "x", "target": []}', "line 2: 'target' is neither"),
    ],
)
def test_a_data_set_that_is_none_is_refused_by_file_and_line(
    tmp_path: Path, line: str, complaint: str
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"question": "x"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError, match=complaint):
        read_samples(path)


def test_the_finance_format_and_ours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(
        '{"context": "Use formula X.", "target": "2.0"}\n\n'
        '{"question": "Why?", "context": "Because.", "target": 3}\n{"question": "How?"}\n',
        encoding="utf-8",
    )
    assert read_samples(path) == [
        Sample(text="Use formula X.", target="2.0"),
        Sample(text="Because.\n\nWhy?", target="3"),
        Sample(text="How?"),
    ]
    assert len(read_samples(path, limit=2)) == 2


def test_a_data_set_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.jsonl cannot be read"):
        read_samples(tmp_path / "absent.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n", encoding="utf-8")
    with pytest.raises(InputError, match="contains no samples"):
        read_samples(tmp_path / "empty.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_samples(tmp_path / "binary.jsonl")


def _options(seed: int) -> RunOptions:
    return RunOptions(app=APP, seed=seed, heldout=0.3)


def _score(epoch: int, score: float) -> HeldoutScore:
    return HeldoutScore(epoch=epoch, version=epoch, score=score, answered=10, samples=10)
