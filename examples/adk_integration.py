"""An ADK agent whose rules hold after any number of turns: python examples/adk_integration.py."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from acc_ace import BoundedMemoryPlugin, settings


def restart_host(host: str) -> dict[str, str]:
    """Restart a host.

    Args:
        host: Its name.
    """
    return {"restarted": host}


root_agent = Agent(
    name="desk",
    # Gemini with a GOOGLE_API_KEY; without one, an engine that keeps rules and quotes memory.
    model=settings().model_name("generator"),
    instruction="You look after our servers. Be short.",
    tools=[restart_host],
)

app = App(name="desk", root_agent=root_agent, plugins=[BoundedMemoryPlugin()])

MESSAGES = (
    "Never restart db-01.",
    "The disk of web-03 is at 81 %.",
    "Restart db-01 now.",
)


async def main() -> None:
    """Say three messages in one session, and print what is answered or asked."""
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="desk", user_id="mai")
    for message in MESSAGES:
        print(f"user: {message}")
        async for event in runner.run_async(
            user_id="mai", session_id=session.id, new_message=types.UserContent(message)
        ):
            for part in (event.content.parts if event.content else None) or []:
                if part.text:
                    print(f"{event.author}: {part.text}")
                if part.function_call:
                    print(f"{event.author} calls {part.function_call.name}")
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main())
