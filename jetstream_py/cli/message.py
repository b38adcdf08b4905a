"""Messages on the line and on the screen: headers, requests with any number of answers, what JetStream
says in reply subjects.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import click
from nats.aio.msg import Msg

from jetstream_py import headers
from jetstream_py.cli import show
from jetstream_py.cli.connect import Session
from jetstream_py.cli.failure import Failure
from jetstream_py.migrate.connection import Json, block_of

NO_RESPONDERS: Final = "503"
PENDING: Final = (
    1000  # messages that wait to be shown; beyond them nats-py keeps 128 MB, then drops
)


def header_block(pairs: Sequence[str]) -> bytes:
    """`Name:value` as given with -H. Raises `click.BadParameter`."""
    if not pairs:
        return b""
    lines = [headers.START]
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if not (colon and name.strip()) or "\r" in pair or "\n" in pair:
            raise click.BadParameter(f"{pair!r} is no Name:value", param_hint="-H")
        lines.append(f"{name.strip()}: {value.strip()}".encode())
    return b"\r\n".join([*lines, b"", b""])


def status(msg: Msg) -> str:
    """Of a message that is a word of the server; nothing for others."""
    return block_of(msg).get("Status", "")


def header_pairs(msg: Msg) -> list[tuple[str, str]]:
    return decoded(block_of(msg).raw)


def decoded(block: bytes) -> list[tuple[str, str]]:
    return [
        (name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
        for name, value in headers.pairs(block)
    ]


class Origin(NamedTuple):
    """What a reply subject of JetStream says of the message."""

    stream: str
    consumer: str
    tries: int
    stream_seq: int
    consumer_seq: int
    time: int
    pending: int


def origin(msg: Msg) -> Origin | None:
    """None for messages that no consumer sent."""
    tokens = msg.reply.split(".")
    if tokens[:2] != ["$JS", "ACK"]:
        return None
    if len(tokens) >= 11:  # with a domain and an account before the stream
        tokens = tokens[:2] + tokens[4:]
    if len(tokens) < 9:
        return None
    tries, stream_seq, consumer_seq, time, pending = map(int, tokens[4:9])
    return Origin(tokens[2], tokens[3], tries, stream_seq, consumer_seq, time, pending)


def body_json(payload: bytes, name: str = "data") -> Json:
    """Text as text, anything else in base64."""
    try:
        return {name: payload.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(payload).decode()}


def as_json(msg: Msg) -> Json:
    found: Json = {"subject": msg.subject}
    if msg.reply:
        found["reply"] = msg.reply
    if pairs := header_pairs(msg):
        found["headers"] = grouped(pairs)
    if of := origin(msg):
        found |= {
            "stream": of.stream,
            "consumer": of.consumer,
            "stream_seq": of.stream_seq,
            "consumer_seq": of.consumer_seq,
            "tries": of.tries,
            "pending": of.pending,
            "time": datetime.fromtimestamp(of.time / 1e9, UTC).isoformat(),
        }
    return found | body_json(msg.data)


def grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def print_headers(pairs: Sequence[tuple[str, str]]) -> None:
    for name, value in pairs:
        text = show.safe(name)
        styled = click.style(text, fg="cyan") if show.terminal() else text
        show.line(f"{styled}: {show.safe(value)}")
    if pairs:
        show.line()


def print_body(payload: bytes) -> None:
    """As text where it is; a terminal never gets control characters."""
    if show.terminal():
        show.line(show.safe(payload.decode("utf-8", "backslashreplace")))
    else:
        show.raw(payload)
    show.line()


class Requests:
    """Requests that share one subscription, with header blocks as they are."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prefix = session.new_inbox()
        self._answers: dict[str, asyncio.Queue[Msg]] = {}
        self._made = 0

    async def open(self) -> Requests:
        await self._session.listen(f"{self._prefix}.*", self._arrived)
        return self

    async def _arrived(self, msg: Msg) -> None:
        queue = self._answers.get(msg.subject)
        if queue is None and len(self._answers) == 1:
            # The answer to a pull has the subject that it was stored with.
            queue = next(iter(self._answers.values()))
        if queue is not None:
            queue.put_nowait(msg)

    async def send(self, subject: str, block: bytes, payload: bytes) -> str:
        """The inbox that the answers go to."""
        self._made += 1
        inbox = f"{self._prefix}.{self._made}"
        self._answers[inbox] = asyncio.Queue()
        await publish(self._session, subject, inbox, block, payload)
        return inbox

    async def answer(self, inbox: str, seconds: float) -> Msg | None:
        """The next one; None when the time is over."""
        try:
            return await asyncio.wait_for(self._answers[inbox].get(), seconds)
        except TimeoutError:
            return None

    def done(self, inbox: str) -> None:
        del self._answers[inbox]

    async def one(self, subject: str, block: bytes, payload: bytes, hint: str = "") -> Msg:
        """Exactly one answer. Raises `Failure`."""
        inbox = await self.send(subject, block, payload)
        try:
            found = await self.answer(inbox, self._session.timeout)
        finally:
            self.done(inbox)
        if found is None:
            text = f"no answer on {subject} within {self._session.timeout:g} s"
            raise Failure(text, "--timeout waits longer")
        if status(found) == NO_RESPONDERS and not found.data:
            raise Failure(f"nobody answers on {subject}", hint)
        return found


async def publish(session: Session, subject: str, reply: str, block: bytes, payload: bytes) -> None:
    """Raises `Failure` for what would end the connection."""
    check_subject(subject)
    most = session.server_info.get("max_payload", 0)
    if most and len(block) + len(payload) > most:
        raise Failure(
            f"{len(block) + len(payload):,} bytes are more than the server takes ({most:,})"
        )
    await session.publish_raw(subject, reply, block, payload)


def check_subject(subject: str, wildcards: bool = False) -> None:
    tokens = subject.split(".")
    if not all(tokens) or any(character in subject for character in " \t\r\n"):
        raise click.BadParameter(f"{subject!r} is no subject", param_hint="SUBJECT")
    if not wildcards and ("*" in tokens or ">" in tokens):
        raise click.BadParameter(f"{subject!r} has wildcards", param_hint="SUBJECT")
