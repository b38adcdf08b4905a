"""Messages of consumers by pull requests.

A request asks for a batch and for how long; it is over when the batch is full or a status says so. The
next one goes out then, so a server never sends more than the screen, or whoever reads our pipe, has taken.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.aio.msg import Msg

from jetstream_py.cli import units
from jetstream_py.cli.connect import Session
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.message import origin, status
from jetstream_py.migrate.connection import Json, block_of
from jetstream_py.migrate.errors import MigrateError

BATCH: Final = 200
EXPIRES: Final = 30 * units.SECOND
INACTIVE: Final = 60 * units.SECOND  # after which a server forgets a consumer of ours
GRACE: Final = 5.0  # seconds that a status may take
OVER: Final = ("404", "408")  # nothing there, nothing came
FULL: Final = "Batch Completed", "Message Size Exceeds MaxBytes"


class Puller:
    """Pull requests to one consumer."""

    def __init__(self, session: Session, stream: str, consumer: str) -> None:
        self._session = session
        self._subject = f"{session.prefix}CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = session.new_inbox()
        self._arrived: asyncio.Queue[Msg] = asyncio.Queue()
        self._open = False

    async def _keep(self, msg: Msg) -> None:
        self._arrived.put_nowait(msg)

    async def batch(self, size: int, expires: int, no_wait: bool = False) -> AsyncIterator[Msg]:
        """The messages of one request; fewer than asked for when the time is over."""
        if not self._open:
            await self._session.listen(self._inbox, self._keep)
            self._open = True
        body: Json = {"batch": size, "expires": expires}
        if no_wait:
            body["no_wait"] = True
        request = json.dumps(body).encode()
        await self._session.publish(self._subject, request, reply=self._inbox)
        for _ in range(size):
            try:
                deadline = expires / units.SECOND + GRACE
                msg = await asyncio.wait_for(self._arrived.get(), deadline)
            except TimeoutError:
                raise Failure("the consumer does not answer", "it may be gone") from None
            if code := status(msg):
                _judge(code, block_of(msg).get("Description", ""))
                return
            yield msg


def _judge(code: str, text: str) -> None:
    """Raises `Failure` for a status that is more than the end of a request."""
    if code == "503":
        raise Failure("nobody answers: JetStream is off there, or the consumer is gone")
    if code not in OVER and not any(word in text for word in FULL):
        raise Failure(f"the consumer says: {text} ({code})")


class Reading:
    """A stream read with a consumer of our own that acks nothing and goes away with us."""

    def __init__(
        self,
        session: Session,
        stream: str,
        subjects: list[str],
        start: str = "all",
        since: int | None = None,
        sequence: int | None = None,
        headers_only: bool = False,
    ) -> None:
        self._session = session
        self._stream = stream
        self._config: Json = {
            "ack_policy": "none",
            "deliver_policy": start,
            "inactive_threshold": INACTIVE,
            "mem_storage": True,
            "num_replicas": 1,
            "headers_only": headers_only,
        }
        if len(subjects) == 1:
            self._config["filter_subject"] = subjects[0]
        elif subjects:
            self._config["filter_subjects"] = subjects
        if start == "last_per_subject" and not subjects:
            self._config["filter_subject"] = ">"
        if since:
            ago = datetime.now(UTC) - timedelta(seconds=since / units.SECOND)
            self._config |= {
                "deliver_policy": "by_start_time",
                "opt_start_time": units.rfc3339(ago),
            }
        if sequence:
            self._config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": sequence}

    async def messages(self, follow: bool = False) -> AsyncGenerator[Msg, None]:
        """All that are there; with `follow` those that come, too."""
        session = self._session
        body = {"stream_name": self._stream, "config": self._config}
        made = await session.api(f"CONSUMER.CREATE.{self._stream}", body)
        pending = made["num_pending"]
        puller = Puller(session, self._stream, made["name"])
        try:
            while follow or pending:
                size = BATCH if follow else min(BATCH, pending)
                async for msg in puller.batch(size, EXPIRES, no_wait=not follow):
                    of = origin(msg)
                    pending = of.pending if of else 0
                    yield msg
        finally:
            try:
                await session.api(f"CONSUMER.DELETE.{self._stream}.{made['name']}")
            except MigrateError:
                pass  # a server that does not answer now forgets it by itself
