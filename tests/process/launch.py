"""A server whose standard error the test reads as it is written, through a pipe or a terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.support.server import POLL, RUNNING, Kind, executable

TIMEOUT = 10.0
LINE = re.compile(r"\[(\d+)\] (\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6}) \[([A-Z]{3})\] (.*)")
READY = "Server is ready"


class Launched:
    """One process; it ends with the `with` block. `output` is what it has written so far."""

    def __init__(
        self,
        kind: Kind,
        arguments: Sequence[str],
        directory: Path,
        *,
        terminal: bool = False,
        environ: dict[str, str] | None = None,
    ) -> None:
        self.reader, writer = os.openpty() if terminal else os.pipe()
        self.output = ""
        self.process = subprocess.Popen(
            [executable(kind), *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=writer,
            env=os.environ | (environ or {}),
        )
        os.close(writer)
        RUNNING.add(self.process)

    def __enter__(self) -> Launched:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        RUNNING.discard(self.process)
        os.close(self.reader)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        """Where clients connect, as the log tells."""
        found = re.search(r"Listening for client connections on .*:(\d+)", self.output)
        assert found, self.output
        return int(found[1])

    def read_until(self, text: str, start: int = 0, timeout: float = TIMEOUT) -> str:
        """The output from `start` on, once it holds the text."""
        deadline = time.monotonic() + timeout
        while text not in self.output[start:]:
            assert self._read(deadline - time.monotonic()), f"no {text!r} in:\n{self.output}"
        return self.output[start:]

    def wait_for_file(self, path: Path, text: str, timeout: float = TIMEOUT) -> str:
        """The file's content, once it holds the text."""
        deadline = time.monotonic() + timeout
        while True:
            content = path.read_text() if path.exists() else ""
            if text in content:
                return content
            assert time.monotonic() < deadline, f"no {text!r} in {path}:\n{content}"
            try:
                self.process.wait(POLL)
            except subprocess.TimeoutExpired:
                pass

    def read_for(self, seconds: float) -> str:
        """What it writes within that time."""
        before = len(self.output)
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self.output[before:]

    def end(self, timeout: float = TIMEOUT) -> int:
        """The exit status; everything written is in `output`."""
        deadline = time.monotonic() + timeout
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def lines(self, start: int = 0) -> list[tuple[str, str]]:
        """Level and text of each line."""
        found = []
        for line in self.output[start:].splitlines():
            match = LINE.fullmatch(line)
            assert match, line
            assert int(match[1]) == self.pid
            found.append((match[3], match[4]))
        return found

    def texts(self) -> list[str]:
        return [text for _, text in self.lines()]

    def close_pipe(self) -> None:
        """Nobody reads any more: writing fails from now on."""
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, self.reader)
        os.close(null)

    def _read(self, seconds: float) -> bool:
        """Read once; False at the end of the stream or of the time."""
        if seconds <= 0 or not select.select([self.reader], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.reader, 65536)
        except OSError:
            return False  # a terminal whose other side is gone
        self.output += data.decode()
        return bool(data)
