"""README is short, says where each figure was measured, and its ten lines give an agent memory."""

import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

import acc_ace
from tests.fakes.extensions import needs

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.ja.md")
RULE = "Never restart db-01 during business hours."


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_readme_has_at_most_800_words() -> None:
    assert len(text("README.md").split()) <= 800


def test_both_readmes_show_the_same_pages_pictures_and_commands() -> None:
    shown = []
    for name in READMES:
        links = re.findall(r"\]\(([^)]+)\)", text(name))
        blocks = re.findall(r"```sh\n(.*?)```", text(name), re.DOTALL)
        commands = [line.partition("#")[0].strip() for line in "".join(blocks).splitlines()]
        shown.append([*(link for link in links if link not in READMES), *commands])
    english, japanese = shown
    assert english == japanese


@pytest.mark.parametrize("name", READMES)
def test_each_figure_stands_beside_a_link_to_where_it_was_measured(name: str) -> None:
    prose = re.sub(
        r"```.*?```|`[^`]*`|!?\[[^]]*\]\(http[^)]*\)|Python 3\.11", "", text(name), flags=re.S
    )
    paragraphs = re.split(r"\n\n|\n- ", re.sub(r"!\[.*?\]\(.*?\)", "", prose))
    figures = [
        each for each in paragraphs if re.search(r"\d\d|\d,\d", re.sub(r"\(docs[^)]*", "", each))
    ]
    assert len(figures) > 3
    measured = ("benchmarks.md#", "tutorial.md")
    assert [each for each in figures if not any(link in each for link in measured)] == []


@needs("embedded")
@pytest.mark.parametrize("name", READMES)
async def test_its_ten_lines_give_an_agent_a_memory(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path))
    [block] = re.findall(r"```python\n(.*?)```", text(name), re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    defined: dict[str, Any] = {}
    container = acc_ace.build_container(acc_ace.Settings(store="memory"))
    plugin = acc_ace.BoundedMemoryPlugin
    monkeypatch.setattr(acc_ace, "BoundedMemoryPlugin", lambda: plugin(container), raising=False)
    exec(block.replace("gemini-3.5-flash", "embedded/rules"), defined)  # noqa: S102 - our own
    app = defined["app"]
    assert isinstance(app, App)
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name=app.name, user_id="aiko")
    answers = []
    for said in (RULE, "Restart db-01 now."):
        message = types.UserContent(said)
        async for event in runner.run_async(
            user_id="aiko", session_id=session.id, new_message=message
        ):
            answers += [part.text or "" for part in (event.content or message).parts or []]
    await runner.close()
    await container.close()
    assert any(f'"{RULE}" stands in the way' in answer for answer in answers)
