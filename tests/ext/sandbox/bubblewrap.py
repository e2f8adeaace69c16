"""Tests that run scripts are skipped by name where there can be no sandbox."""

import shutil
import subprocess

import pytest


def require_bubblewrap() -> None:
    """Skip the test that asks, without bubblewrap, or where the kernel lets nobody use it."""
    path = shutil.which("bwrap")
    if path is None:
        pytest.skip("bubblewrap is not installed (apt-get install bubblewrap)")
    command = [path, "--unshare-user", "--ro-bind", "/", "/", "true"]
    tried = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - found above
    if tried.returncode:
        pytest.skip("this machine allows no user namespaces")
