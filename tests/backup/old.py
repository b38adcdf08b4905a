"""Backups by older servers, from `data/`."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jetstream_py.backup import s2
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.files import FilesUnpacker, Item
from jetstream_py.backup.tar import Untar

DATA = Path(__file__).parent / "data"
VERSIONS = sorted(path.stem for path in DATA.glob("*.zip"))


@dataclass(frozen=True)
class Old:
    """One of them, and what nats-server 2.15.1 makes of it."""

    request: Any
    state: Any
    expected: Any
    data: bytes

    @property
    def tar(self) -> bytes:
        return b"".join(s2.Unframer().feed(self.data))


@cache
def old_backups(version: str) -> dict[str, Old]:
    found = {}
    with zipfile.ZipFile(DATA / f"{version}.zip") as file:
        for each in file.namelist():
            name, _, kind = each.partition(".")
            if kind == "json":
                about = json.loads(file.read(each))
                found[name] = Old(**about, data=file.read(f"{name}.tar.s2"))
    return found


def items(tar: bytes, step: int = 0) -> list[Item]:
    """What is in a tar, fed in pieces. Raises `ArchiveError`."""
    unpacker, found = FilesUnpacker(), list[Item]()
    for at in range(0, len(tar), step or len(tar)):
        found += unpacker.feed(tar[at : at + (step or len(tar))])
    if not unpacker.ended:
        raise ArchiveError("EOF")
    return [item for item in found if item is not None]


def files(tar: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, data, _, _ in Untar().feed(tar):
        found[name] = found.get(name, b"") + data
    return found


def packed(tar: bytes) -> bytes:
    return s2.START + s2.frame(tar)
