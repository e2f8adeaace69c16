"""Agents one after the other, as a Workflow of ADK that an agent can hold.

ADK runs a Workflow as the root of an app alone: only then has a run the queue through which nodes
hand on their events. A turn is held by an agent around its stages, so the queue is made here.
"""

import asyncio
from collections.abc import AsyncGenerator
from uuid import uuid4

from google.adk.agents import BaseAgent, Context
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.workflow import START, Workflow
from pydantic import PrivateAttr

_Item = tuple[object, asyncio.Event | None]
"""An event, and what its node waits for before it goes on; a partial event has none."""


class _HandOver(asyncio.Queue[_Item]):
    """A queue whose writers go on once the reader took their item, as a generator goes on.

    Else a stage would be ahead of its reader, and commit an answer that nobody was there to read.
    """

    async def put(self, item: _Item) -> None:
        await super().put(item)
        await self.join()


class WorkflowSequence(BaseAgent):
    """Runs its sub-agents in their order; ends where one fails or waits for a person.

    Raises what the failing agent raised.
    """

    _workflow: Workflow = PrivateAttr()

    def __init__(self, name: str, *agents: BaseAgent, description: str = "") -> None:
        super().__init__(name=name, sub_agents=list(agents), description=description)
        self._workflow = Workflow(name=name, edges=[(START, *agents)])

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        # `ctx` is this agent's own copy: its nodes inherit the queue, its parents do not have it.
        events = ctx._event_queue = _HandOver()
        # A name of its own: ADK would not run again what ended in an earlier run of the invocation,
        # and what resumes an invocation is a new turn here.
        node = Context(ctx, node=self._workflow, run_id=f"turn_{uuid4().hex}")
        running = asyncio.create_task(_run(self._workflow, node, events))
        try:
            while (item := await events.get())[0] is not None:
                event, processed = item
                # Of a failing node ADK makes an event, for a run that goes on; this one raises.
                if isinstance(event, Event) and not (event.error_code and event.content is None):
                    yield event
                if processed is not None:
                    processed.set()
                events.task_done()
            await running
        finally:
            running.cancel()
            await asyncio.wait([running])


async def _run(workflow: Workflow, node: Context, events: _HandOver) -> None:
    """Run a workflow to its end, and say so; raises what failed."""
    try:
        async for _ in workflow.run(ctx=node, node_input=None):
            pass
        if node.error is not None:
            raise node.error
    finally:
        events.put_nowait((None, None))
