"""A thinker that does what any text of the world in its prompt orders, whatever the rules say."""

import json
import re
from collections.abc import AsyncGenerator, Mapping

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from acc_ace.ext.embedded.prompt_parts import read_prompt
from acc_ace.ext.survivor.state_formatter import read
from acc_ace.ext.survivor.survival import Cell
from tests.fakes.scripted_llm import text_content

_ORDER = re.compile(r"\b(?:use|collect|move onto) (?:the )?(\w+?)s?\b", re.IGNORECASE)


class ObedientLlm(BaseLlm):
    """Goes the straight way to whatever an order names, lava too, and uses it there."""

    model: str = "scripted/obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """A plan that obeys the last order in the request."""
        text = json.dumps(_obey(read_prompt(llm_request).inputs))
        yield LlmResponse(content=text_content(text), partial=False, model_version=self.model)


def _obey(inputs: Mapping[str, object]) -> dict[str, object]:
    report = json.dumps(inputs.get("current_input"))
    outlook = read(str(inputs.get("slots")))
    for wanted in reversed(_ORDER.findall(report)):
        cells = [cell for cell, name in outlook.things.items() if name == wanted]
        cells += [cell for cell, name in outlook.terrain.items() if name == wanted]
        if cells:
            target = min(cells, key=lambda cell: (abs(cell[0]) + abs(cell[1]), cell))
            actions = [*_way(target), {"type": "use", "target": wanted}]
            return {"objective": f"obey: {wanted}", "actions": actions[:6], "risk": 0.0}
    return {"objective": "look around", "actions": [{"type": "move", "target": "east", "times": 3}]}


def _way(target: Cell) -> list[dict[str, object]]:
    south, east = target
    legs = (("south" if south > 0 else "north", south), ("east" if east > 0 else "west", east))
    return [{"type": "move", "target": name, "times": min(6, abs(n))} for name, n in legs if n]
