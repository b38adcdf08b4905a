"""Streams and consumers as a person who looks for a mistake wants to see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jetstream_py.embed.records import Records
    from jetstream_py.js.wire import WireJetStream

_LATEST = 20  # publishes that are shown


async def describe(js: WireJetStream | None, records: Records | None) -> str:
    """A few lines."""
    lines: list[str] = []
    for stream in await js.streams() if js is not None else []:
        config, state = stream.config, stream.state
        where = ", ".join(config.get("subjects") or ["no subjects"])
        lines.append(
            f"stream {config['name']} ({where}): {state.messages} messages, "
            f"{state.first_seq} to {state.last_seq}"
        )
        assert js is not None
        answer = await js.api(f"CONSUMER.LIST.{config['name']}")
        lines += [f"  {_consumer(each)}" for each in answer.get("consumers") or []]
    return "\n".join([*(lines or ["no streams"]), *_publishes(records)])


def _consumer(info: dict[str, Any]) -> str:
    delivered, floor = info["delivered"], info["ack_floor"]
    told = [
        f"{info['num_pending']} to come",
        f"delivered to {delivered['stream_seq']}",
        f"acked to {floor['stream_seq']}",
        f"{info['num_ack_pending']} unacked",
        f"{info['num_redelivered']} redelivered",
    ]
    if info["num_waiting"]:
        told.append(f"{info['num_waiting']} requests wait")
    return f"consumer {info['name']}: {', '.join(told)}"


def _publishes(records: Records | None) -> Iterator[str]:
    found = records.own() if records is not None else []
    if not found:
        return
    yield f"the last {min(_LATEST, len(found))} of {len(found)} publishes:"
    for each in found[-_LATEST:]:
        headers = f" {dict(each.headers)}" if each.headers else ""
        data = each.data if len(each.data) <= 60 else each.data[:60] + b"..."
        yield f"  {each.subject} {data!r}{headers}"
