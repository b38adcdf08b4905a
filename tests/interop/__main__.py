"""`make interop`: stock Go tools on nats-server and on jetstream-py, outcomes compared.

Ends with 1 when an outcome differs. A tool that could not be had is named loudly and is no failure.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.interop import cli, golang, views
from tests.interop.golang import MissingToolError
from tests.interop.outcome import Row, Transcript, Verdict, compare, table, unequal
from tests.support.server import ORACLE, OURS, Kind, Servers

Play = Callable[[str, Path], Transcript]
BUILD = Path("build").absolute() / "interop"
# Whoever says nothing is the application; the system account has a user of its own.
CONFIG = f"""
server_name: interop
accounts {{
  APP {{jetstream: enabled, users: [{{user: app, password: app}}]}}
  $SYS {{users: [{{user: {cli.SYSTEM}, password: {cli.SYSTEM}}}]}}
}}
no_auth_user: app
"""


def go_client() -> tuple[str, Play]:
    program = golang.build_client(BUILD)
    return golang.client_version(), lambda url, directory: golang.play(program, url)


def nats_command() -> tuple[str, Play]:
    command = golang.install_cli(BUILD)
    return cli.version(command), lambda url, directory: cli.play(command, url, directory)


def go_and_views() -> tuple[str, Play]:
    program = golang.build_client(BUILD)
    return golang.client_version(), lambda url, directory: views.play(program, url)


TOOLS = {"go client": go_client, "go and views": go_and_views, "nats command": nats_command}


def on(kind: Kind, play: Play) -> Transcript:
    """The outcomes on a fresh server of the kind."""
    with tempfile.TemporaryDirectory() as name, Servers(Path(name)) as servers:
        directory = Path(name)
        server = servers.start(kind, CONFIG, ["-js", "-sd", str(directory / "store")])
        return play(server.url, directory)


def main() -> int:
    BUILD.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    missing: list[str] = []
    for name, prepare in TOOLS.items():
        try:
            version, play = prepare()
        except MissingToolError as error:
            missing.append(f"{name}: {error}")
            continue
        print(f"{name}: {version}", flush=True)
        rows += compare(name, on(ORACLE, play), on(OURS, play))
    if rows:
        print(table(rows))
    for text in missing:
        print(f"\n*** NOT TESTED *** {text}")
    same = sum(row.verdict is Verdict.SAME for row in rows)
    print(f"\n{same} of {len(rows)} cases are the same on both servers.")
    return 1 if unequal(rows) or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
