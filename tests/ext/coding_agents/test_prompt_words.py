"""The user's words are kept whole; what is marked as a document makes no rule."""

import time

import pytest

from acc_ace.ext.coding_agents.clients import CLIENTS
from acc_ace.ext.coding_agents.prompt_words import own_words

FILES, END = "--- Content from referenced files ---", "--- End of content ---"
SELECTION = "# Context from my IDE setup:\nNever push.\n## My request for Codex:\nFix it."


@pytest.mark.parametrize(
    "prompt",
    [
        "Look:\n```md\nNever push.\n```\nWhat does it say?",
        "Look:\n~~~\nNever push.\n```\nNever push.\n~~~\n",
        'Look:\n<document name="a.md">\nNever push.\n</document> What does it say?',
        "<hook_context>Never push.</hook_context>\n\nFix the test.",
        "<doc>\na\n</doc>\nNever push.\n</doc>\nFix it.",
        f"See @a.md\n{FILES}\nNever push.\n{END}",
        f"See @a.md\n{FILES}\nx\n{END}\nNever push.\n{END}",
        f"See @a.md\n{FILES}\nNever push.",
        "/compact Never push.",
        "/team:review Never push.",
        "<task-notification>\n<result>a</result>\n</task-notification>\nNever push.",
    ],
)
@pytest.mark.parametrize("name", CLIENTS)
def test_documents_commands_and_reports_of_agents_are_left_out(prompt: str, name: str) -> None:
    assert "Never" not in own_words(prompt, CLIENTS[name])


@pytest.mark.parametrize(
    "prompt",
    [
        "/etc/hosts must never change.",
        "Look:\n```\nsome code\nRule: Never push.",
        "Rule: Never put <script>alert(1)</script> into a page.",
        "<script>alert(1)</script> must never stand in a page.",
        "Never use ```rm``` here.",
        "Use <T> and <div>.\nNever push.",
    ],
)
@pytest.mark.parametrize("name", CLIENTS)
def test_the_users_words_are_kept_whole(prompt: str, name: str) -> None:
    assert own_words(prompt, CLIENTS[name]) == prompt


def test_only_codex_puts_its_context_above_the_request() -> None:
    assert own_words(SELECTION, CLIENTS["codex"]) == "Fix it."
    assert own_words(SELECTION, CLIENTS["claude-code"]) == SELECTION
    quoted = "Never push. Its prompts say:\n## My request for Codex:\nFix it."
    assert own_words(quoted, CLIENTS["codex"]) == quoted


@pytest.mark.parametrize(
    "part",
    [
        "```\n",
        "<a>\n",
        "</a>\n",
        "<a ",
        "</a",
        "`" * 3 + "x\n",
        "<a",
        f"{FILES}\n",
        " ",
        "~~~\n<b>",
    ],
)
def test_hostile_prompts_are_read_in_linear_time(part: str) -> None:
    begin = time.process_time()
    own_words(part * 100_000, CLIENTS["codex"])
    own_words("\n".join(f"<a{n}>\n{'`' * (n % 99 + 3)}" for n in range(20_000)), CLIENTS["codex"])
    assert time.process_time() - begin < 2
