"""What a migration is told to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

METHODS: Final = ("auto", "backup", "rebuild", "copy")

# what is done, stream, messages or bytes so far, how many there will be (0: not known)
Progress = Callable[[str, str, int, int], None]


def silent(step: str, stream: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Endpoint:
    """A server and how to get in. The URL may hold user and password, a token or the seed of an nkey."""

    url: str
    creds: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    domain: str = ""


@dataclass(frozen=True)
class Options:
    source: Endpoint
    target: Endpoint
    streams: tuple[str, ...]  # names, with * and ? for some
    renames: dict[str, str] = field(default_factory=dict)
    method: str = "auto"
    consumers: bool = True
    verify: bool = True
    follow: bool = False
    dry_run: bool = False
    drop_unsupported: bool = False
    replicas: int = 0  # 0: as many as at the source
    quiet: float = 1.0  # seconds without a new message after which `follow` ends
    progress: Progress = silent
