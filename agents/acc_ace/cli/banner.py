"""What `acc-ace chat` says first: models in use, session, how to come back."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acc_ace.schemas.base import SessionKey

DEFAULT_USER = "user"
"""The same as ADK's web UI uses, so that a conversation can move there."""


@dataclass(frozen=True)
class ModelUse:
    """The model of one agent, and what to know about it."""

    role: str
    name: str
    note: str = ""


def banner(
    key: SessionKey, models: Sequence[ModelUse], *, turns: int, forgets: bool
) -> tuple[str, ...]:
    """The lines to print. `turns` counts those of the session; `forgets`: memory is not kept."""
    history = f"resumed after turn {turns}" if turns else "new"
    lines = [f"ACC×ACE · session {key.session} ({history}) · user {key.user}"]
    lines += [f"model: {line}" for line in model_lines(models)]
    lines.append(
        "memory is lost at exit (ACC_ACE_STORE=memory)"
        if forgets
        else f"resume: {resume_command(key)}"
    )
    return (*lines, "/help lists the commands · Ctrl-C cancels a turn · Ctrl-D exits")


def model_lines(models: Sequence[ModelUse]) -> tuple[str, ...]:
    """One line a model, for example 'embedded/rules (extractive, not an LLM): all agents'."""
    agents: dict[tuple[str, str], list[str]] = {}
    for use in models:
        agents.setdefault((use.name, use.note), []).append(use.role)
    return tuple(_model_line(name, note, roles, agents) for (name, note), roles in agents.items())


def resume_command(key: SessionKey) -> str:
    """The command that continues this session."""
    user = "" if key.user == DEFAULT_USER else f" --user {shlex.quote(key.user)}"
    return f"acc-ace chat --session {shlex.quote(key.session)}{user}"


def _model_line(
    name: str, note: str, roles: list[str], agents: Mapping[tuple[str, str], list[str]]
) -> str:
    whose = "all agents" if len(agents) == 1 else ", ".join(roles)
    return f"{name} ({note}): {whose}" if note else f"{name}: {whose}"
