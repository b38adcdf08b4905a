"""Questions to JetStream: what a stream is, where in it a time lies, a consumer for a while."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark_jetstream.connection import Connection, no_responders
from pyspark_jetstream.errors import ApiError, JetStreamError
from pyspark_jetstream.limits import CONSUMER_IDLE

API: Final = "$JS.API."
NOT_FOUND: Final = 10037  # no message found
SECOND: Final = 1_000_000_000


@dataclass(frozen=True)
class StreamInfo:
    """What planning needs to know of a stream."""

    name: str
    created: str  # names the stream's life: another one after it was deleted and made again
    first: int  # the first sequence that has a message, or will have one
    next: int  # the sequence of the next message
    messages: int
    direct: bool
    retention: str
    duplicate_window: float  # seconds
    subjects: tuple[str, ...] = ()


def request(link: Connection, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer of the JetStream API. Raises `ApiError`."""
    data = b"" if body is None else json.dumps(body).encode()
    block, answer = link.ask(API + verb, data)
    if no_responders(block):
        raise ApiError(verb, 503, 0, "nobody answers; is JetStream enabled for this account?")
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise JetStreamError(f"{verb}: the answer is no JSON") from None
    if error := found.get("error"):
        code, err_code = error.get("code", 0), error.get("err_code", 0)
        raise ApiError(verb, code, err_code, error.get("description", ""))
    return found


def stream_info(link: Connection, stream: str) -> StreamInfo:
    found = request(link, f"STREAM.INFO.{stream}")
    config, state = found["config"], found["state"]
    return StreamInfo(
        name=config["name"],
        created=found["created"],
        first=state["first_seq"] or 1,
        next=state["last_seq"] + 1,
        messages=state["messages"],
        direct=bool(config.get("allow_direct")),
        retention=config["retention"],
        duplicate_window=config.get("duplicate_window", 0) / SECOND,
        subjects=tuple(config.get("subjects") or ()),
    )


def seq_at(link: Connection, info: StreamInfo, ns: int) -> int:
    """The first sequence stored at or after a time; the next one if there is none."""
    try:
        found = request(link, f"STREAM.MSG.GET.{info.name}", {"start_time": time_text(ns)})
    except ApiError as error:
        if error.err_code == NOT_FOUND:
            return info.next
        raise
    return int(found["message"]["seq"])


def time_text(ns: int) -> str:
    seconds, rest = divmod(ns, SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def create_consumer(
    link: Connection, stream: str, seq: int, subjects: tuple[str, ...], headers_only: bool
) -> str:
    """One that nobody else sees, acks nothing and is forgotten when it is not asked for some time."""
    config: dict[str, Any] = {
        "ack_policy": "none",
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": seq,
        "inactive_threshold": CONSUMER_IDLE * SECOND,
        "mem_storage": True,
        "num_replicas": 1,
    }
    if len(subjects) == 1:
        config["filter_subject"] = subjects[0]
    elif subjects:
        config["filter_subjects"] = list(subjects)
    if headers_only:
        config["headers_only"] = True
    body = {"stream_name": stream, "config": config}
    return str(request(link, f"CONSUMER.CREATE.{stream}", body)["name"])


def delete_consumer(link: Connection, stream: str, name: str) -> None:
    request(link, f"CONSUMER.DELETE.{stream}.{name}")
