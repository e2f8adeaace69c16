"""What is served of the survivor needs no package of its extra; its world alone does."""

import subprocess
import sys
from pathlib import Path

SERVED = """
import sys

sys.modules.update(numpy=None, gymnasium=None)
from acc_ace.ext.survivor.entry import ENTRY
import acc_ace.ext.survivor.recent_ticks

assert ENTRY.routers()
"""


def test_routes_and_chat_are_there_where_the_extra_is_not(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", SERVED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
