"""What travels: messages as they are stored, received and delivered, and what the API tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from jetstream_py import headers as hdr
from jetstream_py.js.errors import InvalidName

Headers = Mapping[str, str]
NO_HEADERS: Headers = {}


class Received(NamedTuple):
    """A message as a bus hands it over; `status` is 0 unless it is an answer without content."""

    subject: str
    reply: str
    headers: Headers
    data: bytes
    status: int = 0
    description: str = ""


class Message(NamedTuple):
    """A message of a stream."""

    subject: str
    seq: int
    time_ns: int
    headers: Headers
    data: bytes
    pending: int = 0  # how many of those asked for come behind it


class PubAck(msgspec.Struct, frozen=True):
    """The message is stored, and on disk."""

    stream: str
    seq: int
    duplicate: bool = False
    domain: str = ""


class StreamState(msgspec.Struct, frozen=True):
    """Numbers of a stream."""

    messages: int
    bytes: int
    first_seq: int
    last_seq: int
    first_ts: str = ""
    last_ts: str = ""
    num_deleted: int = 0
    num_subjects: int = 0
    consumer_count: int = 0
    subjects: dict[str, int] = {}

    @property
    def removed(self) -> int:
        """How many sequences hold nothing any more."""
        return self.last_seq - self.messages


class StreamInfo(msgspec.Struct, frozen=True):
    """A stream: its configuration as the server tells it, and its state."""

    config: dict[str, Any]
    state: StreamState
    created: str = ""
    mirror: dict[str, Any] | None = None
    sources: list[dict[str, Any]] | None = None
    total: int = 0  # of subjects, when they come in pages

    @property
    def name(self) -> str:
        return str(self.config["name"])


def parse_headers(block: bytes) -> Headers:
    """The headers of a block; the first of a name counts."""
    if not block:
        return NO_HEADERS
    return {
        name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
        for name, value in reversed(hdr.pairs(block))
    }


def check_headers(headers: Headers) -> None:
    """No header may end its line: what follows would be another one."""
    for name, value in headers.items():
        if not name or any(char in ":\r\n" for char in name) or "\r" in value or "\n" in value:
            raise InvalidName(f"not a header: {name!r}: {value!r}")


def ttl_text(seconds: float) -> str:
    """A TTL as its header has it. The server counts in seconds and takes none below one."""
    if not seconds >= 1:
        raise InvalidName(f"a TTL is at least a second, not {seconds}")
    whole = int(seconds)
    return f"{whole}s" if whole == seconds else f"{round(seconds * 1000)}ms"
