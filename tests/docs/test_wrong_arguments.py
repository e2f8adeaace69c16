"""A wrong argument of a public entry is refused at once, by an error that names it."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from inspect import isawaitable, isfunction, signature
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

import acc_ace
from acc_ace import (
    AccController,
    BoundedMemoryPlugin,
    Container,
    Conversation,
    Ports,
    SessionKey,
    build_container,
    build_model,
    load_settings,
    run_turns,
)
from acc_ace.config import ROLES, Settings
from acc_ace.errors import InputError
from acc_ace.turn.rule_service import RuleService
from tests.fakes.scripted_llm import ScriptedLlm

ROOT: Final = Path(__file__).parents[2]
MODELS: Final = dict.fromkeys(ROLES, ScriptedLlm())
KEY: Final = SessionKey("acc_ace", "aiko", "s1")
Call = Callable[[Any], Awaitable[object] | object]


def controller(box: Container, **more: Any) -> AccController:
    """A controller that differs from a right one in what is given."""
    return AccController(box, **{"session": "s1", "models": MODELS, **more})


def talk(box: Container) -> Conversation:
    """A conversation that is right."""
    return Conversation(box, models=MODELS)


ENTRIES: Final[list[tuple[str, type[Exception], Call]]] = [
    ("container", TypeError, lambda _: BoundedMemoryPlugin("x")),  # type: ignore[arg-type]
    ("guard", TypeError, lambda box: BoundedMemoryPlugin(box, guard="nope")),  # type: ignore[arg-type]
    ("guard", TypeError, lambda box: BoundedMemoryPlugin(box, guard="")),  # type: ignore[arg-type]
    ("notes", TypeError, lambda box: BoundedMemoryPlugin(box, notes="below")),  # type: ignore[arg-type]
    ("listener", TypeError, lambda box: BoundedMemoryPlugin(box, listener=3)),  # type: ignore[arg-type]
    ("root", TypeError, lambda box: BoundedMemoryPlugin(box, root="me")),  # type: ignore[arg-type]
    ("name", TypeError, lambda box: BoundedMemoryPlugin(box, name=3)),  # type: ignore[arg-type]
    ("models", TypeError, lambda box: BoundedMemoryPlugin(box, models="gemini")),  # type: ignore[arg-type]
    ("container", TypeError, lambda _: controller("x")),  # type: ignore[arg-type]
    ("session", InputError, lambda box: controller(box, session="")),
    ("session", TypeError, lambda box: controller(box, session=7)),
    ("user", InputError, lambda box: controller(box, user=" ")),
    ("app", TypeError, lambda box: controller(box, app=None)),
    ("models", TypeError, lambda box: controller(box, models={"generatr": ScriptedLlm()})),
    ("models", TypeError, lambda box: controller(box, models={"compressor": "gemini"})),
    ("current_input", TypeError, lambda box: controller(box).update_state(None, None)),  # type: ignore[arg-type]
    ("prev_ccs", TypeError, lambda box: controller(box).update_state("Hi.", {})),  # type: ignore[arg-type]
    ("inputs", TypeError, lambda box: controller(box).run_turns("Hi.", lambda _: None)),  # type: ignore[arg-type,return-value]
    ("decision", TypeError, lambda box: controller(box).run_turns(["Hi."], "x")),  # type: ignore[arg-type]
    ("answer", TypeError, lambda box: controller(box).record(None)),  # type: ignore[arg-type]
    ("tool_results", TypeError, lambda box: controller(box).record("ok", tool_results=("x",))),  # type: ignore[arg-type]
    ("container", TypeError, lambda _: Conversation("x")),  # type: ignore[arg-type]
    ("app", TypeError, lambda box: Conversation(box, app="acc_ace")),  # type: ignore[arg-type]
    ("session_service", TypeError, lambda box: Conversation(box, session_service="x")),  # type: ignore[arg-type]
    ("chosen", TypeError, lambda _: Conversation.from_settings({})),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).turn("s1", "Hi.")),  # type: ignore[arg-type]
    ("text", TypeError, lambda box: talk(box).turn(KEY, b"Hi.")),  # type: ignore[arg-type]
    ("authority", TypeError, lambda box: talk(box).turn(KEY, "Hi.", authority="system")),  # type: ignore[arg-type]
    ("attachments", TypeError, lambda box: talk(box).turn(KEY, "Hi.", attachments="abc")),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).state("s")),  # type: ignore[arg-type]
    ("key.app", TypeError, lambda box: talk(box).state(SessionKey(1, 2, 3))),  # type: ignore[arg-type]
    ("key.user", InputError, lambda box: talk(box).state(KEY._replace(user=""))),
    ("key", TypeError, lambda box: talk(box).history("s")),  # type: ignore[arg-type]
    ("limit", InputError, lambda box: talk(box).history(KEY, limit=-1)),
    ("before_version", TypeError, lambda box: talk(box).history(KEY, before_version="1")),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).cost("s", before=1)),  # type: ignore[arg-type]
    ("limit", InputError, lambda box: talk(box).cost(KEY, limit=0, before=1)),
    ("tenant", TypeError, lambda box: talk(box).sessions("s")),  # type: ignore[arg-type]
    ("limit", InputError, lambda box: talk(box).sessions(KEY.tenant, limit=0)),
    ("limit", InputError, lambda box: talk(box).deltas(limit=0)),
    ("pins", TypeError, lambda box: talk(box).checks(["no restarts"])),  # type: ignore[list-item]
    ("judgement", TypeError, lambda box: talk(box).turn(KEY, "Hi.", judgement="x")),  # type: ignore[arg-type]
    ("judgement", TypeError, lambda box: talk(box).stream(KEY, "Hi.", judgement="x")),  # type: ignore[arg-type]
    ("answers", TypeError, lambda box: talk(box).confirm(KEY, {"call": "yes"})),  # type: ignore[dict-item]
    ("fields", TypeError, lambda box: talk(box).edit(KEY, ["x"], expected_version=1)),  # type: ignore[arg-type]
    ("version", TypeError, lambda box: talk(box).rollback(KEY, "1")),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).undo("s")),  # type: ignore[arg-type]
    ("turn", TypeError, lambda box: talk(box).undo(KEY, turn="1")),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).reset("s")),  # type: ignore[arg-type]
    ("key", TypeError, lambda box: talk(box).forget_session("s")),  # type: ignore[arg-type]
    ("keep_notes", TypeError, lambda box: talk(box).forget_session(KEY, keep_notes="no")),  # type: ignore[arg-type]
    ("judgement", TypeError, lambda box: talk(box).feedback(KEY, 1, judgement="x")),  # type: ignore[arg-type]
    ("tenant", TypeError, lambda box: talk(box).remember("a", [])),  # type: ignore[arg-type]
    ("documents", TypeError, lambda box: talk(box).remember(KEY.tenant, ["x"])),  # type: ignore[list-item]
    ("ids", TypeError, lambda box: talk(box).erase_artifacts(KEY.tenant, "a")),
    ("tenant", TypeError, lambda box: talk(box).erase("a")),  # type: ignore[arg-type]
    ("tenant.user", InputError, lambda box: talk(box).erase(KEY.tenant._replace(user=""))),
    ("tenant", TypeError, lambda box: talk(box).export("a")),  # type: ignore[arg-type]
    ("user", InputError, lambda box: talk(box).erase_user("")),
    ("app", InputError, lambda box: talk(box).erase_user("aiko", app="")),
    ("user", InputError, lambda box: talk(box).export_user("")),
    ("app", InputError, lambda box: talk(box).export_user("aiko", app="")),
    ("every_s", InputError, lambda box: talk(box).keeping_house(every_s=0)),
    ("finish_s", TypeError, lambda box: talk(box).stop_learning(finish_s="1")),  # type: ignore[arg-type]
    ("scope", TypeError, lambda box: talk(box).rules.pin(KEY, "No restarts.", "user")),  # type: ignore[arg-type]
    ("rules", TypeError, lambda box: talk(box).rules.found(KEY, goal="Up.", rules="No restarts.")),
    ("yes", TypeError, lambda box: talk(box).rules.answer(KEY, "q-1", yes="no")),  # type: ignore[arg-type]
    ("chosen", TypeError, lambda _: build_container("sqlite")),  # type: ignore[arg-type]
    ("chosen", TypeError, lambda _: build_container(None)),  # type: ignore[arg-type]
    ("clock", TypeError, lambda _: build_container(Settings(store="memory"), 3)),  # type: ignore[arg-type]
    ("role", TypeError, lambda box: build_model("writer", box.settings)),  # type: ignore[arg-type]
    ("settings", TypeError, lambda _: build_model("generator", {})),  # type: ignore[arg-type]
    ("host", TypeError, lambda box: build_model("generator", box.settings, host=3)),  # type: ignore[arg-type]
    ("ports", TypeError, lambda _: run_turns("x", [])),  # type: ignore[arg-type]
    ("recall", TypeError, lambda _: run_turns(Ports(1, 2, 3, 4, 5), [])),  # type: ignore[arg-type]
    ("takes 0", TypeError, lambda _: load_settings("x")),  # type: ignore[call-arg]
    ("takes 0", TypeError, lambda _: acc_ace.settings("x")),
    ("takes 0", TypeError, lambda _: acc_ace.register_models("x")),  # type: ignore[call-arg]
]
VALUES: Final = [
    name
    for name in acc_ace.__all__
    if name not in {"app", "root_agent"}
    and isinstance(value := getattr(acc_ace, name), type)
    and hasattr(value, "model_fields")
]


METHODS: Final = [
    (kind, name)
    for kind in (AccController, Conversation, RuleService)
    for name, method in vars(kind).items()
    if isfunction(method) and not name.startswith("_") and len(signature(method).parameters) > 1
]


@pytest.mark.parametrize(("named", "error", "entry"), ENTRIES)
async def test_an_entry_names_the_argument_that_is_wrong(
    named: str, error: type[Exception], entry: Call
) -> None:
    box = build_container(Settings(store="memory"))
    with pytest.raises(error, match=named):
        await _called(entry, box)
    await box.close()


async def _called(entry: Call, box: Container) -> None:
    given = entry(box)
    if isawaitable(given):
        await given


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_every_public_method_refuses_a_wrong_argument_before_it_starts(
    kind: type, name: str
) -> None:
    method = getattr(kind, name)
    _, first, *_ = required = dict.fromkeys(signature(method).parameters, object())
    with pytest.raises(TypeError, match=f"'{first}' must be"):
        method(**{**required, "self": None})


async def test_a_whole_number_is_taken_for_seconds() -> None:
    box = build_container(Settings(store="memory"))
    assert await talk(box).stop_learning(finish_s=1) == 0
    await box.close()


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("wrong", [object(), [object()], 3.5])
def test_a_value_names_the_field_that_is_wrong(name: str, wrong: object) -> None:
    kind = getattr(acc_ace, name)
    field = next(iter(kind.model_fields))
    with pytest.raises(ValidationError, match=field):
        kind(**{field: wrong})


def test_the_package_shows_its_public_names_and_its_version() -> None:
    assert dir(acc_ace) == sorted([*acc_ace.__all__, "__version__"])
    assert acc_ace.__version__.startswith("0.")


def test_a_checkout_that_is_not_installed_says_so() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'agents')!r}); import acc_ace; "
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-I", "-S", "-c", f"{code}print(acc_ace.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0+checkout"
