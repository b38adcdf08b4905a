"""The stock Python client on both servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import nats
import nats.micro
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import MaxPayloadError, NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.micro.request import Request, ServiceError

from tests.support.server import Kind, Server, Start, StartServer

LIMIT = 20.0


def finish(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a client's story to its end, within a limit."""
    asyncio.run(asyncio.wait_for(coroutine, LIMIT))


@asynccontextmanager
async def connected(server: Server, **options: Any) -> AsyncIterator[Client]:
    client = await nats.connect(server.url, **options)
    try:
        yield client
    finally:
        await client.close()


async def fence(client: Client) -> None:
    """Wait until the server has read everything so far.

    The client's flush sends its PING ahead of lines that are still in its buffer; by the time the
    first is answered the buffer is on its way, and the second one follows it.
    """
    await client.flush()
    await client.flush()


def test_publish_and_subscribe(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as client, connected(server) as other:
            subscription = await client.subscribe("greet.*")
            await fence(client)
            await other.publish("greet.joe", b"hello")
            await other.publish("greet.pam", b"", reply="answer.here")
            first, second = await subscription.next_msg(), await subscription.next_msg()
            assert (first.subject, first.data, first.reply) == ("greet.joe", b"hello", "")
            assert (second.subject, second.data, second.reply) == ("greet.pam", b"", "answer.here")
            await subscription.unsubscribe()
            await client.publish("greet.joe", b"nobody hears")
            await fence(client)

    finish(story())


def test_client_sees_the_server_it_knows(server: Server) -> None:
    async def story() -> None:
        async with connected(server, name="tester") as client:
            assert client.max_payload == 1 << 20
            assert client.connected_server_version.major == 2
            assert client.connected_server_version.minor == 15
            assert (client.client_id or 0) > 0
            await fence(client)
            with pytest.raises(MaxPayloadError):
                await client.publish("big", b"x" * ((1 << 20) + 1))

    finish(story())


def test_request_and_reply(server: Server) -> None:
    async def double(message: Msg) -> None:
        await message.respond(message.data * 2)

    async def story() -> None:
        async with connected(server) as service, connected(server) as client:
            await service.subscribe("double", cb=double)
            await fence(service)
            answers = await asyncio.gather(
                *[client.request("double", b"%d" % number, timeout=5) for number in range(50)]
            )
            assert [answer.data for answer in answers] == [b"%d" % n * 2 for n in range(50)]
            old = await client.request("double", b"old", timeout=5, old_style=True)
            assert old.data == b"oldold"

    finish(story())


def test_request_without_responders_fails_at_once(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as client:
            with pytest.raises(NoRespondersError):
                await client.request("nobody.here", b"", timeout=10)

    finish(story())


def test_request_to_a_silent_service_times_out(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as service, connected(server) as client:
            await service.subscribe("silent")
            await fence(service)
            with pytest.raises(NatsTimeoutError):
                await client.request("silent", b"", timeout=0.1)

    finish(story())


def test_queue_group(server: Server) -> None:
    async def story() -> None:
        received: list[list[bytes]] = [[], [], []]
        everything = asyncio.Event()

        def member(number: int) -> Any:
            async def receive(message: Msg) -> None:
                received[number].append(message.data)
                if sum(map(len, received)) == 300:
                    everything.set()

            return receive

        async with connected(server) as client, connected(server) as publisher:
            for number in range(3):
                await client.subscribe("work", queue="workers", cb=member(number))
            await fence(client)
            for number in range(300):
                await publisher.publish("work", b"%d" % number)
            await everything.wait()
        everyone = [data for share in received for data in share]
        assert sorted(everyone) == sorted(b"%d" % number for number in range(300))
        assert min(map(len, received)) > 30

    finish(story())


def test_headers(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as client:
            subscription = await client.subscribe("with.headers")
            sent = {"Name": "value", "name": "other", "Empty": ""}
            await client.publish("with.headers", b"body", headers=sent)
            await client.publish("with.headers", b"body")
            message = await subscription.next_msg()
            assert message.headers == sent
            assert message.data == b"body"
            assert (await subscription.next_msg()).headers is None

    finish(story())


def test_drain_handles_what_is_on_its_way(server: Server) -> None:
    async def story() -> None:
        received = 0

        async def receive(message: Msg) -> None:
            nonlocal received
            await asyncio.sleep(0)
            received += 1

        async with connected(server) as publisher:
            client = await nats.connect(server.url)
            await client.subscribe("drained", cb=receive)
            await fence(client)
            for _ in range(500):
                await publisher.publish("drained", b"x" * 100)
            await fence(publisher)
            await client.drain()
            assert client.is_closed
            assert received == 500

    finish(story())


def test_flush_is_a_fence(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as client, connected(server) as publisher:
            subscription = await client.subscribe("fenced")
            await fence(client)
            for number in range(100):
                await publisher.publish("fenced", b"%d" % number)
            await fence(publisher)
            await fence(client)
            assert subscription.pending_msgs == 100

    finish(story())


def test_unsubscribe_after_a_number_of_messages(server: Server) -> None:
    async def story() -> None:
        async with connected(server) as client:
            subscription = await client.subscribe("limited")
            await subscription.unsubscribe(limit=3)
            for number in range(5):
                await client.publish("limited", b"%d" % number)
            await fence(client)
            assert [(await subscription.next_msg()).data for _ in range(3)] == [b"0", b"1", b"2"]

    finish(story())


def test_credentials(start: Start) -> None:
    server = start("authorization { users: [{user: u, password: p}] }\n")

    async def story() -> None:
        async with connected(server, user="u", password="p") as client:
            await fence(client)
        with pytest.raises(nats.errors.Error, match=r"(?i)authorization"):
            await nats.connect(
                server.url, user="u", password="wrong", allow_reconnect=False, error_cb=quiet
            )

    finish(story())


async def quiet(error: Exception) -> None:
    """Errors that a story expects are not worth a log line."""


def test_reconnect_after_the_server_was_killed(kind: Kind, start_server: StartServer) -> None:
    async def story() -> None:
        server = start_server(kind)
        lost, back = asyncio.Event(), asyncio.Event()

        async def on_lost() -> None:
            lost.set()

        async def on_back() -> None:
            back.set()

        async with connected(
            server,
            reconnect_time_wait=0.05,
            max_reconnect_attempts=-1,
            disconnected_cb=on_lost,
            reconnected_cb=on_back,
            error_cb=quiet,
        ) as client:
            subscription = await client.subscribe("still.here")
            await fence(client)
            server.kill()
            await lost.wait()
            start_server(kind, port=server.port)
            await back.wait()
            await client.publish("still.here", b"again")
            assert (await subscription.next_msg(timeout=5)).data == b"again"

    finish(story())


def test_micro_service(server: Server) -> None:
    async def echo(request: Request) -> None:
        await request.respond(request.data, headers={"Seen": "yes"})

    async def fail(request: Request) -> None:
        raise ServiceError("418", "teapot")

    async def ask(client: Client, subject: str) -> Any:
        return json.loads((await client.request(subject, b"", timeout=5)).data)

    async def story() -> None:
        async with connected(server) as host, connected(server) as client:
            service = await nats.micro.add_service(host, name="echoes", version="1.2.3")
            group = service.add_group(name="math")
            await group.add_endpoint(name="echo", handler=echo)
            await group.add_endpoint(name="fail", handler=fail)
            await fence(host)

            answer = await client.request("math.echo", b"hi", timeout=5)
            assert (answer.data, answer.headers) == (b"hi", {"Seen": "yes"})
            failure = await client.request("math.fail", b"", timeout=5)
            assert failure.headers is not None
            assert failure.headers["Nats-Service-Error-Code"] == "418"

            for subject in ("$SRV.PING", "$SRV.PING.echoes", f"$SRV.PING.echoes.{service.id}"):
                ping = await ask(client, subject)
                assert (ping["name"], ping["version"]) == ("echoes", "1.2.3")
                assert ping["type"] == "io.nats.micro.v1.ping_response"
            info = await ask(client, "$SRV.INFO.echoes")
            assert [end["subject"] for end in info["endpoints"]] == ["math.echo", "math.fail"]
            stats = await ask(client, "$SRV.STATS.echoes")
            assert [end["num_requests"] for end in stats["endpoints"]] == [1, 1]
            assert [end["num_errors"] for end in stats["endpoints"]] == [0, 1]
            with pytest.raises(NoRespondersError):
                await client.request("$SRV.PING.unknown", b"", timeout=5)
            await service.stop()

    finish(story())
