"""Header-only messages by which a consumer speaks of itself: how a pull ended, that it is alive."""

from __future__ import annotations

from typing import Final

from jetstream_py import headers as hdr

NO_MESSAGES: Final = hdr.status(404, "No Messages")
REQUESTS_PENDING: Final = hdr.status(408, "Requests Pending")
PUSH_BASED: Final = hdr.status(409, "Consumer is push based")
CONSUMER_DELETED: Final = hdr.status(409, "Consumer Deleted")
EXCEEDED_MAX_WAITING: Final = hdr.status(409, "Exceeded MaxWaiting")
API_LEVEL_REQUIRED: Final = hdr.status(412, "Required Api Level")
PIN_ID_MISMATCH: Final = hdr.status(423, "Nats-Pin-Id mismatch")
FLOW_CONTROL: Final = hdr.status(100, "FlowControl Request")

REQUEST_TIMEOUT: Final = (408, "Request Timeout")
MAX_BYTES: Final = (409, "Message Size Exceeds MaxBytes")
BATCH_COMPLETED: Final = (409, "Batch Completed")
SERVER_SHUTDOWN: Final = (409, "Server Shutdown")
WRONG_PIN_ID: Final = (423, "Nats-Wrong-Pin-Id")


def bad_request(text: str) -> bytes:
    return hdr.status(400, f"Bad Request - {text}")


def exceeded(what: str, limit: object) -> bytes:
    return hdr.status(409, f"Exceeded {what} of {limit}")


def ended(why: tuple[int, str], messages: int, size: int) -> bytes:
    """The end of a request that says what it did not get."""
    return hdr.extend(
        hdr.status(*why),
        (b"Nats-Pending-Messages", b"%d" % messages),
        (b"Nats-Pending-Bytes", b"%d" % size),
    )


def heartbeat(consumer_seq: int, stream_seq: int, stalled: bytes = b"") -> bytes:
    pairs = [
        (b"Nats-Last-Consumer", b"%d" % consumer_seq),
        (b"Nats-Last-Stream", b"%d" % stream_seq),
    ]
    if stalled:
        pairs.append((b"Nats-Consumer-Stalled", stalled))
    return hdr.extend(hdr.status(100, "Idle Heartbeat"), *pairs)
