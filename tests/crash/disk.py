"""A disk that forgets what was not synced.

It is told the calls of a server in their order and knows, for every 4 KiB page of every file, what is on
the disk for certain and which later versions the kernel may or may not have written by itself. At any
moment it can say what might be found after a power cut: for each page one of its versions, each file as
long as some of its lengths, names as the directories had them at some moment since they were synced.

Pages are never torn. A name is certain when its directory was synced, not when its file was; that
is what POSIX promises, some file systems promise more.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.crash.trace import Event

PAGE = 4096
EMPTY = bytes(PAGE)
NEVER = 1 << 62  # the place where a call ended that did not

Luck = Literal["none", "all", "mixed"]  # what of the unsynced data reached the disk
LUCKS: tuple[Luck, ...] = ("mixed", "none", "mixed", "all")


# Calls that change names, told as strings.
NAMING = ("rename", "link", "unlink", "rmdir", "mkdir", "truncate", "creat")


class Unseen(AssertionError):
    """The server changed a file in a way that a trace of calls does not show."""


@dataclass(slots=True)
class File:
    """Pages and length: what is certain, and the versions since then with the place where each ended."""

    certain: dict[int, bytes] = field(default_factory=dict)
    later: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    certain_size: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.sizes[-1][1] if self.sizes else self.certain_size

    @property
    def unfinished(self) -> bool:
        """Whether a write to it never ended."""
        return any(versions[-1][0] == NEVER for versions in self.later.values())

    def page(self, number: int) -> bytes:
        versions = self.later.get(number)
        return versions[-1][1] if versions else self.certain.get(number, EMPTY)

    def write(self, offset: int, data: bytes, when: int) -> None:
        end = offset + len(data)
        at = offset
        while at < end:
            number, start = divmod(at, PAGE)
            step = min(PAGE - start, end - at)
            piece = data[at - offset : at - offset + step]
            if step < PAGE:
                old = self.page(number)
                piece = old[:start] + piece + old[start + step :]
            self.later.setdefault(number, []).append((when, piece))
            at += step
        if end > self.size:
            self.sizes.append((when, end))

    def resize(self, size: int, when: int) -> None:
        if size < self.size:
            start = -(-size // PAGE)
            numbers = self.certain.keys() | self.later.keys()
            for number in sorted(n for n in numbers if n >= start):
                self.later.setdefault(number, []).append((when, EMPTY))
            if size % PAGE:
                self.write(size, bytes(PAGE - size % PAGE), when)
        self.sizes.append((when, size))

    def sync(self, before: int, only: range | None = None) -> None:
        """What ended before this place is certain, all of it or only these pages."""
        for number in list(self.later if only is None else self.later.keys() & set(only)):
            versions = self.later[number]
            done = [page for when, page in versions if when < before]
            if done:
                self.certain[number] = done[-1]
                self.later[number] = [(when, page) for when, page in versions if when >= before]
            if not self.later[number]:
                del self.later[number]
        lengths = [size for when, size in self.sizes if when < before]
        if lengths:
            self.certain_size = lengths[-1]
            self.sizes = [(when, size) for when, size in self.sizes if when >= before]

    def after_cut(self, luck: Luck, rng: random.Random) -> tuple[int, dict[int, bytes]]:
        """Length and pages as found after a power cut."""
        pages = dict(self.certain)
        for number, versions in self.later.items():
            choice = _pick(len(versions), luck, rng)
            if choice:
                pages[number] = versions[choice - 1][1]
        choice = _pick(len(self.sizes), luck, rng)
        size = self.sizes[choice - 1][1] if choice else self.certain_size
        return size, pages


def _pick(versions: int, luck: Luck, rng: random.Random) -> int:
    """How many of the later versions came through."""
    return {"none": 0, "all": versions, "mixed": rng.randint(0, versions)}[luck]


@dataclass(slots=True)
class Change:
    """A change of a directory: a name comes, goes (no file) or moves."""

    when: int
    path: str
    file: File | None
    old: str = ""

    def apply(self, names: dict[str, File]) -> None:
        if self.old:
            names.pop(self.old, None)
        if self.file is None:
            names.pop(self.path, None)
        else:
            names[self.path] = self.file


class Disk:
    """Everything below one directory. With `lying` the disk ignores every sync."""

    def __init__(self, root: Path, lying: bool = False) -> None:
        self.root = str(root)
        self.lying = lying
        self.syncs = 0
        self.settled = False
        self._names: dict[str, File] = {}  # as the server sees them
        self._certain: dict[str, File] = {}
        self._changes: list[Change] = []
        self._folders: dict[str, File] = {}
        self._offsets: dict[int, int] = {}
        self._dsync: set[int] = set()
        self._written: dict[int, range] = {}  # pages, by the place of their write
        self._waiting: list[Event] = []  # syncs that have begun
        self._calls: dict[str, Callable[[Event], None]] = {
            "openat": self._open,
            "lseek": self._seek,
            "write": self._write,
            "writev": self._write,
            "pwrite64": self._write_at,
            "pwritev": self._write_at,
            "ftruncate": self._truncate,
            "fallocate": self._allocate,
            "rename": self._rename,
            "renameat": self._rename,
            "unlink": self._unlink,
            "unlinkat": self._unlink,
            "rmdir": self._unlink,
            "mkdir": self._make_folder,
            "mkdirat": self._make_folder,
            "mmap": self._map,
            "fsync": self._waiting.append,
            "fdatasync": self._waiting.append,
        }

    def begin(self, event: Event) -> None:
        """The next call, in the order of their beginnings."""
        self.pass_to(event.began)
        if not self._concerns(event):
            return
        handle = self._calls.get(event.name)
        if handle is None:
            raise Unseen(f"{event.name}({event.words[:200]})")
        handle(event)

    def pass_to(self, place: int) -> None:
        """Everything that ended before this place has had its effect."""
        due = [event for event in self._waiting if 0 <= event.ended < place]
        for event in sorted(due, key=lambda event: event.ended):
            self._waiting.remove(event)
            if event.result >= 0 and not self.lying:
                self._sync(event)

    def settle(self) -> None:
        """So much time passes that the kernel has written everything by itself."""
        self.settled = True
        for change in self._changes:
            change.apply(self._certain)
        self._changes.clear()
        for file in self._names.values():
            file.sync(NEVER)

    def differences(self) -> list[str]:
        """Where the files as the server sees them differ from the real ones: the proof of this model."""
        real = {str(path) for path in Path(self.root).rglob("*")}
        known = {path for path in self._names if not is_lock(path)}
        wrong = sorted(known ^ {path for path in real if not is_lock(path)})
        for path in sorted(known & real - self._folders.keys()):
            file, real_content = self._names[path], Path(path).read_bytes()
            if file.unfinished:
                continue  # the end came inside a write
            size, pages = file.after_cut("all", random.Random(0))
            if len(real_content) != size:
                wrong.append(f"{path} has {len(real_content)} bytes, not {size}")
            for number in range(-(-size // PAGE)):
                page = pages.get(number, EMPTY)[: size - number * PAGE]
                if page != real_content[number * PAGE : (number + 1) * PAGE]:
                    wrong.append(f"page {number} of {path}")
        return wrong

    def after_cut(self, luck: Luck, rng: random.Random, directory: Path) -> None:
        """Write what is found after a power cut into an empty directory."""
        names = dict(self._certain)
        for change in self._changes[: _pick(len(self._changes), luck, rng)]:
            change.apply(names)
        for path in sorted(names):
            file = names[path]
            if not all(parent in names for parent in self._parents(path)):
                continue
            target = directory / os.path.relpath(path, self.root)
            if file is self._folders.get(path):
                target.mkdir()
                continue
            size, pages = file.after_cut(luck, rng)
            with target.open("wb") as output:
                output.truncate(size)
                for number, page in pages.items():
                    if number * PAGE < size:
                        output.seek(number * PAGE)
                        output.write(page[: size - number * PAGE])

    # -- calls -------------------------------------------------------------------------------------

    def _concerns(self, event: Event) -> bool:
        if event.ended >= 0 and event.result < 0 and event.name != "mmap":
            return False
        paths = [event.path, event.opened]
        if event.name.startswith(NAMING) or event.name == "open":
            paths += [os.fsdecode(string) for string in event.strings]
        return any(path == self.root or path.startswith(self.root + "/") for path in paths) or (
            event.name == "mmap" and f"<{_hex(self.root)}\\x2f" in event.words
        )

    def _when(self, event: Event) -> int:
        return event.ended if event.ended >= 0 else NEVER

    def _change(self, event: Event, path: str, file: File | None, old: str = "") -> None:
        change = Change(self._when(event), path, file, old)
        change.apply(self._names)
        self._changes.append(change)

    def _open(self, event: Event) -> None:
        path, flags = event.opened, event.words
        if path not in self._names and "O_CREAT" in flags:
            self._change(event, path, File())
        elif "O_TRUNC" in flags and path in self._names:
            self._names[path].resize(0, self._when(event))
        self._offsets[event.result] = 0
        self._dsync.discard(event.result)
        if "O_DSYNC" in flags or "O_SYNC" in flags:
            self._dsync.add(event.result)
        if "O_APPEND" in flags:
            self._offsets[event.result] = -1

    def _seek(self, event: Event) -> None:
        if self._offsets.get(event.fd, 0) >= 0:
            self._offsets[event.fd] = event.result

    def _write(self, event: Event) -> None:
        file = self._names.get(event.path)
        if file is None:
            return  # written after it was unlinked
        offset = self._offsets.get(event.fd, 0)
        if offset < 0:
            self._put(event, file, file.size)
        else:
            self._put(event, file, offset)
            self._offsets[event.fd] = offset + len(event.data)

    def _write_at(self, event: Event) -> None:
        file = self._names.get(event.path)
        if file is not None:
            self._put(event, file, event.numbers[-1])

    def _put(self, event: Event, file: File, offset: int) -> None:
        file.write(offset, event.data, self._when(event))
        if event.fd in self._dsync and event.data:
            last = offset + len(event.data) - 1
            self._written[event.began] = range(offset // PAGE, last // PAGE + 1)
            self._waiting.append(event)

    def _truncate(self, event: Event) -> None:
        if event.path in self._names:
            self._names[event.path].resize(event.numbers[-1], self._when(event))

    def _allocate(self, event: Event) -> None:
        mode, offset, length = event.words.split(", ")[-3:]
        if mode != "0":
            raise Unseen(f"fallocate({event.words})")
        file = self._names.get(event.path)
        if file is not None and int(offset) + int(length) > file.size:
            file.resize(int(offset) + int(length), self._when(event))

    def _rename(self, event: Event) -> None:
        old, new = (os.fsdecode(string) for string in event.strings)
        self._change(event, new, self._names[old], old)
        if old in self._folders:
            raise Unseen(f"a directory was renamed: {old}")

    def _unlink(self, event: Event) -> None:
        path = os.fsdecode(event.strings[-1])
        if path in self._names:
            self._change(event, path, None)

    def _make_folder(self, event: Event) -> None:
        path = os.fsdecode(event.strings[-1])
        self._folders[path] = File()
        self._change(event, path, self._folders[path])

    def _map(self, event: Event) -> None:
        shared = "PROT_WRITE" in event.words and "MAP_SHARED" in event.words
        if shared and not is_lock(_path_in(event)):
            raise Unseen(f"mmap({event.words}): changes through memory leave no trace")

    def _sync(self, event: Event) -> None:
        self.syncs += 1
        path = event.path
        if path == self.root or path in self._folders:
            done = [
                n
                for n, change in enumerate(self._changes)
                if change.when < event.began
                and path in (os.path.dirname(change.path), os.path.dirname(change.old))
            ]
            count = done[-1] + 1 if done else 0  # a journal keeps the order
            for change in self._changes[:count]:
                change.apply(self._certain)
            del self._changes[:count]
        elif path in self._names and event.name in ("fsync", "fdatasync"):
            self._names[path].sync(event.began)
        elif path in self._names:  # a write through a descriptor opened with O_DSYNC
            self._names[path].sync(event.ended + 1, self._written[event.began])

    def _parents(self, path: str) -> list[str]:
        parents = []
        while (path := os.path.dirname(path)) != self.root:
            parents.append(path)
        return parents


def is_lock(path: str) -> bool:
    """LMDB's table of readers: changed through memory, worthless after a crash."""
    return path.endswith(("lock.mdb", "-lock"))


def _hex(path: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(path))


def _path_in(event: Event) -> str:
    word = next(word for word in event.words.split(", ") if "<" in word)
    return os.fsdecode(
        bytes.fromhex(word[word.index("<") + 1 : word.index(">")].replace("\\x", ""))
    )
