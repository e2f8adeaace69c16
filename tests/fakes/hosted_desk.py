"""A stranger's agent under the memory plugin, in a folder that a server hosts."""

from pathlib import Path

from google.adk.models.llm_request import LlmRequest

from acc_ace.config import Role
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.scripted_llm import Reply, ScriptedLlm, call

_AGENT = """
from google.adk.agents import LlmAgent
from google.adk.apps import App

from acc_ace import BoundedMemoryPlugin
from acc_ace.config import ROLES
from tests.fakes.confirmed_tool import refund
from tests.fakes.hosted_desk import TillLlm

root_agent = LlmAgent(name="till", model=TillLlm(), instruction="Be short.", tools=[refund])
memory = BoundedMemoryPlugin(models=dict.fromkeys(ROLES, TillLlm()))
app = App(name="desk", root_agent=root_agent, plugins=[memory])
"""
_BARE = (
    'from google.adk.agents import LlmAgent\n\nroot_agent = LlmAgent(name="bare", model="x/y")\n'
)


class TillLlm(ScriptedLlm):
    """Refunds when it is asked to, answers 'Done.' to the result, and 'Noted.' to all else."""

    async def _reply(self, role: Role | None, llm_request: LlmRequest) -> Reply:
        if role not in {None, "generator"}:
            return default_reply(role, prompt_text(llm_request))
        parts = [part for each in llm_request.contents for part in each.parts or []]
        if any(part.function_response for part in parts):
            return "Done."
        asked = any("Refund A1" in (part.text or "") for part in parts[-2:])
        return call("refund", order="A1", amount=50) if asked else "Noted."


def agents_folder(folder: Path) -> Path:
    """A folder of two apps: `desk` with the plugin, and `bare` without it."""
    for name, agent in (("desk", _AGENT), ("bare", _BARE)):
        (folder / name).mkdir(parents=True)
        (folder / name / "agent.py").write_text(agent, encoding="utf-8")
    return folder
