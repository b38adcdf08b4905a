"""Direct gets that come in one read are answered as if each had come alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jetstream_py.api import direct_series
from tests.engine.world import World
from tests.server.harness import Client
from tests.support.wire import hpub, messages, pub

TOGETHER, ALONE = b"TT", b"GG"  # streams
KEYS: Final = [b"a", b"b.c", b"gone", b"none", b"h"]
GET: Final = b"$JS.API.DIRECT.GET."
BLOCK: Final = b"NATS/1.0\r\nA: b\r\n\r\n"

# What is sent, with the stream's name for <>, the number of the request for ##.
BY_SEQ = st.integers(1, 9).map(lambda seq: pub(GET + b"<>", b'{"seq":%d}' % seq, b"_INBOX.<>.##"))
BY_KEY = st.sampled_from(KEYS).map(lambda key: pub(GET + b"<>.<>.k." + key, b"", b"_INBOX.<>.##"))
PUT = st.sampled_from(KEYS[:2]).map(lambda key: pub(b"<>.k." + key, b"new##"))
ODD = st.sampled_from(
    [
        pub(GET + b"<>", b'{"last_by_subj":"<>.k.a"}', b"_INBOX.<>.##"),
        pub(GET + b"<>", b'{"seq":0}', b"_INBOX.<>.##"),
        pub(GET + b"<>", b'{"seq":1,"batch":2}', b"_INBOX.<>.##"),
        pub(GET + b"<>", b"", b"_INBOX.<>.##"),
        pub(GET + b"<>", b"{", b"_INBOX.<>.##"),
        pub(GET + b"<>", b'{"seq":1}'),
        pub(GET + b"<>.<>.k.a", b'{"no_hdr":true}', b"_INBOX.<>.##"),
        pub(GET + b"<>.<>.k.*", b"", b"_INBOX.<>.##"),
        pub(GET + b"<>.", b"", b"_INBOX.<>.##"),
        pub(GET + b"<>..k", b"", b"_INBOX.<>.##"),
        pub(GET + b"<>x", b'{"seq":1}', b"_INBOX.<>.##"),
        pub(GET + b"no<>", b'{"seq":1}', b"_INBOX.<>.##"),
        pub(GET + b"<>", b'{"seq":1}', b"elsewhere.<>.##"),
        hpub(GET + b"<>.<>.k.a", BLOCK, b"", b"_INBOX.<>.##"),
        pub(b"$JS.API.DIRECT.GETS.<>", b'{"seq":1}', b"_INBOX.<>.##"),
        b"PUB  " + GET + b"<>  _INBOX.<>.## 9\r\n" + b'{"seq":1}' + b"\r\n",
    ]
)
READS = st.lists(
    st.one_of(
        st.lists(BY_SEQ, min_size=10, max_size=40),
        st.lists(BY_KEY, min_size=10, max_size=40),
        st.lists(PUT, min_size=1, max_size=20),
        st.lists(ODD, min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=5,
).map(lambda parts: [frame for part in parts for frame in part])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory))
        yield world
        world.close()


def begin(world: World, stream: bytes, storage: str, direct: bool) -> Client:
    name = stream.decode()
    config = {"subjects": [f"{name}.k.>"], "storage": storage, "allow_direct": direct}
    world.make(name, max_msgs_per_subject=2, **config)
    client = world.bench.client()
    client.send(b"SUB _INBOX.%b.* 1\r\nSUB elsewhere.%b.> 2\r\n" % (stream, stream))
    keys = (b"a", b"a", b"b.c", b"gone", b"a", b"b.c")
    client.send(b"".join([pub(b"%b.k.%b" % (stream, key), b"old") for key in keys]))
    client.send(hpub(stream + b".k.h", BLOCK, b"with"))
    world.ask(f"$JS.API.STREAM.MSG.DELETE.{name}", json.dumps({"seq": 4}).encode())
    return client


def heard(client: Client, stream: bytes) -> list[bytes]:
    return messages(client.read().replace(stream, b"<>"))


# A piece of publishes, then pieces of gets that must see them.
PUT_AND_GET = [pub(b"<>.k.a", b"new##")] * 16 + [pub(GET + b"<>.<>.k.a", b"", b"_INBOX.<>.##")] * 32


@settings(max_examples=50, deadline=None)
@example(reads=[PUT_AND_GET], storage="file", direct=True)
@given(
    reads=st.lists(READS, min_size=1, max_size=3),
    storage=st.sampled_from(["file", "file", "memory"]),
    direct=st.sampled_from([True, True, True, False]),
)
def test_together_is_alone(
    world: World, reads: list[list[bytes]], storage: str, direct: bool
) -> None:
    together = begin(world, TOGETHER, storage, direct)
    alone = begin(world, ALONE, storage, direct)
    together.session.pause = 0
    try:
        for read in reads:
            frames = [frame.replace(b"##", b"%02d" % at) for at, frame in enumerate(read)]
            together.send(b"".join(frames).replace(b"<>", TOGETHER))
            world.settle()
            for frame in frames:
                alone.send(frame.replace(b"<>", ALONE))
            world.settle()
            assert heard(together, TOGETHER) == heard(alone, ALONE)
            assert together.session.in_msgs == alone.session.in_msgs
            assert together.session.in_bytes == alone.session.in_bytes
            assert together.session.out_msgs == alone.session.out_msgs
    finally:
        for name, client in ((TOGETHER, together), (ALONE, alone)):
            world.ask(f"$JS.API.STREAM.DELETE.{name.decode()}")
            client.drop()


def test_a_read_of_gets_is_answered_in_one_pass(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = begin(world, TOGETHER, "file", True)
    monkeypatch.setattr("jetstream_py.api.service.direct_get", pytest.fail)
    gets = [pub(GET + b"TT.TT.k.a", b"", b"_INBOX.TT.%02d" % at) for at in range(40)]
    client.send(b"".join(gets))
    assert len(messages(client.read())) == 40
    assert direct_series.DIRECT_GET == GET
    world.ask(f"$JS.API.STREAM.DELETE.{TOGETHER.decode()}")
