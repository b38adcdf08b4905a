"""Servers as subprocesses: the real nats-server (the oracle) and ours, started the same way.

Each server listens on a port of its own choosing and tells it through its ports file, so any number
of test workers run side by side. A server belongs to a `Servers` block, which ends by pid every
process that it started, however the test went.
"""

from __future__ import annotations

import atexit
import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Protocol, TypeAlias, cast

from tests.support.nursery import Forked, Nursery
from tests.support.raw import RawClient

Kind = Literal["nats-server", "jetstream-py"]
ORACLE: Kind = "nats-server"
OURS: Kind = "jetstream-py"
KINDS: tuple[Kind, ...] = (ORACLE, OURS)
Process: TypeAlias = "subprocess.Popen[bytes] | Forked"
COMMANDS: dict[Kind, str] = {ORACLE: "nats-server", OURS: "nats-server-py"}

START_TIMEOUT = 60.0
STOP_TIMEOUT = 5.0
POLL = 0.005


class StartError(AssertionError):
    """The server ended, or stayed silent, instead of getting ready."""


def executable(kind: Kind) -> str:
    """The command beside the running Python, or on the path."""
    name = COMMANDS[kind]
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is not installed; run make install"
    return found


def run(
    kind: Kind, *arguments: str, directory: Path, timeout: float = START_TIMEOUT
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, for flags that print and exit and for configs that are refused."""
    return subprocess.run(
        [executable(kind), *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


class Server:
    """One running server."""

    def __init__(
        self,
        kind: Kind,
        directory: Path,
        config: str | None = None,
        flags: Sequence[str] = (),
        port: int = -1,
        host: str | None = "127.0.0.1",
    ) -> None:
        self.kind = kind
        self.directory = directory
        self.config_file = directory / "server.conf"
        arguments = ["-p", str(port), "--ports_file_dir", str(directory)]
        if host is not None:
            arguments += ["-a", host]
        if config is not None:
            self.config_file.write_text(config)
            arguments += ["-c", str(self.config_file)]
        self.log_file = directory / "stderr.log"
        with self.log_file.open("ab") as log:
            self.process = spawn(kind, [*arguments, *flags], directory, log)
        try:
            ports = self._read_ports()
        except BaseException:
            self.stop()
            raise
        self.ports = ports
        self.port = port_of(ports["nats"][0])

    def client(self, opening: bytes = b"", timeout: float | None = None) -> RawClient:
        """A connection that has read the server's INFO and sent `opening`."""
        client = RawClient(self.port) if timeout is None else RawClient(self.port, timeout=timeout)
        client.read_info()
        if opening:
            client.send(opening)
        return client

    def talk(self, data: bytes, timeout: float | None = None) -> bytes:
        """One connection: all that the server answers to the bytes, after its INFO."""
        with self.client() as client:
            return client.talk(data, timeout)

    def monitor(self, path: str) -> dict[str, Any]:
        """The JSON of a monitoring page; the server needs `-m -1`."""
        return cast(dict[str, Any], json.loads(self.monitor_text(path)))

    def monitor_text(self, path: str) -> str:
        port = port_of(self.ports["monitoring"][0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return cast(bytes, answer.read()).decode()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def wait_for_log(
        self, text: str, timeout: float = STOP_TIMEOUT, count: int = 1, start: int = 0
    ) -> str:
        """The log, or its part from `start` on, once it holds the text, or holds it so many times."""
        deadline = time.monotonic() + timeout
        while (log := self.log()[start:]).count(text) < count:
            assert time.monotonic() < deadline, f"no {text!r} in the log:\n{log[-3000:]}"
            self._tick()
        return log

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def reload(self, config: str) -> None:
        """Write a new config and tell the server; the effect is what the caller waits for."""
        self.config_file.write_text(config)
        self.signal(signal.SIGHUP)

    def wait(self, timeout: float = STOP_TIMEOUT) -> int:
        """The exit code."""
        return self.process.wait(timeout)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        RUNNING.discard(self.process)

    def kill(self) -> None:
        """SIGKILL: the server gets no chance to say goodbye."""
        self.process.kill()
        self.process.wait()
        RUNNING.discard(self.process)

    def _read_ports(self) -> dict[str, list[str]]:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            for file in self.directory.glob(f"*_{self.process.pid}.ports"):
                try:
                    return cast(dict[str, list[str]], json.loads(file.read_text()))
                except ValueError:
                    pass  # half written
            self._tick()
            if self.process.poll() is not None:
                raise StartError(f"exit code {self.process.returncode}:\n{self.log()[-3000:]}")
        raise StartError(f"no ports file in {START_TIMEOUT} s:\n{self.log()[-3000:]}")

    def _tick(self) -> None:
        """Let a moment pass, or less if the server ends."""
        try:
            self.process.wait(POLL)
        except subprocess.TimeoutExpired:
            pass


class Servers:
    """A block that ends all servers it started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.servers: list[Server] = []
        self.started = 0

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self.servers:
            server.stop()

    def start(
        self,
        kind: Kind,
        config: str | None = None,
        flags: Sequence[str] = (),
        port: int = -1,
        host: str | None = "127.0.0.1",
    ) -> Server:
        self.started += 1
        directory = self.directory / f"{self.started}-{kind}"
        directory.mkdir()
        server = Server(kind, directory, config, flags, port, host)
        self.servers.append(server)
        return server


class Start(Protocol):
    """A factory for servers of one kind."""

    def __call__(
        self,
        config: str | None = None,
        flags: Sequence[str] = ...,
        port: int = -1,
        host: str | None = "127.0.0.1",
    ) -> Server: ...


class StartServer(Protocol):
    """A factory for servers of either kind."""

    def __call__(
        self,
        kind: Kind,
        config: str | None = None,
        flags: Sequence[str] = ...,
        port: int = -1,
        host: str | None = "127.0.0.1",
    ) -> Server: ...


RUNNING: set[Process] = set()


@cache
def nursery() -> Nursery:
    """This test worker's."""
    return Nursery()


def spawn(kind: Kind, arguments: list[str], directory: Path, log: IO[bytes]) -> Process:
    """The server's process: the real command, or a fork that does what it does."""
    command = [executable(kind), *arguments]
    process: Process
    if kind == OURS and sys.platform == "linux":
        process = nursery().spawn(command, directory, log)
    else:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    RUNNING.add(process)
    return process


@atexit.register
def end_running() -> None:
    """The last net, for a test worker that leaves without its fixtures."""
    for process in RUNNING:
        if process.poll() is None:
            process.kill()
            process.wait()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])
