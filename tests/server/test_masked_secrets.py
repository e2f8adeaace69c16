"""A secret that is said is seen by the model of its turn, and stands in no store."""

from pathlib import Path

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client, scripted_app

SECRETS = (
    "sk-proj-abcdEFGH1234567890abcd",
    "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdef",
    "hunter22!",
)
SAID = (
    f"My keys are {SECRETS[0]} and {SECRETS[1]}.",
    f"Use {SECRETS[2]} with {SECRETS[3]}, or the bot {SECRETS[4]}.",
    f"パスワード: {SECRETS[5]}",
)


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def told(tmp_path: Path, *, masks: bool) -> tuple[ScriptedLlm, bytes]:
    """What the model was asked, and every byte that was written."""
    model = ScriptedLlm().on("generator", {"final_answer": f"I keep {SECRETS[0]} in mind."})
    container = build_container(Settings(data_dir=tmp_path, mask_secrets=masks))
    app = scripted_app(container, model)
    async with client(app) as http:
        for number, text in enumerate(SAID):
            for _ in range(2):
                sent = await http.post(
                    "/v1/sessions/s/turns",
                    json={"input": text},
                    headers={"Idempotency-Key": str(number)},
                )
                assert sent.status_code == 200, sent.text
        turns = (await http.get("/v1/sessions/s/turns")).json()["items"]
        assert len(turns) == len(SAID)
        state = await http.get("/apps/acc_ace/users/user/sessions/s")
        assert state.status_code == 200
    await app.state.acc_ace.close()
    return model, written(tmp_path)


async def test_no_secret_is_stored_and_its_own_turn_sees_it(tmp_path: Path) -> None:
    model, stored = await told(tmp_path, masks=True)
    assert [secret for secret in SECRETS if secret.encode() in stored] == []
    assert b"[secret masked: " in stored
    asked = [str(request.contents) for request in model.requests_of("generator")]
    assert SECRETS[0] in asked[0]
    assert SECRETS[0] not in asked[-1]


@pytest.mark.parametrize("secret", SECRETS)
async def test_masking_can_be_turned_off(tmp_path: Path, secret: str) -> None:
    _, stored = await told(tmp_path, masks=False)
    assert secret.encode() in stored
