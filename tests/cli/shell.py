"""Commands as a shell would run them: in a pipe, or on a pseudo-terminal with somebody who answers.

They run in this process, because starting Python for each would cost more than all they do. Standard streams
are real: a pipe's are files, a terminal's are a pty, so whatever asks `isatty` gets the truth.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jetstream_py.cli import dispatch
from tests.support.server import KINDS, Kind, Servers

PATIENCE = 20.0
WIDTH = 100
Answers = Sequence[tuple[str, str]]  # what is on the screen, what is typed then

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r" *\b\d+(\.\d+)?(ms|µs|us|s)\b"), " AGE"),
    (re.compile(r"_INBOX\.[\w.]+"), "_INBOX"),
    (re.compile(r" +$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Done:
    """What a command has left."""

    status: int
    out: str
    err: str = ""

    @property
    def text(self) -> str:
        """Both streams, without what differs from run to run."""
        return steady(self.out + self.err)


def steady(text: str) -> str:
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


@dataclass(frozen=True)
class Shell:
    """A shell whose commands go to one server."""

    url: str = ""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Done:
        """In a pipe."""
        out, err = io.BytesIO(), io.BytesIO()
        with _streams(
            io.TextIOWrapper(io.BytesIO(stdin)),
            io.TextIOWrapper(out, write_through=True),
            io.TextIOWrapper(err, write_through=True),
        ):
            status = dispatch(self._line(arguments))
            return Done(status, out.getvalue().decode(errors="replace"), err.getvalue().decode())

    def ok(self, *arguments: str, stdin: bytes = b"") -> str:
        """What it prints, once it is certain that it went well."""
        done = self(*arguments, stdin=stdin)
        assert done.status == 0, done
        return done.out

    def typed(self, *arguments: str, answers: Answers = ()) -> Done:
        """On a terminal."""
        terminal = Terminal(answers)
        try:
            with (
                open(os.dup(terminal.slave)) as stdin,
                open(os.dup(terminal.slave), "w") as stdout,
                open(os.dup(terminal.slave), "w") as stderr,
                _streams(stdin, stdout, stderr),
            ):
                status = dispatch(self._line(arguments))
        finally:
            screen = terminal.end()
        assert not terminal.left, f"never asked: {terminal.left[0]}\n{screen}"
        return Done(status, screen)

    def _line(self, arguments: Sequence[str]) -> list[str]:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        where = ["-s", self.url] if self.url else []
        return [*arguments[:at], *where, *arguments[at:]]


@contextmanager
def _streams(stdin: io.TextIOBase, stdout: io.TextIOBase, stderr: io.TextIOBase) -> Iterator[None]:
    kept = sys.stdin, sys.stdout, sys.stderr, dict(os.environ)
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    os.environ |= {"COLUMNS": str(WIDTH), "TERM": "xterm", "NATS_CONTEXT": ""}
    os.environ |= {"XDG_CONFIG_HOME": "/nonexistent"}  # contexts of whoever runs the tests
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept[:3]
        os.environ.clear()
        os.environ |= kept[3]


class Terminal:
    """A pty, and a thread that looks at the screen and types."""

    def __init__(self, answers: Answers) -> None:
        self.left = list(answers)
        self._master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        self._screen = ""
        self._looked = 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> str:
        os.close(self.slave)
        self._thread.join(PATIENCE)
        return self._screen

    def _look(self) -> None:
        timer = threading.Timer(PATIENCE, self._give_up)
        timer.start()
        begin = time.monotonic()
        data = b""
        while time.monotonic() - begin < 2 * PATIENCE:
            try:
                data += os.read(self._master, 65536)
            except OSError:  # nobody holds the other end any more
                break
            self._screen = _STYLE.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
            self._type()
        timer.cancel()
        os.close(self._master)

    def _type(self) -> None:
        if not self.left:
            return
        question, answer = self.left[0]
        found = self._screen.find(question, self._looked)
        if found >= 0:
            self._looked = found + len(question)
            del self.left[0]
            os.write(self._master, answer.encode() + b"\n")

    def _give_up(self) -> None:
        """Whoever still reads gets an interrupt and ends of itself."""
        os.write(self._master, b"\x04")


@contextmanager
def both_shells(directory: Path) -> Iterator[dict[Kind, Shell]]:
    """Shells for nats-server and for ours, each with a store."""
    with Servers(directory) as servers:
        yield {
            kind: Shell(servers.start(kind, None, ["-js", "-sd", str(directory / kind)]).url)
            for kind in KINDS
        }
