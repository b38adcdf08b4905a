"""Advisories about consumers: their subjects, their fields, and silence when nobody listens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from jetstream_py.api.consumer_advisories import ConsumerEvents
from jetstream_py.engine.settings import Settings

HEAD = '"id":"ID","timestamp":"1970-01-01T00:00:01Z",'
NAMES = '"stream":"S","consumer":"C",'


class FakeJetStream:
    """What advisories need of an account; whatever is sent is kept."""

    def __init__(self, listens: bool) -> None:
        self.settings = Settings()
        self.listens = listens
        self.sent: list[tuple[bytes, str]] = []
        self.bus = self.clock = self.outbox = self

    def has_interest(self, subject: bytes) -> bool:
        return self.listens

    def now_ns(self) -> int:
        return 1_000_000_000

    def new_id(self) -> str:
        return "ID"

    def send(self, bus: object, subject: bytes, data: bytes) -> None:
        self.sent.append((subject, data.decode()))


Tell = Callable[[ConsumerEvents], None]
EVENTS: list[tuple[Tell, str, str, str]] = [
    (
        lambda events: events.created("S", "C"),
        "ADVISORY.CONSUMER.CREATED",
        "advisory.v1.consumer_action",
        '"action":"create"',
    ),
    (
        lambda events: events.deleted("S", "C"),
        "ADVISORY.CONSUMER.DELETED",
        "advisory.v1.consumer_action",
        '"action":"delete"',
    ),
    (
        lambda events: events.paused("S", "C", True, 2_000_000_000),
        "ADVISORY.CONSUMER.PAUSE",
        "advisory.v1.consumer_pause",
        '"paused":true,"pause_until":"1970-01-01T00:00:02Z"',
    ),
    (
        lambda events: events.paused("S", "C", False, 0),
        "ADVISORY.CONSUMER.PAUSE",
        "advisory.v1.consumer_pause",
        '"paused":false,"pause_until":"0001-01-01T00:00:00Z"',
    ),
    (
        lambda events: events.max_deliver("S", "C", 7, 3),
        "ADVISORY.CONSUMER.MAX_DELIVERIES",
        "advisory.v1.max_deliver",
        '"stream_seq":7,"deliveries":3',
    ),
    (
        lambda events: events.nak("S", "C", 2, 7, 1),
        "ADVISORY.CONSUMER.MSG_NAKED",
        "advisory.v1.nak",
        '"consumer_seq":2,"stream_seq":7,"deliveries":1',
    ),
    (
        lambda events: events.terminated("S", "C", 2, 7, 1, ""),
        "ADVISORY.CONSUMER.MSG_TERMINATED",
        "advisory.v1.terminated",
        '"consumer_seq":2,"stream_seq":7,"deliveries":1',
    ),
    (
        lambda events: events.terminated("S", "C", 2, 7, 1, "not <ours>"),
        "ADVISORY.CONSUMER.MSG_TERMINATED",
        "advisory.v1.terminated",
        '"consumer_seq":2,"stream_seq":7,"deliveries":1,"reason":"not \\u003cours\\u003e"',
    ),
    (
        lambda events: events.ack_sample("S", "C", 2, 7, 500, 1),
        "METRIC.CONSUMER.ACK",
        "metric.v1.consumer_ack",
        '"consumer_seq":2,"stream_seq":7,"ack_time":500,"deliveries":1',
    ),
]
GROUP_EVENTS: list[tuple[Tell, str, str, str]] = [
    (
        lambda events: events.pinned("S", "C", "g", "PIN"),
        "ADVISORY.CONSUMER.PINNED",
        "advisory.v1.consumer_group_pinned",
        '"group":"g","pinned_id":"PIN"',
    ),
    (
        lambda events: events.unpinned("S", "C", "g", "admin"),
        "ADVISORY.CONSUMER.UNPINNED",
        "advisory.v1.consumer_group_unpinned",
        '"group":"g","reason":"admin"',
    ),
]


def told(tell: Tell, listens: bool) -> list[tuple[bytes, str]]:
    js = FakeJetStream(listens)
    tell(ConsumerEvents(cast(Any, js)))
    return js.sent


@pytest.mark.parametrize(("tell", "subject", "kind", "fields"), EVENTS + GROUP_EVENTS)
def test_events(tell: Tell, subject: str, kind: str, fields: str) -> None:
    account = '"account":"$G",' if "consumer_group" in kind else ""
    text = f'{{"type":"io.nats.jetstream.{kind}",{HEAD}{account}{NAMES}{fields}}}'
    assert told(tell, listens=True) == [(f"$JS.EVENT.{subject}.S.C".encode(), text)]
    assert json.loads(text)


@pytest.mark.parametrize("tell", [each[0] for each in EVENTS + GROUP_EVENTS])
@pytest.mark.behaviour("DLV-041")
def test_nobody_listens(tell: Tell) -> None:
    assert told(tell, listens=False) == []
