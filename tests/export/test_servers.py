"""From and to real servers: nats-server and ours, in both directions."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py import limits
from jetstream_py.cli import dispatch
from jetstream_py.export.errors import ExportError
from jetstream_py.export.link import Link, open_link
from jetstream_py.export.restore import ImportOptions, ImportOutcome, import_stream
from jetstream_py.export.run import Bound, Options, Outcome, export
from jetstream_py.export.server import ServerSource
from jetstream_py.migrate.options import Endpoint
from jetstream_py.store import Message
from tests.export.support import HOSTILE, JUNK, NAME, check, exported, manifest
from tests.jetstream.support import JetStream
from tests.support.server import KINDS, ORACLE, OURS, Kind, Servers

CONFIG = """
max_payload: 9MB
authorization { users: [
    {user: a, password: a}
    {user: reader, password: r, permissions: {publish: {deny: ["$JS.API.CONSUMER.>"]}}}
] }
no_auth_user: a
"""
LARGE = b"x" * (8 * 1024 * 1024)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, JetStream]]:
    root = tmp_path_factory.mktemp("export")
    with Servers(root) as servers:
        found = {}
        for kind in KINDS:
            store = root / f"store-{kind}"
            found[kind] = JetStream(servers.start(kind, CONFIG, ["-js", "-sd", str(store)]), store)
        yield found
        for side in found.values():
            side.close()


@pytest.fixture(params=KINDS)
def side(request: pytest.FixtureRequest, sides: dict[Kind, JetStream]) -> JetStream:
    found = sides[request.param]
    found.clear()
    return found


def publish(side: JetStream, rows: list[tuple[bytes, bytes, bytes]]) -> None:
    """As they are: no client library would send some of these."""
    for subject, block, data in rows:
        line = b"PUB %b %d\r\n" % (subject, len(data))
        if block:
            line = b"HPUB %b %d %d\r\n" % (subject, len(block), len(block) + len(data))
        side.client.send(line + block + data + b"\r\n")
    side.fence()


def stored(side: JetStream, name: str = NAME) -> list[Message]:
    """What a stream has, by single gets: another way than the export's."""
    from jetstream_py.migrate.messages import nanoseconds

    state, found = side.ask(f"STREAM.INFO.{name}")["state"], []
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        answer = side.ask(f"STREAM.MSG.GET.{name}", {"seq": seq}).get("message")
        if answer:
            parts = [base64.b64decode(answer.get(key) or "") for key in ("hdrs", "data")]
            time = nanoseconds(answer["time"])
            found.append(Message(seq, time, answer["subject"].encode(), *parts))
    return found


async def with_link(side: JetStream, work: Any, login: str = "") -> Any:
    link: Link = await open_link(Endpoint(f"nats://{login}127.0.0.1:{side.server.port}"))
    try:
        return await work(link)
    finally:
        await link.close()


def take(side: JetStream, out: Path, login: str = "", **options: Any) -> Outcome:
    async def work(link: Link) -> Outcome:
        return await export(ServerSource(link, NAME), Options(str(out), **options))

    outcome: Outcome = asyncio.run(with_link(side, work, login))
    return outcome


def give(side: JetStream, out: Path, **options: Any) -> ImportOutcome:
    async def work(link: Link) -> ImportOutcome:
        return await import_stream(link, ImportOptions(str(out), **options))

    outcome: ImportOutcome = asyncio.run(with_link(side, work))
    return outcome


def texts(rows: list[tuple[bytes, bytes, bytes]]) -> list[tuple[bytes, bytes, bytes]]:
    """Those whose subjects a JSON answer can name."""
    return [row for row in rows if b"\xe9" not in row[0]]


@pytest.mark.parametrize(
    ("config", "login"),
    [
        ({}, ""),
        ({"retention": "workqueue", "allow_direct": True}, ""),
        ({"retention": "interest"}, ""),
        ({"allow_direct": True}, "reader:r@"),
    ],
    ids=["consumer", "work queue", "one by one", "no consumer allowed"],
)
def test_every_way_to_read(
    side: JetStream, tmp_path: Path, config: dict[str, Any], login: str
) -> None:
    side.create(NAME, subjects=["orders.>"], **config)
    if config.get("retention") == "interest":
        consumer = {"name": "c", "durable_name": "c", "ack_policy": "explicit"}
        side.ok(f"CONSUMER.CREATE.{NAME}.c", {"stream_name": NAME, "config": consumer})
    sent = texts(HOSTILE + ([] if "allow_direct" in config else JUNK))
    publish(side, sent)
    side.ok(f"STREAM.MSG.DELETE.{NAME}", {"seq": 3})
    before = side.ask(f"STREAM.INFO.{NAME}")["state"]
    outcome = take(side, tmp_path, login)
    assert side.ask(f"STREAM.INFO.{NAME}")["state"] == before
    assert bool(outcome.warnings) == bool(login)
    rows = stored(side)
    assert len(rows) == len(sent) - 1
    if config:  # gets cannot tell a block without headers from none
        empty = b"NATS/1.0\r\n\r\n"
        rows = [row._replace(headers=row.headers.replace(empty, b"")) for row in rows]
    check(tmp_path, rows)
    assert manifest(tmp_path).segments[0].deleted == [(3, 3)]


def test_pulls_that_do_not_hold_a_message(
    side: JetStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EXPORT_PULL", 7)
    side.create(NAME, subjects=["orders.>"])
    publish(side, [*HOSTILE, (b"orders.large", b"", LARGE), *HOSTILE])
    take(side, tmp_path, until=Bound(seq=20))
    assert [row.seq for row in exported(tmp_path)] == list(range(1, 21))
    take(side, tmp_path)
    rows = exported(tmp_path)
    assert [(row.subject, row.headers, row.data) for row in rows] == [
        *HOSTILE,
        (b"orders.large", b"", LARGE),
        *HOSTILE,
    ]
    take(side, tmp_path / "some", subject="orders.large")
    assert [row.data for row in exported(tmp_path / "some")] == [LARGE]


@pytest.mark.parametrize("source", KINDS)
def test_there_and_back(sides: dict[Kind, JetStream], tmp_path: Path, source: Kind) -> None:
    one, other = sides[source], sides[ORACLE if source == OURS else OURS]
    one.clear()
    other.clear()
    one.create(NAME, subjects=["orders.>"])
    rows = [*HOSTILE, (b"orders.id", b"NATS/1.0\r\nNats-Msg-Id: 7\r\n\r\n", b"x"), *JUNK[1:]]
    publish(one, rows)
    take(one, tmp_path / "a")
    assert give(other, tmp_path / "a", stream=NAME, create=True).messages == len(rows)
    again = give(other, tmp_path / "a", stream=NAME)
    assert (again.messages, again.before, again.last_seq) == (0, len(rows), len(rows))
    take(other, tmp_path / "b")
    there, back = exported(tmp_path / "a"), exported(tmp_path / "b")
    for was, now in zip(there, back, strict=True):
        assert (was.seq, was.subject, was.data) == (now.seq, now.subject, now.data)
        assert b"Export-Sequence: %d\r\n" % was.seq in now.headers
        if was.headers.endswith(b"\r\n\r\n") and was.subject != b"orders.id":
            assert now.headers.startswith(was.headers[:-2])
    assert b"Export-Headers: anVuaw==\r\n" in back[-2].headers
    assert b"Export-Msg-Id: 7\r\n" in back[-3].headers


def test_an_import_that_was_cut_goes_on(
    side: JetStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORT_WINDOW", 3)
    side.create(NAME, subjects=["orders.>"])
    publish(side, HOSTILE)
    take(side, tmp_path)
    side.delete(NAME)
    side.create(NAME, subjects=["orders.>"], max_msgs=10, discard="new")
    with pytest.raises(
        ExportError, match="ends at 10, the next message was refused: maximum messages"
    ):
        give(side, tmp_path, stream=NAME)
    side.update(NAME, subjects=["orders.>"], discard="new")
    outcome = give(side, tmp_path, stream=NAME)
    assert (outcome.messages, outcome.before) == (len(HOSTILE) - 10, 10)
    take(side, tmp_path / "b")
    assert [row.data for row in exported(tmp_path / "b")] == [data for _, _, data in HOSTILE]


def test_imports_that_are_refused(sides: dict[Kind, JetStream], tmp_path: Path) -> None:
    side = sides[OURS]
    side.clear()
    side.create(NAME, subjects=["orders.>"])
    publish(side, HOSTILE[:3])
    take(side, tmp_path)
    with pytest.raises(ExportError, match="there is no stream X"):
        give(side, tmp_path, stream="X")
    with pytest.raises(ExportError, match="not of this export; --append"):
        give(side, tmp_path, stream=NAME)
    assert give(side, tmp_path, stream=NAME, append=True).last_seq == 6
    assert give(side, tmp_path, stream=NAME).messages == 0
    side.create("OTHER", subjects=["other.>"])
    with pytest.raises(ExportError, match="expected stream does not match"):
        give(side, tmp_path, stream="OTHER")
    segment = tmp_path / NAME / manifest(tmp_path).segments[0].path
    segment.write_bytes(segment.read_bytes()[:-1] + b"\0")
    side.create("NEW", subjects=["new"])
    port = side.server.port
    command = ["import", str(tmp_path), "--stream", "NEW", "--server", f"127.0.0.1:{port}"]
    assert dispatch(command) == 1


def test_commands(
    sides: dict[Kind, JetStream], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side = sides[OURS]
    side.clear()
    side.create(NAME, subjects=["orders.>"])
    publish(side, HOSTILE)
    server = f"nats://127.0.0.1:{side.server.port}"
    live, file = tmp_path / "live", tmp_path / "file"
    assert dispatch(["export", "ORD*", "--server", server, "--out", str(live)]) == 0
    assert dispatch(["export", NAME, "--store", str(side.store), "--out", str(file)]) == 0
    assert exported(live) == exported(file)
    assert manifest(live).origin.created_ns == manifest(file).origin.created_ns
    assert dispatch(["import", str(live), "--stream", "COPY", "--server", server]) == 1
    assert dispatch(["export", "NONE", "--server", server, "--out", str(live)]) == 1
    assert dispatch(["export", NAME, "--server", "127.0.0.1:1", "--out", str(live)]) == 3
    assert dispatch(["export", NAME, "--server", "x", "--store", "y", "--out", "z"]) == 2
    assert dispatch(["export", NAME, "--out", "z", "--since", "soon"]) == 2
    told = capsys.readouterr()
    assert f"{NAME}: {len(HOSTILE)} messages in 1 segments, up to {len(HOSTILE)}" in told.out
    assert "there is no stream NONE" in told.err
    assert "there is no stream COPY" in told.err
