"""CONSUMER.MSG.NEXT: the one request of consumers that is answered with messages.

A request to a consumer that is not there is a request that nobody listens to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py.api import level
from jetstream_py.engine import statuses

if TYPE_CHECKING:
    from jetstream_py.api.service import ApiService

NEXT = b"$JS.API.CONSUMER.MSG.NEXT."


def next_message(
    service: ApiService, path: bytes, reply: bytes, headers: bytes, body: bytes
) -> bool:
    """Is there such a consumer?"""
    stream_name, _, name = path.partition(b".")
    stream = service.js.streams.get(stream_name.decode("utf-8", "replace"))
    consumer = stream and stream.consumers.get(name.decode("utf-8", "replace"))
    if not consumer:
        return False
    if not reply:
        return True
    if headers and not level.enough(headers):
        service.answer(reply, b"", statuses.API_LEVEL_REQUIRED)
    elif consumer.config.deliver_subject:
        service.answer(reply, b"", statuses.PUSH_BASED)
    else:
        consumer.pull.request(reply, body)
    return True
