"""JetStream over a bus: the requests of `$JS.API` and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from jetstream_py import headers as hdr
from jetstream_py.js import direct as reads
from jetstream_py.js.bus import Bus
from jetstream_py.js.errors import ApiError, InvalidName, PayloadTooLarge, api_error
from jetstream_py.js.reader import Reader, Start
from jetstream_py.js.types import (
    NO_HEADERS,
    Headers,
    Message,
    PubAck,
    StreamInfo,
    check_headers,
    ttl_text,
)

API_PREFIX: Final = "$JS.API"
TIMEOUT: Final = 5.0  # seconds that an answer may take

MSG_ID: Final = hdr.MSG_ID.decode()
EXPECTED_STREAM: Final = hdr.EXPECTED_STREAM.decode()
EXPECTED_LAST_SEQ: Final = hdr.EXPECTED_LAST_SEQ.decode()
EXPECTED_LAST_SUBJECT_SEQ: Final = hdr.EXPECTED_LAST_SUBJECT_SEQ.decode()
TTL: Final = hdr.TTL.decode()


class _Failure(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Ack(msgspec.Struct, frozen=True):
    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    domain: str = ""
    error: _Failure | None = None


class _Answer(msgspec.Struct, frozen=True):
    error: _Failure | None = None


_ack = msgspec.json.Decoder(_Ack)
_answer = msgspec.json.Decoder(_Answer)


class WireJetStream:
    """The streams of the account that a bus speaks for (see `JetStream`)."""

    def __init__(
        self, bus: Bus, *, domain: str = "", prefix: str = "", timeout: float = TIMEOUT
    ) -> None:
        """`domain` or `prefix` name an API that is not the account's own."""
        if domain and prefix:
            raise InvalidName("a domain and a prefix exclude each other")
        self.bus = bus
        self.prefix = prefix.rstrip(".") or (f"$JS.{domain}.API" if domain else API_PREFIX)
        self.timeout = timeout

    @property
    def max_payload(self) -> int:
        return self.bus.max_payload

    def new_id(self) -> str:
        return self.bus.new_id()

    def now_ns(self) -> int:
        return self.bus.now_ns()

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
        asked = (
            (MSG_ID, msg_id),
            (EXPECTED_STREAM, expected_stream),
            (EXPECTED_LAST_SEQ, expected_last_seq),
            (EXPECTED_LAST_SUBJECT_SEQ, expected_last_subject_seq),
            (TTL, None if ttl is None else ttl_text(ttl)),
        )
        added = {name: str(value) for name, value in asked if value is not None}
        whole = {**headers, **added} if added else headers
        check_headers(whole)
        size = len(data) + sum(len(name) + len(value) + 4 for name, value in whole.items())
        if size > self.max_payload:
            raise PayloadTooLarge(f"{size} bytes, and the server takes {self.max_payload}")
        answer = await self.bus.request(subject, data, whole, self.timeout)
        try:
            ack = _ack.decode(answer.data)
        except msgspec.DecodeError:
            ack = _Ack()
        if ack.error is not None:
            raise _error(ack.error)
        if not ack.seq:  # somebody else listens there, too
            raise ApiError(500, 0, f"no PubAck: {answer.data[:100]!r}")
        return PubAck(ack.stream, ack.seq, ack.duplicate, ack.domain)

    async def api(self, verb: str, body: object = None) -> dict[str, Any]:
        answer: dict[str, Any] = await self._ask(verb, body, dict[str, Any])
        return answer

    async def _ask(self, verb: str, body: object, kind: type[Any]) -> Any:
        data = msgspec.json.encode(body) if body is not None else b""
        answer = await self.bus.request(f"{self.prefix}.{verb}", data, NO_HEADERS, self.timeout)
        try:
            failure = _answer.decode(answer.data).error
            if failure is None:
                return msgspec.json.decode(answer.data, type=kind)
        except msgspec.DecodeError as error:
            raise ApiError(500, 0, f"{verb}: {error}") from None
        raise _error(failure)

    # -- reading -----------------------------------------------------------------------------------

    async def get(self, stream: str, seq: int, *, direct: bool = True) -> Message:
        return await reads.get(self, stream, {"seq": seq}, direct)

    async def last(self, stream: str, subject: str, *, direct: bool = True) -> Message:
        if direct:
            return await reads.last(self, stream, subject)
        return await reads.get(self, stream, {"last_by_subj": subject}, direct)

    async def next(
        self, stream: str, subject: str, seq: int = 1, *, direct: bool = True
    ) -> Message:
        return await reads.get(self, stream, {"seq": seq, "next_by_subj": subject}, direct)

    async def at_time(self, stream: str, time_ns: int) -> Message:
        return await reads.at_time(self, stream, time_ns)

    async def batch(
        self, stream: str, subject: str, seq: int = 1, *, batch: int = 256, max_bytes: int = 0
    ) -> list[Message]:
        query = {"seq": seq, "next_by_subj": subject, "batch": batch, "max_bytes": max_bytes}
        return (await reads.batch(self, stream, query)).messages

    async def last_for(
        self, stream: str, subjects: Sequence[str], *, up_to_seq: int = 0
    ) -> list[Message]:
        return await reads.last_for(self, stream, subjects, up_to_seq)

    def read(
        self,
        stream: str,
        filters: Sequence[str] = (),
        start: Start = Start(),  # noqa: B008 (it is frozen)
        *,
        headers_only: bool = False,
    ) -> Reader:
        return Reader(self, stream, filters, start, headers_only)

    # -- streams -----------------------------------------------------------------------------------

    async def create_stream(self, config: dict[str, Any]) -> StreamInfo:
        found: StreamInfo = await self._ask(f"STREAM.CREATE.{config['name']}", config, StreamInfo)
        return found

    async def update_stream(self, config: dict[str, Any]) -> StreamInfo:
        found: StreamInfo = await self._ask(f"STREAM.UPDATE.{config['name']}", config, StreamInfo)
        return found

    async def stream_info(self, stream: str) -> StreamInfo:
        found: StreamInfo = await self._ask(f"STREAM.INFO.{stream}", None, StreamInfo)
        return found

    async def delete_stream(self, stream: str) -> None:
        await self.api(f"STREAM.DELETE.{stream}")

    async def streams(self, subject: str = "") -> list[StreamInfo]:
        found: list[StreamInfo] = []
        while True:
            body = {"offset": len(found), **({"subject": subject} if subject else {})}
            page: _Streams = await self._ask("STREAM.LIST", body, _Streams)
            found += page.streams or []
            if not page.streams or len(found) >= page.total:
                return found

    async def purge(self, stream: str, subject: str = "", *, seq: int = 0, keep: int = 0) -> int:
        asked: dict[str, object] = {"filter": subject, "seq": seq, "keep": keep}
        body = {name: value for name, value in asked.items() if value}
        answer = await self.api(f"STREAM.PURGE.{stream}", body or None)
        return int(answer.get("purged", 0))

    async def delete_message(self, stream: str, seq: int, *, erase: bool = True) -> None:
        await self.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq, "no_erase": not erase})

    async def subjects(self, stream: str, subject: str = ">") -> dict[str, int]:
        found: dict[str, int] = {}
        while True:
            body = {"subjects_filter": subject, "offset": len(found)}
            page: StreamInfo = await self._ask(f"STREAM.INFO.{stream}", body, StreamInfo)
            found |= page.state.subjects
            if not page.state.subjects or len(found) >= page.total:
                return found


class _Streams(msgspec.Struct, frozen=True):
    total: int = 0
    streams: list[StreamInfo] | None = None


def _error(failure: _Failure) -> ApiError:
    return api_error(failure.code, failure.err_code, failure.description)
