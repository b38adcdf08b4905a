"""What a server did to its files and sockets, from the words of strace.

strace stops the server before and after each call, and writes a line at each stop that another thread's
line comes between; so the order of the lines is the order of the facts. A call is one event with two
places: where it began (from there on its effect may be on the disk or on the wire) and where it ended
(from there on the server may rely on it).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

CALLS = (
    "open,openat,creat,lseek,write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,"
    "sync_file_range,msync,mmap,ftruncate,truncate,fallocate,rename,renameat,renameat2,link,linkat,"
    "unlink,unlinkat,mkdir,mkdirat,rmdir,sendfile,copy_file_range"
)
LONGEST = 1 << 24  # bytes of one write

LINE = re.compile(r"(\d+) +(.*)", re.DOTALL)
CALL = re.compile(r"(\w+)\((.*)", re.DOTALL)
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
RESULT = re.compile(r"\) += (-?\d+|0x[0-9a-f]+|\?)(?:<((?:\\x[0-9a-f]{2})*)>)?[^)]*(?:\([^)]*\))?$")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
FD = re.compile(r"^(\d+)<((?:\\x[0-9a-f]{2})*)>")
UNFINISHED = " <unfinished ...>"
DETACHED = " <detached ...>"  # what strace says about a call that the kill came into


def find_strace() -> str | None:
    """strace; as root its Debian package is installed when it is missing."""
    found = shutil.which("strace")
    if found is None and shutil.which("apt-get") and _is_root():
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "strace"]):
            subprocess.run(command, check=False, capture_output=True, timeout=300)
        found = shutil.which("strace")
    return found


def _is_root() -> bool:
    return subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip() == "0"


def command(strace: str, output: str) -> list[str]:
    """The words before the server's own; the server stays our child (-D)."""
    words = ["-D", "-f", "-y", "-xx", "-s", str(LONGEST), "--seccomp-bpf", "--signal=none"]
    return [strace, *words, "-o", output, "-e", f"trace={CALLS}"]


@dataclass(slots=True)
class Event:
    """One call."""

    name: str
    words: str
    began: int
    ended: int = -1  # never
    result: int = -1
    opened: str = ""  # the path behind a returned descriptor

    @property
    def fd(self) -> int:
        found = FD.match(self.words)
        return int(found[1]) if found else -1

    @property
    def path(self) -> str:
        """Of the first argument, a descriptor."""
        found = FD.match(self.words)
        return text(found[2]) if found else ""

    @property
    def strings(self) -> list[bytes]:
        found = STRING.findall(self.words)
        assert not any(cut for _, cut in found), "strace cut a string short"
        return [raw(string) for string, _ in found]

    @property
    def data(self) -> bytes:
        """What a write wrote; all that it wanted to write while it never ended."""
        whole = b"".join(self.strings)
        return whole if self.ended < 0 else whole[: max(0, self.result)]

    @property
    def numbers(self) -> list[int]:
        """The last arguments, as far as they are plain numbers."""
        numbers: list[int] = []
        for word in reversed(self.words.rsplit("]", 1)[-1].rsplit('"', 1)[-1].split(", ")):
            if not word.isdigit():
                break
            numbers.insert(0, int(word))
        return numbers


def raw(string: str) -> bytes:
    return bytes.fromhex(string.replace("\\x", ""))


def text(string: str) -> str:
    return raw(string).decode(errors="surrogateescape")


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """The calls in the order they began."""
    return iter(_Parser().run(lines))


class _Parser:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.open: dict[str, Event] = {}  # by thread

    def run(self, lines: Iterable[str]) -> list[Event]:
        for number, line in enumerate(lines):
            found = LINE.fullmatch(line.rstrip("\n"))
            assert found, line[:200]
            self._line(number, found[1], found[2])
        return self.events

    def _line(self, number: int, thread: str, rest: str) -> None:
        if rest.startswith(("+++", "---")):
            return
        resumed = RESUMED.fullmatch(rest)
        if resumed is not None:
            event = self.open.pop(thread, None)
            if event is not None:  # else it began before the trace did
                self._end(event, event.words + resumed[2], number)
            return
        call = CALL.fullmatch(rest)
        assert call, rest[:200]
        event = Event(call[1], call[2], number)
        self.events.append(event)
        if event.words.endswith(UNFINISHED):
            event.words = event.words.removesuffix(UNFINISHED)
            self.open[thread] = event
        else:
            self._end(event, event.words, number)

    def _end(self, event: Event, words: str, number: int) -> None:
        if words.endswith(DETACHED):
            event.words = words.removesuffix(DETACHED)
            return
        result = RESULT.search(words)
        assert result, words[-200:]
        event.words = words[: result.start()]
        if result[1] == "?":
            return  # the server was killed inside
        event.ended = number
        event.result = int(result[1], 0)
        event.opened = text(result[2] or "")
