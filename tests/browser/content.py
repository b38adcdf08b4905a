"""What the servers hold that the browser looks at."""

from __future__ import annotations

from pathlib import Path

from tests.jetstream.support import JetStream
from tests.support.raw import RawClient
from tests.support.server import Server
from tests.support.wire import connect

EVIL = "<img/src=x/onerror=pwned=1>"  # without blanks, as a subject has to be
SCRIPT = "</script><script>pwned=2</script>"
BIG = 300 * 1024


class Client(JetStream):
    """A client of a server that may ask for a password."""

    def __init__(self, server: Server, user: str = "", password: str = "") -> None:
        given = {"user": user, "pass": password} if user else {}
        self._opening = connect(headers=True, no_responders=True, name=EVIL, **given)
        super().__init__(server, server.directory)

    def _connect(self) -> RawClient:
        inbox = f"SUB {self.inboxes}.* 1\r\n".encode()
        client = self.server.client(self._opening + inbox)
        client.exchange()
        return client


def fill(client: Client) -> None:
    """ORDERS with sixty messages and a consumer, ODD with what one does not expect, a bucket."""
    client.create("ORDERS", subjects=["orders.>"])
    for number in range(1, 61):
        subject = "orders.paid" if number % 10 == 0 else "orders.new"
        client.publish(subject, b'{"order":%d,"open":true}' % number)
    consumer = {"durable_name": "worker", "ack_policy": "explicit"}
    client.ok("CONSUMER.CREATE.ORDERS.worker", {"stream_name": "ORDERS", "config": consumer})
    client.create("ODD", subjects=["odd.>"])
    client.publish(f"odd.{EVIL}", SCRIPT.encode(), {"Evil": EVIL})
    client.publish("odd.binary", bytes(range(256)))
    client.publish("odd.big", b"01234567" * (BIG // 8))
    client.publish("odd." + "long" * 100, b"wide" * 200)
    client.publish("odd.empty")
    client.create(
        "KV_conf", subjects=["$KV.conf.>"], max_msgs_per_subject=3, allow_rollup_hdrs=True
    )
    for key, value in (
        ("web.theme", "dark"),
        ("web.limit", "10"),
        ("web.limit", "20"),
        ("old", "1"),
    ):
        client.publish(f"$KV.conf.{key}", value.encode())
    client.publish("$KV.conf.old", b"", {"KV-Operation": "DEL"})
    client.publish(f"$KV.conf.{EVIL}", SCRIPT.encode())


def guarded_config(store: Path) -> str:
    """ann may do all; bob may subscribe to new orders only."""
    return f"""
        jetstream {{ store_dir: "{store}" }}
        authorization {{
            users: [
                {{ user: ann, password: secret }}
                {{ user: bob, password: letmein, permissions: {{ subscribe: ["orders.new"] }} }}
            ]
        }}
    """
