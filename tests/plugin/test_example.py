"""The example project, as its reader runs it; by two processes at once, which share nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from jetstream_py import pytest_plugin
from tests.docs.snippets import ROOT


def test_orders() -> None:
    plugins = [pytest_plugin.__name__, "pytest_asyncio.plugin", "xdist.plugin", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2"]
    command += [word for plugin in plugins for word in ("-p", plugin)]
    done = subprocess.run(
        command,
        cwd=ROOT / "examples" / "orders",
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "18 passed" in done.stdout
