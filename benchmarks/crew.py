"""The parent's side of the worker processes: start them all, say go, collect what they report."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
GRACE: Final = 5.0
# Freed memory stays with the process: else glibc returns every large read or batch to the kernel
# and the next one pays for its pages again, which at 1 KiB payloads halves what a worker can do.
GENERATOR_ENV: Final = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 28),
}


class WorkerFailed(Exception):
    """A worker reported an error, died, or did not answer in time."""


@dataclass(frozen=True)
class Report:
    """What one worker did between `go` and its last byte. Times in seconds, one clock for all."""

    role: str
    facts: dict[str, Any]
    started: float
    ended: float
    cpu: float
    queued: float

    @property
    def waiting(self) -> float:
        """The share of its time in which it waited for the server: neither ran nor wanted to."""
        wall = self.ended - self.started
        return max(0.0, 1 - (self.cpu + self.queued) / wall) if wall > 0 else 0.0


class Worker:
    """One child process playing one role."""

    def __init__(self, role: type, **args: object) -> None:
        self.role = role.__name__
        self._args = {
            key: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for key, value in args.items()
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
            env=os.environ | GENERATOR_ENV,
        )
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def assign(self) -> None:
        self._write(json.dumps({"role": self.role, "args": self._args}))

    def await_ready(self, timeout: float) -> None:
        self._answer(timeout)

    def go(self) -> None:
        self._write("go")

    def stop(self) -> None:
        """Tells a role that runs until told otherwise to come to an end."""
        self._write("stop")

    def report(self, timeout: float) -> Report:
        return Report(role=self.role, **self._answer(timeout))

    def end(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _write(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError as error:
            raise WorkerFailed(f"{self.role} has died") from error

    def _answer(self, timeout: float) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._line(time.monotonic() + timeout))
        if "error" in answer:
            raise WorkerFailed(f"{self.role}: {answer['error']}")
        return answer

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout
        fd = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise WorkerFailed(f"{self.role} did not answer in time")
            data = os.read(fd, 1 << 20)
            if not data:
                raise WorkerFailed(f"{self.role} has died")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


@contextmanager
def crew(
    workers: Sequence[tuple[type, dict[str, object]]], timeout: float
) -> Iterator[list[Worker]]:
    """All workers started, assigned and ready, in the given order; ended in every case."""
    with ExitStack() as stack:
        hired: list[Worker] = []
        for role, args in workers:
            worker = Worker(role, **args)
            stack.callback(worker.end)
            worker.assign()
            hired.append(worker)
        for worker in hired:
            worker.await_ready(timeout)
        yield hired


def perform(workers: Sequence[Worker], timeout: float) -> list[Report]:
    """Says go to all, in order, and waits for every report."""
    deadline = time.monotonic() + timeout + GRACE
    for worker in workers:
        worker.go()
    return [worker.report(max(0.1, deadline - time.monotonic())) for worker in workers]
