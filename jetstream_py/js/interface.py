"""JetStream as key-value, objects and applications use it.

Small on purpose: publishes with their acks and expectations, reads by sequence and subject, ordered reading,
and the streams themselves. `WireJetStream` is it over any bus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from jetstream_py.js.reader import Reader, Start
from jetstream_py.js.types import NO_HEADERS, Headers, Message, PubAck, StreamInfo


class JetStream(Protocol):
    """The streams of one account."""

    @property
    def prefix(self) -> str:
        """Of the API: `$JS.API`, `$JS.<domain>.API` or what an import made of it."""
        ...

    @property
    def max_payload(self) -> int: ...

    def new_id(self) -> str: ...

    def now_ns(self) -> int: ...

    async def publish(
        self,
        subject: str,
        data: bytes = b"",
        *,
        headers: Headers = NO_HEADERS,
        msg_id: str | None = None,
        expected_stream: str | None = None,
        expected_last_seq: int | None = None,
        expected_last_subject_seq: int | None = None,
        ttl: float | None = None,
    ) -> PubAck:
        """Store a message. Returns when it is on disk; raises WrongLastSequence, ApiError, NoResponders."""
        ...

    async def api(self, verb: str, body: object = None) -> dict[str, Any]:
        """Any request of `$JS.API` by the part of its subject behind the prefix."""
        ...

    # -- reading -----------------------------------------------------------------------------------

    async def get(self, stream: str, seq: int, *, direct: bool = True) -> Message:
        """By sequence; `direct` needs `allow_direct`. Raises MessageNotFound, like the next two."""
        ...

    async def last(self, stream: str, subject: str, *, direct: bool = True) -> Message:
        """The newest of a subject."""
        ...

    async def next(
        self, stream: str, subject: str, seq: int = 1, *, direct: bool = True
    ) -> Message:
        """The first of a subject at or behind a sequence."""
        ...

    async def at_time(self, stream: str, time_ns: int) -> Message:
        """The first message that is not older."""
        ...

    async def batch(
        self, stream: str, subject: str, seq: int = 1, *, batch: int = 256, max_bytes: int = 0
    ) -> list[Message]:
        """The next messages of a subject by one direct read; empty when there are none."""
        ...

    async def last_for(
        self, stream: str, subjects: Sequence[str], *, up_to_seq: int = 0
    ) -> list[Message]:
        """The newest of each subject (of up to 1,024), as of a sequence if one is given."""
        ...

    def read(
        self,
        stream: str,
        filters: Sequence[str] = (),
        start: Start = Start(),  # noqa: B008 (it is frozen)
        *,
        headers_only: bool = False,
    ) -> Reader:
        """All messages in order, first those that are there, then those that come; with `async with`."""
        ...

    # -- streams -----------------------------------------------------------------------------------

    async def create_stream(self, config: dict[str, Any]) -> StreamInfo: ...

    async def update_stream(self, config: dict[str, Any]) -> StreamInfo: ...

    async def stream_info(self, stream: str) -> StreamInfo:
        """Raises StreamNotFound."""
        ...

    async def delete_stream(self, stream: str) -> None: ...

    async def streams(self, subject: str = "") -> list[StreamInfo]:
        """All, or those whose subjects overlap this one."""
        ...

    async def purge(self, stream: str, subject: str = "", *, seq: int = 0, keep: int = 0) -> int:
        """Remove messages: all, those of a subject, those before a sequence, all but the newest."""
        ...

    async def delete_message(self, stream: str, seq: int, *, erase: bool = True) -> None: ...

    async def subjects(self, stream: str, subject: str = ">") -> dict[str, int]:
        """The subjects that have messages, and how many."""
        ...
