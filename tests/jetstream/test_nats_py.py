"""The stock Python client manages streams and publishes; what it returns must be the same."""

from __future__ import annotations

import pytest
from nats.js import JetStreamContext
from nats.js.api import (
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StoreCompression,
    StreamConfig,
    StreamConsumerLimits,
)
from nats.js.errors import (
    APIError,
    BadRequestError,
    NoStreamResponseError,
    NotFoundError,
    ServerError,
)

from tests.jetstream.nats_py import plain, refused, run
from tests.jetstream.support import JetStream, scenario

FULL = StreamConfig(
    name="FULL",
    description="all that the client knows",
    subjects=["full.>", "more.*"],
    retention=RetentionPolicy.LIMITS,
    max_consumers=10,
    max_msgs=1000,
    max_bytes=1 << 20,
    discard=DiscardPolicy.NEW,
    max_age=3600,
    max_msgs_per_subject=100,
    max_msg_size=1024,
    storage=StorageType.FILE,
    num_replicas=1,
    duplicate_window=60,
    compression=StoreCompression.S2,
    consumer_limits=StreamConsumerLimits(),
    allow_direct=True,
    deny_delete=False,
    allow_rollup_hdrs=True,
    metadata={"owner": "tests"},
)


@scenario("STR-001", "STR-002")
def test_add_stream(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        info = await context.add_stream(name="S", subjects=["s.*"])
        assert (info.config.name, info.config.subjects) == ("S", ["s.*"])
        assert info.state.messages == 0
        js.note(plain(info))
        js.note(plain(await context.add_stream(name="S", subjects=["s.*"])))
        js.note(plain(await context.add_stream(FULL)))
        js.note(plain(await context.stream_info("FULL")))
        memory = await context.add_stream(name="M", storage=StorageType.MEMORY)
        js.note(plain(memory))
        await refused(js, context.add_stream(name="S", subjects=["t"]), BadRequestError)
        await refused(js, context.add_stream(name="T", subjects=["s.1"]), BadRequestError)
        await refused(js, context.add_stream(name="T", max_age=-1), ServerError)
        await refused(js, context.add_stream(name="T", num_replicas=3), ServerError)

    run(js, story)


@scenario("STR-079", "STR-071")
def test_update_stream(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        config = (await context.add_stream(name="S", subjects=["s.*"])).config
        config.max_msgs = 2
        config.description = "changed"
        info = await context.update_stream(config)
        assert info.config.max_msgs == 2
        js.note(plain(info))
        for number in range(5):
            await context.publish(f"s.{number}")
        assert (await context.stream_info("S")).state.messages == 2
        await refused(js, context.update_stream(name="T"), NotFoundError)
        config.storage = StorageType.MEMORY
        await refused(js, context.update_stream(config), ServerError)

    run(js, story)


@scenario("STR-095", "STR-088", "STR-104")
def test_infos(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await context.add_stream(name="S", subjects=["s.>"])
        for subject in ("s.a", "s.b", "s.a", "s.c.d"):
            await context.publish(subject, b"x")
        info = await context.stream_info("S", subjects_filter="s.*")
        assert info.state.subjects == {"s.a": 2, "s.b": 1}
        js.note(plain(info))
        await refused(js, context.stream_info("T"), NotFoundError)
        assert await context.find_stream_name_by_subject("s.c") == "S"
        await refused(js, context.find_stream_name_by_subject("t"), NotFoundError)
        account = await context.account_info()
        js.note((account.streams, account.storage, account.memory, plain(account.limits)))

    run(js, story)


@scenario("STR-090", "STR-091")
def test_lists(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        assert await context.streams_info() == []
        for number in range(5):
            await context.add_stream(name=f"S{number}", storage=StorageType.MEMORY)
        names = [info.config.name for info in await context.streams_info(offset=2)]
        assert names == ["S2", "S3", "S4"]
        listed = list(await context.streams_info_iterator())
        js.note(plain(listed))
        assert await context.delete_stream("S3") is True
        await refused(js, context.delete_stream("S3"), NotFoundError)
        assert len(await context.streams_info()) == 4

    run(js, story)


@scenario("MSG-015", "MSG-016", "MSG-017", "MSG-019")
def test_purge(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await context.add_stream(name="S", subjects=["s.*"])
        for number in range(10):
            await context.publish(f"s.{number % 2}", b"x")

        async def left() -> list[int]:
            state = (await context.stream_info("S")).state
            return [state.messages, state.first_seq, state.last_seq]

        assert await context.purge_stream("S", subject="s.0", keep=3)
        assert await left() == [8, 2, 10]
        assert await context.purge_stream("S", seq=5)
        assert await left() == [6, 5, 10]
        assert await context.purge_stream("S", keep=2)
        assert await left() == [2, 9, 10]
        assert await context.purge_stream("S")
        assert await left() == [0, 11, 10]
        await refused(js, context.purge_stream("T"), NotFoundError)
        await refused(js, context.purge_stream("S", seq=1, keep=1), BadRequestError)
        await context.add_stream(name="D", deny_purge=True)
        await refused(js, context.purge_stream("D"), ServerError)

    run(js, story)


@scenario("MSG-001", "MSG-003", "MSG-004", "MSG-010", "MSG-022", "MSG-023", "MSG-024")
def test_reading_and_deleting(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await context.add_stream(name="S", subjects=["s.*"], allow_direct=True)
        await context.publish("s.a", b"one")
        await context.publish("s.b", b"two", headers={"Key": "value"})
        await context.publish("s.a", b"")
        for direct in (False, True):
            for selector in (
                {"seq": 1},
                {"seq": 2},
                {"subject": "s.b"},
                {"subject": "s.a", "seq": 2, "next": True},
                {"subject": "s.*", "seq": 1, "next": True},
            ):
                message = await context.get_msg("S", **selector, direct=direct)
                headers = {
                    key: v for key, v in (message.headers or {}).items() if "Time" not in key
                }
                js.note((selector, direct, message.seq, message.subject, message.data, headers))
                assert message.time is not None
            assert (await context.get_last_msg("S", "s.b", direct=direct)).data == b"two"
            await refused(js, context.get_msg("S", seq=9, direct=direct), NotFoundError)
            await refused(js, context.get_last_msg("S", "s.x", direct=direct), NotFoundError)
        assert await context.delete_msg("S", 1) is True
        await refused(js, context.delete_msg("S", 1), APIError)
        await refused(js, context.get_msg("S", seq=1), NotFoundError)

    run(js, story)


@scenario("PUB-001", "PUB-002", "PUB-006", "PUB-007", "PUB-009", "PUB-013")
def test_publish(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await refused(js, context.publish("s.1"), NoStreamResponseError)
        await context.add_stream(name="S", subjects=["s.*"])
        ack = await context.publish("s.1", b"x", headers={"Nats-Msg-Id": "1"})
        assert (ack.stream, ack.seq, ack.duplicate) == ("S", 1, None)
        again = await context.publish("s.1", b"x", headers={"Nats-Msg-Id": "1"})
        assert (again.seq, again.duplicate) == (1, True)
        assert (await context.publish("s.1", b"x", stream="S")).seq == 2
        await refused(js, context.publish("s.1", b"x", stream="T"), BadRequestError)
        for name, good, bad in [
            ("Nats-Expected-Last-Sequence", "2", "9"),
            ("Nats-Expected-Last-Subject-Sequence", "3", "9"),
        ]:
            await refused(js, context.publish("s.1", headers={name: bad}), BadRequestError)
            js.note(plain(await context.publish("s.1", headers={name: good})))
        expected = {"Nats-Expected-Last-Msg-Id": "zz"}
        await refused(js, context.publish("s.1", headers=expected), BadRequestError)
        js.note(plain(await context.stream_info("S")))

    run(js, story)


@scenario("PUB-001")
def test_publish_async(js: JetStream) -> None:
    async def story(context: JetStreamContext) -> None:
        await context.add_stream(name="S", subjects=["s.*"])
        futures = [await context.publish_async(f"s.{number % 7}", b"x") for number in range(300)]
        await context.publish_async_completed()
        assert [(await future).seq for future in futures] == list(range(1, 301))
        assert context.publish_async_pending() == 0
        lost = await context.publish_async("nowhere", b"x")
        with pytest.raises(NoStreamResponseError):
            await lost
        assert (await context.stream_info("S")).state.messages == 300

    run(js, story)
