"""Two servers over one PostgreSQL: any of them takes any turn, and one may die."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.processes import Server, our_server


def turn(server: Server, text: str) -> dict[str, Any]:
    answer = httpx.post(
        f"{server.url}/v1/sessions/s-1/turns", json={"input": text}, timeout=60, trust_env=False
    )
    answer.raise_for_status()
    report: dict[str, Any] = answer.json()
    return report


@pytest.mark.soak
def test_a_conversation_goes_on_at_another_server_when_one_is_killed(
    url: str, tmp_path: Path
) -> None:
    settings = {
        "ACC_ACE_STORE": "postgres",
        "ACC_ACE_DATABASE_URL": url,
        "ACC_ACE_SERVE_WEB_INTERFACE": "false",
    }
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        our_server(tmp_path / "one", **settings) as one,
        our_server(tmp_path / "two", **settings) as two,
    ):
        turn(one, "No restarts during business hours.")
        report = turn(two, "db-01 is slow. What is the rule?")
        assert report["turn"] == 2
        one.process.kill()
        one.process.wait()
        report = turn(two, "And now?")
        assert report["turn"] == 3
        assert [rule["text"] for rule in report["constraints"]] == [
            "No restarts during business hours."
        ]
        assert two.output().count("PostgreSQL") == 1
        assert url not in two.output()
    assert not (tmp_path / "one" / "data").exists()
