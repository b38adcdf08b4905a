"""docs/export.md, followed to the letter."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path

from tests.docs.snippets import snippets
from tests.docs.test_migration import fill
from tests.support.server import ORACLE, OURS, Servers

PAGE = "docs/export.md"
COMMAND = "from jetstream_py.cli import main; main()"


def test_page(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        ports = {}
        for number, kind in (("4222", OURS), ("4223", ORACLE)):
            server = servers.start(kind, None, ["-js", "-sd", str(tmp_path / number)])
            ports[number] = str(server.port)
        asyncio.run(fill(f"nats://127.0.0.1:{ports['4222']}"))
        told = ""
        for line in snippets(PAGE, "sh", "export")[0].text.splitlines():
            for number, port in ports.items():
                line = line.replace(number, port)
            name, *arguments = shlex.split(line)
            assert name == "jetstream-py"
            told += run(tmp_path, COMMAND, *arguments)
        assert "ORDERS: 20 messages in 1 segments, up to 20" in told
        assert "COPY: 20 messages, up to 20" in told
    assert "20 messages" in run(tmp_path, snippets(PAGE, "python", "read")[0].text)
    found = run(tmp_path, snippets(PAGE, "python", "manifest")[0].text)
    assert found == "ORDERS 20 messages, the next one is 21\n"


def run(directory: Path, program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=directory, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
