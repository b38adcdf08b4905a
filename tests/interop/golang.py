"""The stock Go client: a program in `go/` that plays its cases on one server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.interop.outcome import Outcome, Transcript

SOURCE = Path(__file__).with_name("go")
CLI = "github.com/nats-io/natscli"
CLI_VERSION = "v0.4.0"
BUILD_TIMEOUT = 900.0
RUN_TIMEOUT = 600.0


class MissingToolError(Exception):
    """Something that could not be had; the text says what and why."""


def go(*arguments: str, directory: Path, **environment: str) -> str:
    command = shutil.which("go")
    if command is None:
        raise MissingToolError("no Go toolchain")
    done = subprocess.run(
        [command, *arguments],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT,
    )
    if done.returncode != 0:
        raise MissingToolError(f"go {' '.join(arguments)} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


def client_version() -> str:
    name = "github.com/nats-io/nats.go"
    return "nats.go " + go("list", "-m", "-f", "{{.Version}}", name, directory=SOURCE)


def build_client(target: Path) -> Path:
    program = target / "interop-go"
    go("build", "-o", str(program), ".", directory=SOURCE)
    return program


def install_cli(target: Path) -> Path:
    """The `nats` command: the one on the path, or built from its module."""
    found = shutil.which("nats")
    if found is not None:
        return Path(found)
    # Not `go install`: that asks for the list of versions, which not every proxy has.
    module = target / "cli"
    module.mkdir(exist_ok=True)
    needs = f"module cli\n\ngo 1.24\n\nrequire {CLI} {CLI_VERSION}\n"
    (module / "go.mod").write_text(needs)
    program = target / "nats"
    arguments = ["build", "-mod=mod", "-o", str(program), f"{CLI}/nats"]
    go(*arguments, directory=module)
    return program


def play(program: Path, url: str) -> Transcript:
    done = subprocess.run([program, url], capture_output=True, text=True, timeout=RUN_TIMEOUT)
    if done.returncode != 0:
        raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return {name: Outcome(**told) for name, told in json.loads(done.stdout).items()}
