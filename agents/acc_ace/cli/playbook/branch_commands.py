"""`acc-ace playbook branch …`: try a playbook beside the main one, then promote or drop it."""

from acc_ace.cli.output import stdout_console
from acc_ace.cli.playbook.playbook_stores import govern
from acc_ace.cli.playbook.playbook_tables import branches_view
from acc_ace.cli.playbook.playbook_target import Place
from acc_ace.cli.streams import json_line
from acc_ace.errors import InputError
from acc_ace.playbook.playbook_service import PlaybookGovernor
from acc_ace.schemas.playbook import StoredPlaybook


def list_branches(place: Place, *, as_json: bool) -> None:
    """Print the branches besides the main one."""
    branches = govern(place, lambda governor: governor.store.branches(governor.scope))
    if as_json:
        for branch in branches:
            print(json_line(branch.model_dump(mode="json")))
    else:
        stdout_console().print(branches_view(branches))


def create(place: Place, name: str, *, version: int | None, as_json: bool) -> None:
    """Begin a branch with a version of the playbook of `place`."""

    async def work(governor: PlaybookGovernor) -> StoredPlaybook:
        return await governor.store.fork(governor.scope, name, by=governor.author, version=version)

    _tell(govern(place, work), f"branch {name} begins", as_json=as_json)


def promote(place: Place, *, expected_version: int | None, as_json: bool) -> None:
    """Make the bullets of the branch of `place` those of the main playbook."""
    _required(place)

    async def work(governor: PlaybookGovernor) -> StoredPlaybook:
        return await governor.store.promote(
            governor.scope, by=governor.author, expected_version=expected_version
        )

    _tell(govern(place, work), f"branch {place.branch} is now the main playbook", as_json=as_json)


def drop(place: Place, *, as_json: bool) -> None:
    """Delete the branch of `place` with its log."""
    _required(place)

    async def work(governor: PlaybookGovernor) -> None:
        await governor.store.load(governor.scope)
        await governor.store.drop(governor.scope)

    govern(place, work)
    if as_json:
        print(json_line({"dropped": place.branch}))
    else:
        stdout_console().print(f"branch {place.branch} was deleted")


def _tell(stored: StoredPlaybook, said: str, *, as_json: bool) -> None:
    count = len(stored.playbook.bullets)
    if as_json:
        print(json_line({"version": stored.version, "digest": stored.digest, "bullets": count}))
    else:
        stdout_console().print(f"{said}: version {stored.version}, {count} bullets")


def _required(place: Place) -> None:
    if not place.branch:
        raise InputError("give a branch name")
