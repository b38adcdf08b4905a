"""The JavaScript scenarios: one node process plays a folder of them with one generation."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from tests.clients.expected_js import Generation
from tests.support.server import Server

JS = Path(__file__).with_name("js")
TIMEOUT = 120.0

Folder = Literal["scenarios", "jetstream"]
Transcript = dict[str, Any]


def require_node() -> str:
    """The command; where it is missing the tests are skipped, and say so."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed: the JavaScript clients were NOT tested")
    if not (JS / "node_modules").is_dir():
        pytest.skip("npm install was not run: the JavaScript clients were NOT tested")
    return found


def play(
    node: str, generation: Generation, folder: Folder, servers: Mapping[str, Server]
) -> Transcript:
    addresses = json.dumps({name: f"127.0.0.1:{each.port}" for name, each in servers.items()})
    command = [node, str(JS / "run.mjs"), generation, folder, addresses]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return cast(Transcript, json.loads(done.stdout))
