"""The HTTP face: sockets, limits, start and stop."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from jetstream_py import limits
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor import Monitor, MonitorUnavailable, server, start_monitor
from tests.monitor.fakes import FakeBroker

TIMEOUT = 10.0


def run(test: Callable[[FakeBroker, Monitor], Awaitable[None]]) -> None:
    async def main() -> None:
        broker = FakeBroker()
        monitor = await start_monitor(broker, "127.0.0.1", 0)
        try:
            async with asyncio.timeout(TIMEOUT):
                await test(broker, monitor)
        finally:
            await monitor.close()

    asyncio.run(main())


@asynccontextmanager
async def connect(
    monitor: Monitor,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(monitor.host, monitor.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(monitor: Monitor, data: bytes) -> bytes:
    """Everything that the server says until it closes."""
    async with connect(monitor) as (reader, writer):
        writer.write(data)
        return await reader.read()


def request(line: str, *headers: str) -> bytes:
    return "\r\n".join(
        [f"{line} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]
    ).encode()


def split(reply: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = reply.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines), body


def test_requests_wait_in_the_backlog_until_the_server_is_up() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        assert monitor.port > 0  # bound before anything was imported
        status, headers, body = split(await exchange(monitor, request("GET /healthz")))
        assert (status, body) == ("HTTP/1.1 200 OK", b'{"status":"ok"}')
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["Content-Type"] == "application/json"
        assert headers["Content-Length"] == "15"

    run(test)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_every_method_is_answered(method: str) -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        reply = await exchange(monitor, request(f"{method} /healthz"))
        assert split(reply)[2] == b'{"status":"ok"}'

    run(test)


def test_head_has_no_body() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        _, headers, body = split(await exchange(monitor, request("HEAD /healthz")))
        assert (headers["Content-Length"], body) == ("15", b"")

    run(test)


def test_one_connection_carries_many_requests() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        async with connect(monitor) as (reader, writer):
            for _ in range(3):
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await reader.readuntil(b'{"status":"ok"}')).startswith(b"HTTP/1.1 200")

    run(test)


def test_absolute_targets_and_bad_arguments() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        reply = await exchange(monitor, request("GET http://y/connz?sort=foo"))
        assert split(reply)[::2] == ("HTTP/1.1 400 Bad Request", b"invalid sorting option: foo")

    run(test)


def test_nonsense_and_oversize_are_refused() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        assert (await exchange(monitor, b"FOO\r\n\r\n")).split()[1] == b"400"
        long = "/" + "a" * (2 * limits.MONITOR_TARGET_SIZE)
        assert (await exchange(monitor, request(f"GET {long}"))).split()[1] == b"400"
        many = [f"X-{i}: a" for i in range(1000)]
        assert (await exchange(monitor, request("GET /healthz", *many))).split()[1] == b"400"

    run(test)


def test_a_failure_of_ours_is_logged_and_does_not_show_its_reason() -> None:
    def broken() -> tuple[int, int, int, int]:
        raise RuntimeError("secret")

    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        broker.totals = broken  # type: ignore[method-assign]
        status, _, body = split(await exchange(monitor, request("GET /varz")))
        assert (status[9:12], body) == ("500", b"Internal Server Error")
        assert broker.log.lines == [
            "[ERR] Monitoring request '/varz' failed: RuntimeError('secret')"
        ]

    run(test)


def test_a_body_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LINGER", 0.05)

    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        reply = await exchange(monitor, request("POST /healthz", "Content-Length: 1000000000"))
        assert split(reply)[2] == b'{"status":"ok"}'

    run(test)


def test_silence_ends_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MONITOR_KEEP_ALIVE", 0.05)

    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        assert await exchange(monitor, b"") == b""
        assert await exchange(monitor, b"GET /healthz HTTP/1.1\r\nHost:") == b""
        reply = await exchange(monitor, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert split(reply)[2] == b'{"status":"ok"}'

    run(test)


def test_one_connection_too_many_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MONITOR_CONNECTIONS", 2)

    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        async with connect(monitor) as (r1, w1), connect(monitor) as (r2, w2):
            for reader, writer in ((r1, w1), (r2, w2)):
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readuntil(b'{"status":"ok"}')
            assert await exchange(monitor, b"") == b""

    run(test)


def test_an_answer_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MONITOR_REQUEST_TIME", 0.1)

    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        said = ConnectOptions(name="n" * 10_000)
        for cid in range(5_000):  # 50 MB: more than the kernel takes
            broker.connect(cid, connect=said)
        async with connect(monitor) as (reader, writer):
            writer.write(b"GET /connz?limit=5000 HTTP/1.1\r\nHost: x\r\n\r\n")
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            while not connections(monitor):
                await asyncio.sleep(0.01)
            while connections(monitor):
                await asyncio.sleep(0.01)
            writer.transport.resume_reading()  # type: ignore[attr-defined]
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(50_000_000)

    run(test)


def connections(monitor: Monitor) -> int:
    return len(monitor._server._web.connections) if monitor._server is not None else 0


def test_a_taken_port_is_an_error() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        with pytest.raises(OSError, match="in use"):
            await start_monitor(broker, "127.0.0.1", monitor.port)

    run(test)


def test_close_ends_idle_connections_and_the_listener() -> None:
    async def test(broker: FakeBroker, monitor: Monitor) -> None:
        async with connect(monitor) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b'{"status":"ok"}')
            await monitor.close()
            assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await exchange(monitor, b"")

    run(test)


def test_close_before_the_server_is_up() -> None:
    async def main() -> None:
        monitor = await start_monitor(FakeBroker(), "127.0.0.1", 0)
        await monitor.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(monitor.host, monitor.port)

    asyncio.run(main())


def test_without_aiohttp_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    async def main() -> None:
        with pytest.raises(MonitorUnavailable) as reason:
            await start_monitor(FakeBroker(), "127.0.0.1", 0)
        assert str(reason.value) == (
            "monitoring needs aiohttp: pip install 'jetstream-py[monitor]'"
        )

    asyncio.run(main())


def test_a_server_that_cannot_be_built_refuses_instead_of_hanging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("broken installation")

    monkeypatch.setattr(server, "HttpServer", broken)

    async def main() -> None:
        broker = FakeBroker()
        monitor = await start_monitor(broker, "127.0.0.1", 0)
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(monitor.host, monitor.port)
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()
        assert broker.log.lines == [
            "[ERR] Monitoring did not start: RuntimeError('broken installation')"
        ]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(monitor.host, monitor.port)
        await monitor.close()

    asyncio.run(main())


def test_aiohttp_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, jetstream_py.server.monitor; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
