"""Start, stop, kill, restart: in the running loop and in a thread, on asyncio and uvloop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import nats
import pytest
import uvloop

from jetstream_py import ConfigError, ManualClock, PortInUse, Server, StartError, StoreInUse
from jetstream_py.js import JetStreamError

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    def run(main: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(asyncio.wait_for(main, 30))

    return run


async def publish(url: str, *payloads: bytes) -> list[int]:
    """To a stream that is made if there is none. Returns its sequences."""
    nc = await nats.connect(url)
    js = nc.jetstream()
    await js.add_stream(name="S", subjects=["s"])
    seqs = [(await js.publish("s", data)).seq for data in payloads]
    await nc.close()
    return seqs


def test_in_the_running_loop(run: Callable[[Any], Any]) -> None:
    async def main() -> None:
        async with Server() as server:
            assert await publish(server.url, b"a", b"b") == [1, 2]
            assert (await server.jetstream.get("S", 2, direct=False)).data == b"b"
            bucket = await server.kv("b", history=3)
            await bucket.put("k", b"v")
            assert (await (await server.kv("b")).get("k")).value == b"v"
            store = await server.objects("o")
            await store.put("x", b"large")
            found = await (await server.objects("o")).get("x")
            assert [part async for part in found] == [b"large"]
            port = server.port
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    run(main())


def test_in_a_thread_for_plain_code() -> None:
    with Server() as server:
        assert asyncio.run(publish(server.url, b"a")) == [1]
        bucket = server.kv("b")
        assert bucket.put("k", b"v") == 1
        assert bucket.get("k").value == b"v"
        with bucket.watch() as watcher:
            assert [next(watcher).value, next(watcher)] == [b"v", None]
        store = server.objects("o")
        store.put("x", b"large")
        assert list(store.get("x")) == [b"large"]
        js: Any = server.jetstream  # coroutines are done on return here
        assert [each.config["name"] for each in js.streams()] == [
            "KV_b",
            "OBJ_o",
            "S",
        ]
    assert "jetstream-py" not in [thread.name for thread in threading.enumerate()]


def test_in_a_thread_for_coroutines(run: Callable[[Any], Any]) -> None:
    async def main() -> None:
        with Server(store="tmp") as server:
            bucket = await server.kv("b")
            await bucket.put("k", b"v")
            async with bucket.watch() as watcher:
                assert (await anext(watcher)).value == b"v"
            await server.kill()
            await server.restart()
            assert (await (await server.kv("b")).get("k")).value == b"v"
            await server.stop()

    run(main())


def test_plain_code_in_the_thread_of_the_loop_cannot_wait() -> None:
    server = Server()
    with asyncio.Runner() as runner:
        runner.run(server.start())
        with pytest.raises(RuntimeError, match="await it"):
            server.restart()
        runner.run(server.stop())  # type: ignore[arg-type]


@pytest.mark.parametrize("store", ["tmp", "directory"])
def test_what_is_on_disk_outlasts_a_kill(store: str, tmp_path: Path) -> None:
    where = tmp_path if store == "directory" else store
    with Server(store=where) as server:
        url = server.url
        assert asyncio.run(publish(url, b"a", b"b")) == [1, 2]
        server.kill()
        with pytest.raises(RuntimeError, match="does not run"):
            server.url  # noqa: B018 - it raises
        server.restart()
        assert server.url == url
        assert asyncio.run(publish(url, b"c")) == [3]
        server.restart()
        assert asyncio.run(publish(url, b"d")) == [4]
        directory = server._place._temporary
    assert store != "tmp" or not os.path.exists(directory)
    if store == "directory":
        with Server(store=tmp_path) as server:
            assert asyncio.run(publish(server.url, b"e")) == [5]


def test_memory_forgets() -> None:
    with Server() as server:
        assert asyncio.run(publish(server.url, b"a")) == [1]
        server.restart()
        assert asyncio.run(publish(server.url, b"a")) == [1]


def test_a_kill_writes_nothing(run: Callable[[Any], Any]) -> None:
    """What was queued for a client is lost; the client sees its connection end."""

    async def main() -> None:
        async with Server() as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await reader.readline()
            writer.write(b'CONNECT {"verbose":false}\r\nSUB a 1\r\nPING\r\n')
            assert await reader.readline() == b"PONG\r\n"
            session = next(iter(server._running().app.broker.sessions.values()))
            session.send(b"PING\r")
            await server.kill()
            try:
                assert await reader.read() == b""
            except ConnectionResetError:
                pass
            writer.close()

    run(main())


@pytest.mark.parametrize("end", ["kill", "stop", "restart"])
def test_an_end_in_the_midst_of_work_is_silent(run: Callable[[Any], Any], end: str) -> None:
    """Consumers with clients, requests that wait, a commit in the thread: nobody trips over the end."""
    trouble: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: trouble.append(context))
        async with Server(store="tmp") as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            js = server.jetstream
            await js.create_stream({"name": "S", "subjects": ["s"]})
            for name, more in (("pull", {}), ("push", {"deliver_subject": "d"})):
                config = {"durable_name": name, "ack_policy": "explicit", **more}
                body = {"stream_name": "S", "config": config}
                await js.api(f"CONSUMER.CREATE.S.{name}", body)
            writer.write(b'CONNECT {"verbose":false}\r\nSUB d 1\r\nSUB inbox 2\r\n')
            writer.write(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.pull inbox 2\r\n10\r\nPING\r\n")
            while await reader.readline() != b"PONG\r\n":
                pass
            server.faults.slow_disk(0.01)
            size = 800_000  # enough for the writer's thread
            writer.write(b"PUB s %d\r\n%b\r\n" % (size, bytes(size)))
            store = server._running().app.jetstream.store  # type: ignore[union-attr]
            while not store.busy:
                await asyncio.sleep(0)
            await getattr(server, end)()
            if end == "kill":
                await server.restart()
            if end != "stop":
                messages = (await server.jetstream.stream_info("S")).state.messages
                assert messages == 1  # the commit was under way
            writer.close()

    run(main())
    assert trouble == []


def test_clients_reconnect_after_a_restart(run: Callable[[Any], Any]) -> None:
    async def main() -> None:
        back = asyncio.Event()

        async def reconnected() -> None:
            back.set()

        async with Server() as server:
            nc = await nats.connect(
                server.url, reconnect_time_wait=0.01, reconnected_cb=reconnected
            )
            await server.kill()
            await server.restart()
            await back.wait()
            await nc.flush()
            await nc.close()

    run(main())


# -- options ---------------------------------------------------------------------------------------


def test_options(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text('max_payload: 1000\njetstream { domain: "hub" }\n')
    users = [{"user": "a", "password": "secret"}]
    options: dict[str, Any] = {
        "ping_interval": "3s",
        "max_connections": 7,
        "accounts": {"A": {"users": users, "jetstream": True}},
    }
    with Server(config=file, store="memory", monitor=True, **options) as server:
        assert server.monitor_url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{server.monitor_url}/varz") as answer:
            varz = answer.read()
        assert b'"max_payload": 1000,' in varz
        assert b'"max_connections": 7,' in varz
        assert b'"ping_interval": 3000000000,' in varz
        assert b'"domain": "hub",' in varz
        assert server.kv("b", account="A").put("k", b"v") == 1
        js: Any = server.jetstream
        with pytest.raises(JetStreamError, match="not enabled for account"):
            js.streams()
        with pytest.raises(JetStreamError, match="no account 'B'"):
            server.jetstream_of("B")


def test_jetstream_is_off_if_told_so() -> None:
    for server in (Server(jetstream=False), Server(config="port: -1")):
        with server:
            assert server.monitor_url == ""
            assert server.describe() == "no streams"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nonsense": 1}, 'unknown field "nonsense"'),
        ({"max_payload": "large"}, '"max_payload" must be an integer'),
        ({"max_payload": object()}, "object is not a value of an option"),
        ({"config": "missing.conf"}, "there is no file missing.conf"),
        ({"config": "jetstream {"}, "Unexpected EOF"),
        ({"port": 99_999}, "invalid port"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Server(**options)


# -- failures --------------------------------------------------------------------------------------


def test_failures_to_start_are_typed(run: Callable[[Any], Any], tmp_path: Path) -> None:
    async def main() -> None:
        async with Server(store=tmp_path) as server:
            with pytest.raises(PortInUse, match="address already in use") as failure:
                await (late := Server(port=server.port, store="tmp")).start()
            assert "choose another port" in failure.value.hint
            assert late._place._temporary == ""
            with pytest.raises(StoreInUse, match="in use by another server"):
                await Server(store=tmp_path).start()
            with pytest.raises(StartError, match="not a directory"):
                await Server(store=Path(__file__)).start()
            with pytest.raises(StartError, match="no such file or directory"):
                await Server(log_file=str(tmp_path / "missing" / "log")).start()
            with pytest.raises(RuntimeError, match="runs already"):
                await server.start()
        async with Server(store=tmp_path):  # nothing is left of those
            pass

    run(main())


def test_failures_in_a_thread_leave_no_thread() -> None:
    with Server() as server:
        before = threading.active_count()
        with pytest.raises(PortInUse):
            Server(port=server.port).start_in_thread()
        with pytest.raises(RuntimeError, match="runs already"):
            server.start_in_thread()
        assert threading.active_count() == before
        assert asyncio.run(publish(server.url, b"a")) == [1]


def test_what_is_not_running_says_so() -> None:
    server = Server()
    server.stop()
    for use in (server.kill, server.restart, lambda: server.kv("b"), lambda: server.url):
        with pytest.raises(RuntimeError, match=r"not started|does not run"):
            use()


# -- manners ---------------------------------------------------------------------------------------


def test_it_takes_nothing_from_the_program(
    run: Callable[[Any], Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    import gc

    before = (
        gc.get_threshold(),
        gc.get_freeze_count(),
        [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        asyncio.get_event_loop_policy(),
    )

    async def main() -> None:
        loop, tasks = asyncio.get_running_loop(), asyncio.all_tasks()
        async with Server(debug=True) as one, Server(store="tmp") as two:
            assert one.port != two.port
            await publish(one.url, b"a")
            await publish(two.url, b"b")
            assert loop.get_exception_handler() is None
        assert asyncio.all_tasks() == tasks

    with caplog.at_level(logging.INFO, "jetstream_py"):
        run(main())
    assert "Server is ready" in caplog.messages
    assert capfd.readouterr() == ("", "")
    after = (
        gc.get_threshold(),
        gc.get_freeze_count(),
        [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        asyncio.get_event_loop_policy(),
    )
    assert after == before


def test_the_package_is_light_until_it_is_used() -> None:
    """`import jetstream_py` must not slow commands down."""
    code = (
        "import sys, jetstream_py; before = set(sys.modules); jetstream_py.Server; "
        "assert not [m for m in before if m.startswith('jetstream_py.') and m != 'jetstream_py.version'];"
        "assert 'asyncio' not in before; assert 'jetstream_py.embed' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_the_package() -> None:
    import jetstream_py

    assert jetstream_py.Server is Server
    assert jetstream_py.ManualClock is ManualClock
    with pytest.raises(AttributeError, match="no attribute 'Sever'"):
        jetstream_py.Sever  # noqa: B018 - it raises
