"""Accounts of an operator: limits by the number of copies, and streams that are there before anybody is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.transcript import assert_same
from tests.jetstream.support import JetStream
from tests.support.raw import RawClient
from tests.support.server import KINDS, Kind, Server, StartServer
from tests.support.tokens import Account, Operator, User
from tests.support.wire import connect

OPERATOR = Operator()
SYSTEM = Account(OPERATOR, "SYS")
ACCOUNT = Account(OPERATOR, "ACC")
USER = User(ACCOUNT)
CONSUMER: dict[str, object] = {"durable_name": "C", "ack_policy": "explicit"}
LARGE = {"mem_storage": 500, "disk_storage": 1000, "streams": -1, "consumer": -1}
SMALL = {**LARGE, "streams": 2, "consumer": 1, "max_ack_pending": 7}
STRICT = {**LARGE, "disk_max_stream_bytes": 700, "max_bytes_required": True}
LIMITS: dict[str, dict[str, Any]] = {
    "none": {},
    "no storage": {"streams": 5, "consumer": 5},
    "for all": SMALL,
    "any number": {**LARGE, "streams": 0, "consumer": 0},
    "one copy": {"tiered_limits": {"R1": SMALL}},
    "three copies": {"tiered_limits": {"R3": SMALL}},
    "both": {"tiered_limits": {"R1": STRICT, "R3": SMALL}},
}


def config(limits: dict[str, Any], store: str = "store") -> str:
    tokens = f"{ACCOUNT.public}: {ACCOUNT.jwt(nats={'limits': limits})}"
    return f"""operator: {OPERATOR.jwt()}
        resolver: MEMORY
        system_account: {SYSTEM.public}
        resolver_preload {{ {SYSTEM.public}: {SYSTEM.jwt()}\n{tokens} }}
        jetstream {{ store_dir: "{store}" }}"""


class Holder(JetStream):
    """A connection by a JWT."""

    def _connect(self) -> RawClient:
        client = self.server.client()
        who = {"jwt": USER.jwt(), "sig": USER.key.sig(client.info["nonce"])}
        client.send(connect(headers=True, no_responders=True, **who))
        client.send(f"SUB {self.inboxes}.* 1\r\n".encode())
        client.exchange()
        return client


def story(server: Server) -> list[str]:
    js = Holder(server, server.directory)
    js.api("INFO")
    for name, config in (
        ("S", {"max_bytes": 600, "storage": "file"}),
        ("T", {"max_bytes": 500, "storage": "file"}),
        ("T", {"max_bytes": 701, "storage": "file"}),
        ("T", {}),
        ("X", {"max_bytes": 10, "num_replicas": 3}),
        ("M", {"max_bytes": 100, "storage": "memory"}),
        ("U", {"max_bytes": 1, "max_consumers": 2}),
        ("U", {"max_bytes": 1}),
    ):
        js.api(f"STREAM.CREATE.{name}", {"name": name, **config})
    for _ in range(3):
        js.request("S", b"x" * 300)
    for more in ({}, {"max_ack_pending": 8}, {"durable_name": "D"}):
        consumer = CONSUMER | more
        verb = f"CONSUMER.DURABLE.CREATE.S.{consumer['durable_name']}"
        js.api(verb, {"stream_name": "S", "config": consumer})
    js.api("STREAM.UPDATE.S", {"name": "S", "max_bytes": 300})
    js.api("INFO")
    js.close()
    return js.lines


@pytest.mark.parametrize("limits", LIMITS)
def test_limits_of_tokens(start_server: StartServer, limits: str) -> None:
    assert_same(*(story(start_server(kind, config(LIMITS[limits]))) for kind in KINDS))


@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_there_before_their_account_is_asked_for(
    start_server: StartServer, kind: Kind, tmp_path: Any
) -> None:
    settings = config(LARGE, str(tmp_path))
    server = start_server(kind, settings)
    js = Holder(server, tmp_path)
    js.create("S", subjects=["s"])
    js.publish("s", b"x")
    js.close()
    server.stop()
    again = start_server(kind, settings, ["-m", "-1"])
    stats = again.monitor("/varz")["jetstream"]["stats"]
    assert (stats["accounts"], stats["storage"]) == (1, 32)
    assert "Restored 1 messages for stream" in again.log()
