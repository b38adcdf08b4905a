"""Connections that fail, users, the system account, contexts in use, completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jetstream_py.cli import dispatch
from tests.cli.shell import Shell
from tests.docs.snippets import ROOT
from tests.support.server import Kind, Server, Servers

CONFIG = """
server_name: one
jetstream {{ store_dir: "{store}" }}
accounts {{
  A: {{ jetstream: enabled, users: [{{ user: a, password: secret }},
    {{ user: b, password: b, permissions: {{ publish: "x", subscribe: "_INBOX.>" }} }}] }}
  SYS: {{ users: [{{ user: s, password: s }}] }}
}}
system_account: SYS
"""


def test_who_may_what(kind: Kind, tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        server = servers.start(kind, CONFIG.format(store=tmp_path / "store"))
        nobody = Shell(server.url)("stream", "ls")
        assert (nobody.status, nobody.out) == (1, "")
        assert "cannot connect to nats://127" in nobody.err
        assert "give --user and --password" in nobody.err

        system = ("--user", "s", "--password", "s")
        shell = Shell(server.url)
        assert shell.ok("server", "list", *system).splitlines()[1].startswith("one ")
        assert "1 replies" in shell.ok("server", "ping", "1", *system)
        assert "Server information for one" in shell.ok("server", "info", "one", *system)
        for report, word in (("connections", "SYS"), ("accounts", "SYS"), ("jetstream", "one")):
            assert word in shell.ok("server", "report", report, *system)
        missing = shell("server", "info", "two", *system)
        assert (missing.status, "no server two" in missing.err) == (1, True)
        few = shell("server", "ping", "2", *system)
        assert (few.status, "1 of 2 servers" in few.err) == (1, True)

        user = Shell(server.url.replace("//", "//a:secret@"))
        account = user.ok("account", "info")
        assert "Account: A\n" in account
        assert "secret" not in account
        denied = Shell(server.url.replace("//", "//b:b@"))("stream", "ls")
        assert (denied.status, "permissions violation" in denied.err.lower()) == (1, True)


def test_nobody_there() -> None:
    done = Shell("nats://u:secret@127.0.0.1:1")("stream", "ls")
    assert (done.status, done.out, "secret" in done.err) == (1, "", False)
    assert done.err.startswith("jetstream-py: error: cannot connect to nats://127.0.0.1:1: ")
    assert done.err.endswith("  is a server running there? give -s URL or --context NAME\n")


def test_global_options_stand_anywhere_and_the_environment_helps(
    oracle: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Shell()
    assert bare("-s", oracle.url, "pub", "x", "y").status == 0
    assert bare("pub", "-s", oracle.url, "x", "y").status == 0
    monkeypatch.setenv("NATS_URL", oracle.url)
    assert bare("pub", "x", "y").status == 0
    assert bare("pub", "x", "y", "-s", "127.0.0.1:1").status == 1


def test_without_jetstream_it_says_so(kind: Kind, tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        done = Shell(servers.start(kind).url)("stream", "ls")
    assert done.status == 1
    assert "start the server with -js" in done.err


def test_a_shell_completes() -> None:
    line = "jetstream-py stream "
    done = subprocess.run(
        [sys.executable, "-c", "from jetstream_py.cli import main; main()"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_JETSTREAM_PY_COMPLETE": "bash_complete",
            "COMP_WORDS": f"{line}in",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.stdout == "plain,info\n"


def test_a_server_without_the_extra_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "jetstream_py.cli.main", raising=False)
    assert dispatch(["stream", "ls"]) == 2
    assert "pip install 'jetstream-py[cli]'" in capsys.readouterr().err
    assert dispatch(["--help"]) == 0
    assert "    serve " in capsys.readouterr().out
