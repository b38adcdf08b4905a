"""Our server as a fork of a process that has imported everything: a start without its imports.

The suite starts hundreds of servers, and most of a start is Python reading modules. So each test
worker has one nursery: `python -m tests.support.nursery`, a process without threads, loops or open
stores, which forks for every request. The fork does what the command does, with the arguments,
directory, environment and output that it is given. `tests/process` starts the real command.

A server must be the test's own child, or its exit code is lost. The nursery therefore forks twice:
the server's parent ends at once, and the kernel gives the orphan to its nearest ancestor that asked
for orphans, which is the test worker.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

MODULES: Final = (
    "uvloop",
    "aiohttp.web",
    "prometheus_client",
    "nacl.signing",
    "jetstream_py.cli.serve",
    "jetstream_py.app.jetstream",
    "jetstream_py.app.server",
    "jetstream_py.app.viewer",
    "jetstream_py.server.monitor.metrics",
    "jetstream_py.server.monitor.server",
)
REQUEST: Final = 1 << 20
SET_CHILD_SUBREAPER: Final = 36
POLL: Final = 0.002


class Forked:
    """A forked server, as far as tests use `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], pid: int) -> None:
        self.args = command
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            time.sleep(POLL)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The test worker's side."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.nursery", str(theirs.fileno())],
                cwd=Path(__file__).parents[2],
                pass_fds=[theirs.fileno()],
            )

    def spawn(self, command: Sequence[str], directory: Path, output: IO[bytes]) -> Forked:
        request = [list(command), str(directory), dict(os.environ)]
        socket.send_fds(self._socket, [json.dumps(request).encode()], [output.fileno()])
        answer = self._socket.recv(64)
        assert answer, "the nursery has ended; its words are on standard error"
        return Forked(command, int(answer))

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


def main(descriptor: int) -> None:
    for module in MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as requests:
        while True:
            data, descriptors, _, _ = socket.recv_fds(requests, REQUEST, 1)
            if not data:
                return
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                if pid := os.fork():
                    os.write(writer, str(pid).encode())
                    os._exit(0)
                for inherited in (requests.detach(), reader, writer):
                    os.close(inherited)
                command, directory, environ = json.loads(data)
                serve(command, directory, environ, descriptors[0])
            os.waitpid(child, 0)  # From here on the server is the test worker's child.
            requests.send(os.read(reader, 64))
            for finished in (reader, writer, descriptors[0]):
                os.close(finished)


def serve(command: list[str], directory: str, environ: dict[str, str], output: int) -> None:
    """What the command does. Does not return."""
    status: object = 1
    try:
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environ)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        gc.unfreeze()
        sys.argv = command
        from jetstream_py.cli import nats_server

        nats_server()
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    main(int(sys.argv[1]))
