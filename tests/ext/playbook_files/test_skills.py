"""A section leaves as an Agent Skill that ADK loads, and comes back; other files stay outside."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.adk.skills import load_skill_from_dir
from google.adk.tools.skill_toolset import SkillToolset
from hypothesis import given

from acc_ace.core.playbook.playbook_form import Form, Reading
from acc_ace.errors import InputError
from acc_ace.ext.playbook_files.forms import read, write_files
from schemas.playbook import Playbook
from tests.ext.playbook_files.test_forms import playbooks

FRONT = "---\nname: desk\ndescription: How we work.\n---\n"
LESSON = "- [b-00001] helpful=1 harmful=0 neutral=0 :: Ask first.\n"


def taught() -> Playbook:
    first = Playbook().add_bullet("restarts", "Drain {node} first.").playbook
    return first.add_bullet("手順", "再起動の前に確認する。").playbook


def written(playbook: Playbook, folder: Path) -> list[Path]:
    skills: list[Path] = []
    for name, text in write_files(playbook, Form.SKILL).items():
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        skills.append(file.parent)
    return skills


def desk(folder: Path, text: str = FRONT + LESSON) -> Path:
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


@given(playbook=playbooks())
def test_ids_sections_words_and_counters_come_back(playbook: Playbook) -> None:
    if not playbook.bullets:
        with pytest.raises(InputError, match="no lessons to export"):
            write_files(playbook, Form.SKILL)
        return
    bullets = [
        bullet
        for text in write_files(playbook, Form.SKILL).values()
        for bullet in read(text).playbook.bullets
    ]
    shown = {"id", "section", "content", "helpful", "harmful", "neutral"}
    assert sorted(b.model_dump_json(include=shown) for b in bullets) == sorted(
        b.model_dump_json(include=shown) for b in playbook.bullets
    )


async def test_adk_loads_each_section_as_a_skill(tmp_path: Path) -> None:
    folders = written(taught(), tmp_path)
    skills = [load_skill_from_dir(folder) for folder in folders]
    assert [folder.name for folder in folders] == [skill.name for skill in skills]
    assert skills[0].name == "restarts"
    assert skills[0].description.startswith("Lessons from practice on restarts.")
    tools = await SkillToolset(skills).get_tools()
    load = next(tool for tool in tools if tool.name == "load_skill")
    context = cast(Any, SimpleNamespace(state={}, agent_name="desk", invocation_id="i-1"))
    loaded = await load.run_async(args={"skill_name": "restarts"}, tool_context=context)
    assert "[b-00001] helpful=0 harmful=0 neutral=0 :: Drain {node} first." in str(loaded)


def test_a_folder_of_skills_is_read_at_once(tmp_path: Path) -> None:
    written(taught(), tmp_path)
    playbook, passed_over, _ = read(tmp_path)
    assert passed_over == 0
    assert {b.id: b.content for b in playbook.bullets} == {
        b.id: b.content for b in taught().bullets
    }


def test_sections_whose_names_look_alike_are_skills_of_their_own() -> None:
    both = Playbook().add_bullet("on call", "One.").playbook.add_bullet("On-Call", "Two.").playbook
    assert len(write_files(both, Form.SKILL)) == 2


def test_scripts_and_other_files_of_a_skill_are_named_and_not_read(tmp_path: Path) -> None:
    folder = desk(tmp_path / "desk")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_text(f"touch {tmp_path / 'ran'}\n")
    (folder / "notes.md").write_text("- [b-00002] helpful=1 harmful=0 :: Not this.\n")
    for source in (folder, folder / "SKILL.md"):
        reading = read(source)
        assert [bullet.content for bullet in reading.playbook.bullets] == ["Ask first."]
        assert [reason.partition("desk/")[2] for reason in reading.left_out] == [
            "notes.md: neither run nor stored",
            "scripts/run.sh: neither run nor stored",
        ]
    assert not (tmp_path / "ran").exists()


def test_the_lists_of_a_strangers_skill_are_lessons_only_if_somebody_says_so(
    tmp_path: Path,
) -> None:
    folder = desk(tmp_path / "desk", FRONT + "\nGreet.\n\n- Ring twice.\n")
    with pytest.raises(InputError, match="'--format skill'"):
        read(folder)
    reading = read(folder, Form.SKILL)
    assert [(b.section, b.content) for b in reading.playbook.bullets] == [("desk", "Ring twice.")]
    assert reading.left_out == ("desk, line 6: no lesson: 'Greet.'",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LESSON, "no front matter"),
        ("---\nname: desk\n---\n" + LESSON, "no description"),
        ("---\nname: [desk\ndescription: x\n---\n" + LESSON, "not YAML"),
        ("---\n- name\n---\n" + LESSON, "no name"),
        (f"---\nname: desk\ndescription: {'x' * 20_000}\n---\n{LESSON}", "no front matter"),
        ("---\na: &a [x, x]\nname: *a\ndescription: x\n---\n" + LESSON, "aliases"),
        (f"---\nname: {'[' * 9_000}\n---\n{LESSON}", "not YAML"),
        (FRONT + "x" * 1_000_001, "over 1,000,000 characters"),
        (FRONT + "- " + "x" * 200_000, "line 5: longer"),
        (FRONT + "[b-00001] helpful=1 harmful=0 a\n", "line 5: not a bullet"),
    ],
)
def test_a_skill_that_is_broken_is_told_what_is_wrong(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        read(desk(tmp_path / "desk", text))


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = desk(tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(outside / "SKILL.md", inside / "SKILL.md")
    with pytest.raises(InputError, match="a link"):
        read(inside)
    (inside / "SKILL.md").unlink()
    os.symlink(outside, inside / "desk")
    with pytest.raises(InputError, match=r"no SKILL\.md"):
        read(inside)
    with pytest.raises(InputError, match="read as a skill, not as json"):
        read(outside, Form.JSON)


@pytest.mark.parametrize("section", ["0", "no", "null", "2026-11-30", "1e3"])
def test_a_section_that_yaml_takes_for_no_text_is_a_name(tmp_path: Path, section: str) -> None:
    (folder,) = written(Playbook().add_bullet(section, 'Say "---" # so: {x}').playbook, tmp_path)
    assert load_skill_from_dir(folder).name == section
    assert len(read(folder).playbook.bullets) == 1


def test_no_section_names_a_path(tmp_path: Path) -> None:
    odd = Playbook().add_bullet("../../etc/passwd", "x").playbook
    (folder,) = written(odd, tmp_path)
    assert folder.parent == tmp_path
    assert cast(Any, load_skill_from_dir(folder)).name == "etc-passwd"
    assert isinstance(read(folder), Reading)
