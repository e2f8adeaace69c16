"""Tools that use ADK's memory and artifacts get ours, whichever way the turn comes."""

from google.adk.tools import ToolContext
from google.genai import types

from tests.contract.values import artifact
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import KEY, Talk, seen, settings


async def look_up(query: str, tool_context: ToolContext) -> dict[str, list[str]]:
    """Look into the user's memory, as ADK's LoadMemoryTool does.

    Args:
        query: What to look for.
    """
    found = await tool_context.search_memory(query)
    texts = [part.text for memory in found.memories for part in memory.content.parts or []]
    return {"found": [text for text in texts if text]}


async def file_away(text: str, tool_context: ToolContext) -> dict[str, int]:
    """Keep a text as a file.

    Args:
        text: What to keep.
    """
    version = await tool_context.save_artifact("note.txt", types.Part(text=text))
    return {"version": version}


def talk_with(tool: str) -> Talk:
    here = f"tests.pipeline.test_tools_with_services:{tool}"
    return Talk(settings().model_copy(update={"tools": (here,)}))


async def test_a_tool_that_searches_memory_finds_what_is_in_our_store() -> None:
    talk = talk_with("look_up")
    await talk.container.artifacts.add(
        [artifact("doc:bread", "The walnut bread is in the cellar.", tenant=KEY.tenant)]
    )
    talk.llm.on("generator", call("look_up", query="walnut bread"), {"final_answer": "done"})
    await talk.say("Where is it?")
    assert "in the cellar" in seen(talk.llm.requests_of("generator")[-1])


async def test_a_file_that_a_tool_saves_is_exported_and_erased_with_its_user() -> None:
    talk = talk_with("file_away")
    talk.llm.on("generator", call("file_away", text="walnut"), {"final_answer": "done"})
    await talk.say("Keep that.")
    files = [
        record["value"]
        async for record in talk.conversation.export_user(KEY.user)
        if record["kind"] == "file"
    ]
    assert {"text": "walnut"} in files
    erased = await talk.conversation.erase_user(KEY.user)
    assert erased[KEY.app]["files"] == 1
    assert await residue(talk.conversation.container, KEY.tenant) == {}
