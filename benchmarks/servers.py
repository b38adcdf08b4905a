"""The servers under test: how each is started, found ready, looked at, and ended by its pid."""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

from benchmarks import procfs
from benchmarks.conn import HOST
from benchmarks.crew import GENERATOR_ENV, ROOT

READY_LIMIT: Final = 20.0
_STOP_LIMIT: Final = 5.0
_POLL: Final = 0.001
_MONITOR_LIMIT: Final = 5.0
_PORTS: Final = range(20_000, 30_000)
_LOG_WORDS: Final = 600
_LIBC: Final = ctypes.CDLL(None)
_PR_SET_PDEATHSIG: Final = 1

OURS: Final = "ours"
NATS: Final = "nats"
NATS_ALWAYS: Final = "nats-always"

# name -> executable beside this interpreter, then the arguments before the common ones
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    OURS: ("jetstream-py", "serve"),
    NATS: ("nats-server",),
    NATS_ALWAYS: ("nats-server",),
}
# name -> its configuration with JetStream; nats-server's default acknowledges before it syncs
JETSTREAM: Final[dict[str, str]] = {
    OURS: "",
    NATS: "",
    NATS_ALWAYS: "jetstream { sync_interval: always }\n",
}


class ServerFailed(Exception):
    """The server could not be found or did not come up."""


@dataclass(frozen=True)
class Server:
    """A running server: its process, its two ports, and where it stores streams, if it does."""

    name: str
    pid: int
    port: int
    monitor_port: int
    version: str
    start_seconds: float
    log: Path | None = None
    spawned: float = 0.0
    store: Path | None = None

    def last_words(self) -> str:
        """The end of its log, for the report of a failure."""
        return _end_of(self.log) if self.log else ""

    def monitor(self, path: str) -> dict[str, Any]:
        """A monitoring page, e.g. `/varz`."""
        client = HTTPConnection(HOST, self.monitor_port, timeout=_MONITOR_LIMIT)
        try:
            client.request("GET", path)
            page: dict[str, Any] = json.loads(client.getresponse().read())
        except (OSError, HTTPException, ValueError) as error:
            raise ServerFailed(f"{self.name}: no {path}: {error!r}") from error
        finally:
            client.close()
        return page


def executable(name: str) -> Path | None:
    """The server's program: beside the interpreter, else on the path."""
    program = COMMANDS[name][0]
    beside = Path(sys.executable).parent / program
    if beside.exists():
        return beside
    found = shutil.which(program)
    return Path(found) if found else None


@contextmanager
def running(
    name: str, config: str = "", extra: Sequence[str] = (), limit: float = READY_LIMIT
) -> Iterator[Server]:
    """A server on fresh loopback ports, ended by its pid however the block is left."""
    path = executable(name)
    if path is None:
        raise ServerFailed(f"{name}: {COMMANDS[name][0]} is not installed")
    procfs.raise_fd_limit()
    port, monitor_port = _free_ports()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        command = [str(path), *COMMANDS[name][1:]]
        command += ["-a", HOST, "-p", str(port), "-m", str(monitor_port), *extra]
        if config:
            file = Path(folder, "server.conf")
            file.write_text(config)
            command += ["-c", str(file)]
        with Path(folder, "log").open("wb") as log:
            begin = time.monotonic()
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, preexec_fn=_die_with_parent
            )
            try:
                info = _await_info(process, port, begin + limit, Path(log.name))
                taken = time.monotonic() - begin
                yield Server(
                    name,
                    process.pid,
                    port,
                    monitor_port,
                    str(info.get("version", "?")),
                    taken,
                    Path(log.name),
                    begin,
                )
            finally:
                end(process)


@contextmanager
def null_server(mode: str, size: int, subjects: int) -> Iterator[Server]:
    """The server that does no work per message, for the generator's own ceiling."""
    command = [sys.executable, "-m", "benchmarks.nullserver", mode, str(size), str(subjects)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | GENERATOR_ENV,
    )
    assert process.stdin
    assert process.stdout
    try:
        with process.stdin, process.stdout:
            port = int(process.stdout.readline() or 0)
            if not port:
                raise ServerFailed("the null server did not start")
            yield Server("null", process.pid, port, 0, "null", 0.0)
    finally:
        end(process)


def unwind_on_sigterm() -> None:
    """For the commands: a SIGTERM leaves every block in order, and so ends the servers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends one process by its id, by force if it does not go."""
    process.terminate()
    try:
        process.wait(_STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _die_with_parent() -> None:
    """In the child: even a parent that is killed outright leaves no server behind."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _await_info(
    process: subprocess.Popen[bytes], port: int, deadline: float, log: Path
) -> dict[str, Any]:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        banner = _banner(port, deadline)
        if banner.startswith(b"INFO "):
            info: dict[str, Any] = json.loads(banner[len(b"INFO ") :])
            return info
        time.sleep(_POLL)
    code = process.poll()
    raise ServerFailed(f"no INFO on port {port}, exit code {code}: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-_LOG_WORDS:]


def _banner(port: int, deadline: float) -> bytes:
    data = b""
    try:
        with socket.create_connection((HOST, port), timeout=1) as sock:
            while not data.endswith(b"\r\n") and time.monotonic() < deadline:
                part = sock.recv(4096)
                if not part:
                    break
                data += part
    except OSError:
        return b""
    return data


def _free_ports() -> tuple[int, int]:
    """Two ports below the range from which the kernel takes the ports of our own connections."""
    found: list[int] = []
    for port in random.sample(_PORTS, 100):
        with socket.socket() as sock:
            try:
                sock.bind((HOST, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == 2:
            return found[0], found[1]
    raise ServerFailed("no free ports")
