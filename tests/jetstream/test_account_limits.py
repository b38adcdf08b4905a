"""What an account and the server allow its streams."""

from __future__ import annotations

from tests.jetstream.support import OwnServer, own_server


def account(limits: str) -> str:
    block = f"A {{ users: [{{user: a, password: a}}]\n jetstream {{ {limits} }} }}"
    return f"accounts {{ {block} }}\nno_auth_user: a\n"


@own_server("STR-110", config=account("max_streams: 1"))
def test_number_of_streams(js: OwnServer) -> None:
    js.create("S")
    error = js.create_refused("T")
    assert (error["code"], error["err_code"]) == (400, 10027)
    js.create("S")
    js.ok("INFO")
    js.ok("STREAM.DELETE.S")
    js.create("T")


@own_server("STR-111", config=account("max_bytes_required: true"))
def test_limit_is_required(js: OwnServer) -> None:
    error = js.create_refused("S")
    assert (error["code"], error["err_code"]) == (400, 10113)
    js.create("S", max_bytes=1000)
    js.update_refused("S")
    js.ok("INFO")


@own_server("STR-112", config=account("disk_max_stream_bytes: 1000, mem_max_stream_bytes: 500"))
def test_limit_of_a_stream(js: OwnServer) -> None:
    error = js.create_refused("S", max_bytes=1001)
    assert (error["code"], error["err_code"]) == (400, 10122)
    js.create_refused("S", max_bytes=501, storage="memory")
    js.create("S", max_bytes=1000)
    js.api("STREAM.CREATE.T", {"name": "T"})
    js.ok("INFO")


@own_server("STR-113", config="jetstream { max_file_store: 1MB, max_memory_store: 1MB }\n")
def test_reservation_above_the_server(js: OwnServer) -> None:
    error = js.create_refused("S", max_bytes=2 << 20)
    assert error["err_code"] == 10047
    error = js.create_refused("S", max_bytes=2 << 20, storage="memory")
    assert error["err_code"] == 10028
    js.create("S", max_bytes=1 << 19)
    js.api("STREAM.CREATE.T", {"name": "T", "max_bytes": (1 << 19) + 1})
    js.ok("INFO")


@own_server("STR-104", config=account("max_file: 200, max_mem: 100"))
def test_bytes_of_the_account(js: OwnServer) -> None:
    js.create("S")
    js.publish("S", b"x" * 100)
    js.publish("S", b"x" * 100)
    js.publish("S", b"x")
    js.create("M", storage="memory")
    js.publish("M", b"x" * 100)
    js.ok("INFO")


LIMITED = account("max_file: 1000, max_mem: 500, max_streams: 3, max_consumers: 3")
STRICT = account(
    "max_file: 1000, max_mem: 500, max_streams: 2, max_consumers: 3, "
    "disk_max_stream_bytes: 800, max_bytes_required: true"
)
FILE = {"storage": "file"}
MEMORY = {"storage": "memory"}


def create(js: OwnServer, name: str, **config: object) -> None:
    """Whatever comes of it."""
    js.api(f"STREAM.CREATE.{name}", {"name": name, **config})


def update(js: OwnServer, name: str, **config: object) -> None:
    js.api(f"STREAM.UPDATE.{name}", {"name": name, **config})


@own_server("STR-113", config=LIMITED)
def test_faults_of_a_new_stream(js: OwnServer) -> None:
    """Limits come before most faults of the configuration, but not before all."""
    bad: dict[str, object] = {"subjects": ["a..b"]}
    for kind, most in ((FILE, 1000), (MEMORY, 500)):
        for more in ({}, bad, {"num_replicas": 3}, {"max_consumers": 4}, {"sealed": True}):
            create(js, "T", max_bytes=most + 1, **kind, **more)
    create(js, "T", max_consumers=4, **bad)
    create(js, "T", max_consumers=4, num_replicas=3)
    create(js, "S", subjects=["s"], max_bytes=600, **FILE)
    create(js, "T", subjects=["s"], max_bytes=401, **FILE)
    create(js, "T", subjects=["s"], max_bytes=400, **FILE)
    create(js, "T", subjects=["t"], max_bytes=400, **FILE)
    create(js, "U", subjects=["u"], **FILE)
    create(js, "U", subjects=["u"], **MEMORY)
    js.ok("INFO")
    for more in ({}, bad, {"max_bytes": 2000}, {"max_consumers": 4}, {"sealed": True}):
        create(js, "V", **FILE, **more)
    create(js, "V", mirror_direct=True)
    js.api("STREAM.CREATE.V", {"name": "other"})


@own_server(config=LIMITED)
def test_faults_of_a_stream_that_is_there(js: OwnServer) -> None:
    create(js, "F", max_bytes=100, **FILE)
    create(js, "M", max_bytes=100, **MEMORY)
    for name in ("F", "M"):
        for kind, sizes in ((FILE, (1001, 901, 100)), (MEMORY, (501, 450, 100))):
            for size in sizes:
                create(js, name, max_bytes=size, **kind)
                create(js, name, max_bytes=size, num_replicas=3, **kind)
        create(js, name, max_consumers=4)
        create(js, name, **FILE)
        create(js, name, **MEMORY)


@own_server(config=STRICT)
def test_faults_of_an_update(js: OwnServer) -> None:
    create(js, "S", subjects=["s"], max_bytes=600)
    create(js, "T", subjects=["t"], max_bytes=301)
    same: dict[str, object] = {"subjects": ["s"], "max_bytes": 600}
    for change in (
        {"max_bytes": 791},
        {"max_bytes": 801},
        {"max_bytes": 800, "subjects": ["t"]},
        {"max_bytes": 699},
        {"max_bytes": 600},
        {"max_bytes": -1},
        {"max_consumers": 4},
        {"max_consumers": 4, "max_bytes": 800},
        {"max_consumers": 4, "storage": "memory"},
        {"max_consumers": 4, "retention": "workqueue"},
        {"max_consumers": 3},
        {"max_bytes": 800, "storage": "memory"},
        {"max_bytes": 500, "storage": "memory"},
        {"num_replicas": 3, "max_consumers": 4},
        {"num_replicas": 3, "storage": "memory"},
        {"num_replicas": 3, "max_bytes": 2000},
    ):
        update(js, "S", **(same | change))
    update(js, "other", max_bytes=700)
    js.ok("INFO")


@own_server(config=account("max_consumers: 2, max_ack_pending: 50"))
def test_consumers_of_the_account(js: OwnServer) -> None:
    def consumer(stream: str, name: str, **config: object) -> None:
        body = {"durable_name": name, "ack_policy": "explicit", **config}
        js.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {"stream_name": stream, "config": body})

    js.create("S", subjects=["s"])
    js.create("T", subjects=["t"], max_consumers=1)
    for name in "ABC":
        consumer("S", name)
        consumer("T", name)
    consumer("S", "A")
    consumer("S", "D", filter_subject="a..b")
    consumer("S", "D", deliver_subject="s")
    consumer("S", "A", max_ack_pending=51)
    consumer("S", "A", max_ack_pending=20)
    js.ok("INFO")


@own_server(config=account("max_file: 200, max_mem: 200"))
def test_when_a_full_account_refuses(js: OwnServer) -> None:
    """Which faults come first, and which after."""
    js.create("S", subjects=["s.>"], max_msg_size=150, allow_rollup_hdrs=True)
    js.create("I", subjects=["i"], retention="interest")
    js.create("D", subjects=["d"], max_msgs=1, discard="new")
    js.create("T", subjects=["t"], allow_msg_ttl=True)
    js.create("R", subjects=["r"], max_bytes=100)
    js.publish("d", b"x")
    js.publish("r", b"x" * 30)
    js.publish("s.1", b"x" * 20, {"Nats-Msg-Id": "1"})
    js.ok("INFO")
    large = b"x" * 100
    js.publish("s.1", b"x" * 151)
    js.publish("s.1", large)
    for header, value in (
        ("Nats-Msg-Id", "1"),
        ("Nats-Expected-Last-Sequence", "9"),
        ("Nats-Expected-Stream", "T"),
        ("Nats-Expected-Last-Msg-Id", "9"),
        ("Nats-Rollup", "nonsense"),
        ("Nats-Rollup", "all"),
        ("Nats-TTL", "1s"),
    ):
        js.publish("s.1", large, {header: value})
    js.publish("t", large, {"Nats-TTL": "nonsense"})
    js.publish("i", large)
    js.publish("d", large)
    js.publish("r", b"x" * 50)
    js.ok("STREAM.PURGE.R")
    js.ok("STREAM.PURGE.D")
    left = 200 - js.ok("INFO")["storage"]
    js.publish("t", b"x" * (left - 30))
    js.publish("t", b"x" * (left - 31))
    js.publish("t", b"")
    js.ok("INFO")


@own_server(config=account("max_file: 1000, max_mem: 1000"))
def test_bytes_that_come_and_go(js: OwnServer) -> None:
    """Limits of streams, deletes and purges make room in the account."""
    for kind in ("file", "memory"):
        js.create(f"{kind}-a", subjects=[f"{kind}.a"], storage=kind, max_msgs=3)
        js.create(f"{kind}-b", subjects=[f"{kind}.b.*"], storage=kind)
        for size in (200, 150, 100, 50, 200, 200):
            js.publish(f"{kind}.a", b"x" * size)
        for number in range(6):
            js.publish(f"{kind}.b.{number}", b"x" * 60)
        js.ok("INFO")
        js.ok(f"STREAM.MSG.DELETE.{kind}-b", {"seq": 2})
        js.publish(f"{kind}.b.7", b"x" * 60)
        js.publish(f"{kind}.b.8", b"x" * 60)
        js.ok(f"STREAM.PURGE.{kind}-a")
        js.publish(f"{kind}.b.9", b"x" * 60)
        js.ok("INFO")


@own_server(config=account("max_file: 5000") + "jetstream { max_file: 5000, max_mem: 1000 }\n")
def test_what_the_server_has(js: OwnServer) -> None:
    """The server refuses when it is over its limit, an account before it would be."""
    js.create("M", subjects=["m"], storage="memory")
    js.create("I", subjects=["i"], storage="memory", retention="interest")
    for _ in range(10):
        js.publish("m", b"x" * 100, {"Nats-Msg-Id": "same", "Number": "1"} if _ == 0 else None)
    js.publish("m", b"", {"Nats-Msg-Id": "same"})
    js.publish("m", b"", {"Nats-Expected-Last-Sequence": "99"})
    js.publish("i", b"")
    js.create("F", subjects=["f"], max_bytes=1000)
    js.publish("f", b"x" * 100)
    js.create_refused("N", storage="memory", max_bytes=1001)
    js.create("N", storage="memory", max_bytes=1000)
    js.create_refused("O", storage="memory")
    js.update("M", subjects=["m"], storage="memory", description="as large as it likes")
    js.ok("INFO")
