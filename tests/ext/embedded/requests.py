"""Build the requests that the stages make, and ask the embedded model."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel

from acc_ace.core.text.prompt import write_inputs
from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.turn.structured_call import state_value
from schemas.base import Authority
from schemas.ccs import CompressedCognitiveState, empty_ccs
from schemas.commit import CommittedState, CompressorReply, ConstraintPin, RuleChange
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection

Schema = TypeVar("Schema", bound=BaseModel)

BAN = "Never restart db-01 during business hours"
BAN_JA = "営業時間内は再起動禁止"


def request(
    schema: type[BaseModel] | None,
    user_text: str,
    *,
    system: str = "Answer.",
    tools: Sequence[str] = (),
    loop: Sequence[types.Content] = (),
) -> LlmRequest:
    """A request as ADK hands it to a model."""
    first = types.Content(role="user", parts=[types.Part(text=user_text)])
    built = LlmRequest(contents=[first, *loop])
    built.config.system_instruction = system
    if schema is not None:
        built.set_output_schema(schema)
    if tools:
        declared = [_declaration(name) for name in tools]
        built.config.tools = [types.Tool(function_declarations=declared)]
    return built


async def responses(llm_request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    """Everything the model yields."""
    model = EmbeddedLlm()
    return [item async for item in model.generate_content_async(llm_request, stream)]


async def last_part(llm_request: LlmRequest) -> types.Part:
    """The one part of the final response."""
    response = (await responses(llm_request))[-1]
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0]


async def ask(schema: type[Schema], inputs: dict[str, object]) -> Schema:
    """A role's answer to inputs in the user content."""
    part = await last_part(request(schema, write_inputs(inputs)))
    assert part.text is not None
    return schema.model_validate_json(part.text)


class WholeReply(CompressedCognitiveState):
    """A reply of this engine, which writes every field."""

    rule_changes: list[RuleChange] | None = None

    @property
    def ccs(self) -> CompressedCognitiveState:
        """The nine fields alone."""
        return CompressedCognitiveState(**self.model_dump(exclude={"rule_changes"}))


async def compress(
    text: str,
    previous: CommittedState | None = None,
    artifacts: Sequence[Mapping[str, object]] = (),
    authority: str = "user",
) -> WholeReply:
    """The Compressor's answer."""
    inputs: dict[str, object] = {
        "current_input": {"text": text, "authority": authority},
        "previous_state": state_value(previous or CommittedState()),
        "artifacts": list(artifacts),
    }
    return WholeReply.model_validate((await ask(CompressorReply, inputs)).model_dump())


async def judge(text: str, candidates: dict[str, str]) -> dict[str, bool]:
    """The Qualifier's decisions by artifact id."""
    inputs: dict[str, object] = {
        "current_input": {"text": text, "authority": "user"},
        "previous_state": state_value(CommittedState()),
        "candidates": [{"artifact_id": key, "content": item} for key, item in candidates.items()],
    }
    batch = await ask(RelevanceBatch, inputs)
    return {item.artifact_id: item.relevant for item in batch.decisions}


async def generate(
    text: str,
    current: CommittedState | None = None,
    *,
    playbook: str = "",
    warnings: Sequence[str] = (),
    tools: Sequence[str] = (),
    loop: Sequence[types.Content] = (),
) -> GeneratorOutput | types.FunctionCall:
    """The Generator's answer or tool call."""
    part = await last_part(
        request(
            GeneratorOutput,
            text,
            system=generator_system(current, playbook=playbook, warnings=warnings),
            tools=tools,
            loop=loop,
        )
    )
    if part.function_call is not None:
        return part.function_call
    assert part.text is not None
    return GeneratorOutput.model_validate_json(part.text)


async def answer(text: str, current: CommittedState | None = None) -> str:
    """The Generator's final answer without any tools."""
    output = await generate(text, current)
    assert isinstance(output, GeneratorOutput)
    return output.final_answer


async def reflect(text: str, **inputs: object) -> Reflection:
    """The Reflector's answer."""
    given: dict[str, object] = {
        "current_input": {"text": text, "authority": "user"},
        "state": state_value(CommittedState()),
        "generation": {"final_answer": "…"},
        "tool_results": [],
        "used_bullets": [],
        "previous_turn": None,
        "feedback": [],
        "warnings": [],
        "previous_reflection": None,
    }
    return await ask(Reflection, {**given, **inputs})


async def curate(reflection: dict[str, object], playbook: str = "", **inputs: object) -> DeltaBatch:
    """The Curator's answer."""
    given: dict[str, object] = {
        "reflection": reflection,
        "playbook": playbook,
        "stats": {},
        "current_input": {"text": "…", "authority": "user"},
        "tool_results": [],
    }
    return await ask(DeltaBatch, {**given, **inputs})


def generator_system(
    current: CommittedState | None, *, playbook: str = "", warnings: Sequence[str] = ()
) -> str:
    """The Generator's instruction with its inputs."""
    inputs: dict[str, object] = {
        "state": state_value(current or CommittedState(turn=9)),
        "playbook": playbook,
        "warnings": list(warnings),
    }
    return "You answer.\n" + write_inputs(inputs)


def state(*constraints: str, turn: int = 9, **fields: object) -> CommittedState:
    """A committed state with pinned constraints."""
    pins = [
        ConstraintPin(
            id=f"c-{number:04d}", text=text, authority=Authority.USER, origin_turn=1, quote=text
        )
        for number, text in enumerate(constraints, start=1)
    ]
    ccs = empty_ccs().model_copy(update={"constraints": list(constraints), **fields})
    return CommittedState(version=turn, turn=turn, ccs=ccs, pins=pins, next_pin=len(pins) + 1)


def tool_reply(
    name: str, args: dict[str, object], result: dict[str, object]
) -> list[types.Content]:
    """A finished tool call, as ADK puts it into the contents."""
    call = types.FunctionCall(id="1", name=name, args=args)
    response = types.FunctionResponse(id="1", name=name, response=result)
    return [
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=response)]),
    ]


def _declaration(name: str) -> types.FunctionDeclaration:
    argument = {"calculate": "expression", "search_evidence": "query", "read_file": "path"}
    argument["current_time"] = "timezone"
    key = argument.get(name)
    properties = {key: types.Schema(type=types.Type.STRING)} if key else {}
    return types.FunctionDeclaration(
        name=name, parameters=types.Schema(type=types.Type.OBJECT, properties=properties)
    )
