"""docs/playbook.md names every reason, command, route and setting of the playbook."""

import re
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_group

from acc_ace import build_container
from acc_ace.cli import app as cli
from acc_ace.core.playbook.curation import delta_guard
from acc_ace.core.playbook.playbook_form import Form
from config import Settings
from tests.fakes.extensions import needs
from tests.fakes.routes import served_routes
from tests.server.asgi import scripted_app

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "playbook.md").read_text(encoding="utf-8")
KNOWN = set(re.findall(r"^# (ACC_ACE_[A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.M))


def _section(heading: str) -> str:
    """The text under a heading of the second level."""
    return DOCUMENT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def _commands(*path: str) -> set[str]:
    """The names of the commands of a group."""
    group = get_group(cli.app)
    context = group.make_context("acc-ace", [*path, "--help"], resilient_parsing=True)
    for name in path:
        found = group.get_command(context, name)
        assert isinstance(found, TyperGroup)
        group = found
    return set(group.list_commands(context))


def test_every_reason_of_curation_is_in_the_table() -> None:
    listed = re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)  ", delta_guard.__doc__ or "", re.M)
    reasons = {name for names in listed for name in names.split(", ")}
    first_cells = re.findall(r"^\| (`[^|]+) \|", _section("Operation results"), re.M)
    named = set(re.findall(r"`([a-z_]+)`", " ".join(first_cells)))

    assert {"ok", "ungrounded", "not_used", "tagged"} <= reasons
    assert named == reasons | {"dismissed"}


def test_every_command_is_in_the_table() -> None:
    commands = _section("Commands")
    missing = {name for name in _commands("playbook") if not re.search(rf"`{name}\b", commands)}

    assert missing == set()


@needs("playbook_files")
def test_every_route_is_in_the_table_and_none_that_is_not_there() -> None:
    named = {
        (method, path.split("?")[0].strip('"'))
        for method, path in re.findall(r"`(GET|POST|PATCH|DELETE) ([^`]+)`", _section("Over HTTP"))
    }
    app = scripted_app(build_container(Settings(store="memory", serve_web_interface=False)))
    routes = {
        (route.method, route.path.removeprefix("/v1/playbook"))
        for route in served_routes(app)
        if route.path.startswith("/v1/playbook")
    }

    assert named == routes


def test_every_form_of_file_is_in_the_table() -> None:
    assert [form for form in Form if f"`{form}`" not in _section("Formats")] == []


def test_every_setting_that_the_document_names_exists() -> None:
    named = set(re.findall(r"\bACC_ACE_[A-Z0-9_]+", DOCUMENT))

    assert named - KNOWN == set()
