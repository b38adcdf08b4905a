"""The snippets of docs/security.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import Snippet, snippets
from tests.jwt.world import Chain
from tests.support.certs import Authority
from tests.support.server import OURS, StartServer, executable

PAGE = "docs/security.md"
PORTS = re.compile(r"\b(8222|8443)\b")
CONFIGS, PROGRAMS, COMMANDS = (snippets(PAGE, kind) for kind in ("conf", "python", "sh"))


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """The reader's directories, with the files that the page speaks of."""
    etc, var = tmp_path / "etc", tmp_path / "var"
    etc.mkdir()
    var.mkdir()
    authority = Authority(etc, "ca")
    authority.server("server")
    made = Chain()
    (etc / "operator.jwt").write_text(made.operator.jwt())
    preload = "".join(f"{name}: {jwt}\n" for name, jwt in made.preload.items())
    text = f"system_account: {made.system.public}\nresolver_preload {{\n{preload}}}\n"
    (etc / "accounts.conf").write_text(text)
    (etc / "server.conf").write_text(CONFIGS[0].placed(etc, var))
    return etc, var


def test_there_are_some() -> None:
    assert (len(CONFIGS), len(PROGRAMS), len(COMMANDS)) == (8, 1, 1)


@pytest.mark.parametrize("snippet", CONFIGS, ids=lambda snippet: snippet.where)
def test_configurations(
    snippet: Snippet, place: tuple[Path, Path], start_server: StartServer
) -> None:
    """Each starts, and asks who is there."""
    text = PORTS.sub("-1", snippet.placed(*place))
    included = (place[0] / "accounts.conf").read_text()  # names in an include are relative
    server = start_server(OURS, text.replace('include "accounts.conf"', included))
    info = server.client().info
    assert info.get("auth_required")
    if snippet.text.startswith("tls"):
        assert info["tls_required"]
        assert server.client().talk(b"CONNECT {}\r\nPING\r\n") == b""
    else:
        assert b"PONG" not in server.client().talk(b"CONNECT {}\r\nPING\r\n")


@pytest.mark.parametrize("snippet", PROGRAMS, ids=lambda snippet: snippet.where)
def test_programs(snippet: Snippet) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet.text], capture_output=True, text=True, check=True, timeout=30
    )
    assert re.fullmatch(r"\$2a\$11\$\S{53}\n", done.stdout)


@pytest.mark.parametrize("snippet", COMMANDS, ids=lambda snippet: snippet.where)
def test_commands(snippet: Snippet, place: tuple[Path, Path]) -> None:
    command = snippet.placed(*place).replace("nats-server-py", executable(OURS))
    subprocess.run(command, shell=True, check=True, timeout=30, capture_output=True)
