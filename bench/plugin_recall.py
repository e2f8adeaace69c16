"""A fact of turn 5, asked for at turn 30 of an agent under the plugin.

    python -m bench.plugin_recall

The agent is somebody else's, with one model for its answers and for its memory, as the plugin does
by default. The model is scripted: it writes nothing of the fact into the state, answers from what
the request shows, and otherwise calls the tool that the plugin offers. Half of the questions name
what they ask for; the others only say what it is needed for, so that the model has to look it up.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator
from itertools import islice
from typing import Final, NamedTuple

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.plugin import BoundedMemoryPlugin
from bench.workload import InstantLlm, inputs

TOOL: Final = "search_evidence"
FACT_TURN, ASK_TURN = 5, 30

_FACTS: Final = (
    # what, value, a question that does not name it
    ("the gate code of the depot", "4711", "The courier is at the door. What does he type?"),
    ("the invoice number of Brandt", "INV-2093", "Accounting calls. What do they look for?"),
    ("the locker of Mira", "B17", "Mira is back. Where are her things?"),
    ("the phone of the night guard", "0171-5550137", "It is two at night. Whom do I ring?"),
    ("the rack of the backup server", "R42", "The technician is here. Where does he go?"),
    ("the port of the staging database", "54329", "The tunnel fails. Which one was it?"),
    ("the supplier of the pumps", "Hallgrim", "One broke again. From whom is it?"),
    ("the booking number of the hotel", "XK77QP", "I am at the desk. What do I show?"),
    ("the seat of my flight", "23A", "We are boarding. Where do I sit?"),
    ("the meeting room of the board", "Aalto", "They wait already. Where?"),
    ("the contract number of the cleaners", "C-5518", "They ask for a reference. Which?"),
    ("the parking bay of the van", "P3-118", "I am in the garage. Where is it?"),
    ("the budget of the relaunch", "48,500", "The board asks how much. What do I say?"),
    ("the maintenance window of web-04", "Sunday-0300", "May I do it now, or when?"),
    ("the serial number of the scanner", "SN-88C1", "The hotline wants it. What is it?"),
    ("the allergy of Tomoko", "cashews", "I am at the bakery for her. What to avoid?"),
    ("the owner of the billing service", "Ilse", "It is down. Who can help?"),
    ("the colour of the north cable", "violet", "Which one do I pull?"),
    ("the ticket of the certificate", "OPS-3141", "Where do I write that down?"),
    ("the branch of the hotfix", "fix/quokka", "What do I check out?"),
    ("デポの門の暗証番号", "8052", "配送の人が来ました。何と伝えますか。"),
    ("田中さんの内線", "6604", "代わりに誰の番号へかければいいですか。"),
    ("予備サーバーのラック", "R91", "作業員が着きました。どこへ案内しますか。"),
    ("請求書の番号", "JP-7731", "経理から問い合わせです。どれですか。"),
    ("会議室の名前", "桔梗", "もう始まります。どこへ行けばいいですか。"),
)


class Variant(NamedTuple):
    """One fact, how it is said, and how it is asked for."""

    what: str
    value: str
    asked: str

    @property
    def said(self) -> str:
        """The fact, as the user says it in passing."""
        if self.what.isascii():
            return f"By the way, {self.what} is {self.value}."
        return f"ちなみに、{self.what}は{self.value}です。"

    @property
    def pattern(self) -> str:
        """Where the value stands, wherever the words of the user are quoted."""
        what = re.escape(self.what)
        return rf"{what} is (\S+?)\.(?:\W|$)" if self.what.isascii() else rf"{what}は(\S+?)です"


def variants() -> list[Variant]:
    """Every fact twice: asked for by its name, and by what it is needed for."""
    named = [
        Variant(what, value, f"What is {what}?" if what.isascii() else f"{what}は何ですか。")
        for what, value, _ in _FACTS
    ]
    return named + [Variant(what, value, need) for what, value, need in _FACTS]


class Clerk(InstantLlm):
    """Answers from what it is shown, else from what the tool finds."""

    model: str = "clerk/bench"
    pattern: str = ""
    query: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Play the agent at the question; everything else as InstantLlm does."""
        if not self.pattern or llm_request.config.response_schema is not None:
            async for reply in super().generate_content_async(llm_request, stream):
                yield reply
            return
        yield LlmResponse(
            content=types.Content(role="model", parts=[self._next(llm_request)]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1),
        )

    def _next(self, llm_request: LlmRequest) -> types.Part:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        found = [part.function_response.response for part in parts if part.function_response]
        shown = "\n".join(
            [str(llm_request.config.system_instruction), *(part.text or "" for part in parts)]
        )
        for text, where in ((shown, "state"), (str(found), "tool")):
            if match := re.search(self.pattern, text):
                return types.Part(text=f"{match[1]} ({where})")
        if not found and TOOL in llm_request.tools_dict:
            call = types.FunctionCall(name=TOOL, args={"query": self.query})
            return types.Part(function_call=call)
        return types.Part(text="I do not know (lost)")


async def play(container: Container, variant: Variant, *, user: str) -> str:
    """The answer at turn 30; it ends with where the value was found."""
    clerk = Clerk()
    plugin = BoundedMemoryPlugin(container)
    agent = LlmAgent(name="clerk", model=clerk, instruction="You are the clerk.")
    runner = InMemoryRunner(app=App(name="office", root_agent=agent, plugins=[plugin]))
    runner.auto_create_session = True
    talk = list(islice(inputs(), ASK_TURN))
    talk[FACT_TURN - 1], talk[ASK_TURN - 1] = variant.said, variant.asked
    answer = ""
    for number, text in enumerate(talk, start=1):
        if number == ASK_TURN:
            clerk.pattern, clerk.query = variant.pattern, variant.what
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id=user, session_id="s", new_message=message):
            if event.is_final_response() and event.content:
                answer = "".join(part.text or "" for part in event.content.parts or [])
    await runner.close()
    return answer


def where(answer: str, variant: Variant) -> str:
    """'state' or 'tool' for a right answer, else 'lost'."""
    value, _, found = answer.partition("\n")[0].rpartition(" ")
    return found.strip("()") if value == variant.value else "lost"


async def run() -> Counter[str]:
    """How many variants were answered, by where the value was found."""
    container = build_container(Settings(store="memory", learning="off"))
    found: Counter[str] = Counter()
    for number, variant in enumerate(variants()):
        answer = await play(container, variant, user=f"user-{number}")
        found[where(answer, variant)] += 1
        if where(answer, variant) == "lost":
            print(f"lost: {variant.asked} -> {answer[:80]}")
    await container.close()
    return found


def main() -> None:
    """Print the counts."""
    found = asyncio.run(run())
    total = sum(found.values())
    print(
        f"answered {total - found['lost']} of {total}: "
        f"{found['state']} from the state, {found['tool']} by the tool"
    )


if __name__ == "__main__":
    main()
