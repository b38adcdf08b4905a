"""CONSUMER.MSG.NEXT: the one request of consumers that is answered with messages.

A consumer that is not there is answered as if nobody listened: status 503, if the caller understands that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api import level
from jetstream_py.engine import statuses

if TYPE_CHECKING:
    from jetstream_py.api.service import ApiService, Caller

NEXT = b"$JS.API.CONSUMER.MSG.NEXT."


def next_message(
    service: ApiService,
    path: bytes,
    reply: bytes,
    headers: bytes,
    body: bytes,
    caller: Caller | None,
) -> None:
    stream_name, _, name = path.partition(b".")
    if not reply:
        return
    stream = service.js.streams.get(stream_name.decode("utf-8", "replace"))
    consumer = stream and stream.consumers.get(name.decode("utf-8", "replace"))
    if not consumer:
        if caller is not None and caller.wants_no_responders:
            block = b"NATS/1.0 503\r\nNats-Subject: %b%b\r\n\r\n" % (NEXT, path)
            service.answer(reply, b"", block)
    elif not level.enough(headers):
        service.answer(reply, b"", statuses.API_LEVEL_REQUIRED)
    elif consumer.config.deliver_subject:
        service.answer(reply, b"", statuses.PUSH_BASED)
    else:
        consumer.pull.request(reply, body)
