"""Benchmarks: what they count is what the server has, and what they print is what they counted."""

from __future__ import annotations

import asyncio
import json
import threading
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from jetstream_py.cli.bench_report import Result, data, plot
from jetstream_py.cli.bench_wire import Frames, Link
from tests.cli.shell import Shell, both_shells
from tests.support.server import OURS, Kind

Shells = dict[Kind, Shell]


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shells]:
    with both_shells(tmp_path_factory.mktemp("bench")) as found:
        yield found


def measured(shell: Shell, line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.ok("bench", *line.split(), "--json"))
    assert found["seconds"] > 0
    assert found["messages_per_second"] > 0
    return found


def counts(found: dict[str, Any]) -> tuple[int, int, int, int]:
    return found["clients"], found["messages"], found["bytes"], found["errors"]


def stored(shell: Shell, stream: str) -> int:
    return int(json.loads(shell.ok("stream", "info", stream, "--json"))["state"]["messages"])


def test_what_is_published_is_in_the_stream(shells: Shells, kind: Kind) -> None:
    shell = shells[kind]
    shell.ok("stream", "add", "ALL", "--subjects", "all.*", "--defaults")
    found = measured(shell, "pub all.core --msgs 3001 --size 1KiB --clients 3")
    assert counts(found) == (3, 3001, 3001 * 1024, 0)
    found = measured(shell, "js pub all.js --stream ALL --msgs 1k --clients 2 --size 10")
    assert counts(found) == (2, 1000, 10_000, 0)
    assert sorted(found["latency_us"]) == ["avg", "max", "min", "p50", "p90", "p99", "p99.9"]
    assert stored(shell, "ALL") == 4001
    for acks in ("none", "explicit"):
        line = f"js fetch --stream ALL --msgs 4001 --clients 2 --batch 300 --acks {acks}"
        found = measured(shell, line)
        assert counts(found)[:2] == (2, 4001)
    assert json.loads(shell.ok("consumer", "ls", "ALL", "--json")) == []


def test_what_a_benchmark_made_it_removes(shells: Shells, kind: Kind) -> None:
    shell = shells[kind]
    assert counts(measured(shell, "kv put --msgs 500 --keys 7")) == (1, 500, 64_000, 0)
    assert counts(measured(shell, "kv get --msgs 100 --keys 3")) == (1, 100, 12_800, 0)
    put = measured(shell, "object put --msgs 3 --size 200KiB --clients 2")
    assert counts(put) == (2, 3, 614_400, 0)
    assert counts(measured(shell, "object get --msgs 2 --size 2M"))[:2] == (1, 2)
    names = json.loads(shell.ok("stream", "ls", "--all", "--names", "--json"))
    assert not {"KV_BENCH", "OBJ_BENCH"} & {*names}
    measured(shell, "kv put --msgs 20 --keys 20 --keep")
    assert stored(shell, "KV_BENCH") == 20


def test_requests_and_their_answers(shells: Shells, kind: Kind) -> None:
    shell = shells[kind]
    found = measured(shell, "request echo.me --echo --msgs 200 --clients 2 --window 5")
    assert counts(found) == (2, 200, 25_600, 0)
    nobody = shell("bench", "request", "nobody", "--msgs", "3")
    assert (nobody.status, nobody.out) == (1, "")
    assert "nothing was done: NATS/1.0 503" in nobody.err
    assert "nobody listens there" in nobody.err


def test_subscribers_count_what_others_publish(shells: Shells) -> None:
    shell = shells[OURS]
    enough = threading.Event()

    def busy() -> None:
        from tests.support.raw import RawClient

        with RawClient(int(shell.url.rpartition(":")[2])) as client:
            client.read_info()
            while not enough.is_set():
                client.exchange(b"PUB many.x 3\r\nabc\r\nPUB many.yy 4\r\nabcd\r\n" * 10)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        found = measured(shell, "sub many.* --msgs 50 --clients 2")
    finally:
        enough.set()
        thread.join()
    assert found["messages"] >= 100
    assert 3 * found["messages"] < found["bytes"] < 4 * found["messages"]


def test_on_a_terminal_there_is_a_plot(shells: Shells) -> None:
    shown = shells[OURS].typed("bench", "request", "plot", "--echo", "--msgs", "300")
    assert shown.status == 0
    assert "Messages: 300" in shown.out
    assert "Latency of requests:" in shown.out
    assert shown.out.count("≤ ") == 8
    assert "█" in shown.out


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("pub a..b", 2, "is no subject"),
        ("pub a.*", 2, "has wildcards"),
        ("pub x --msgs 0", 2, "is no number like 5000"),
        ("pub x --msgs many", 2, "is no number like 5000"),
        ("pub x --size 2M", 1, "more than the server takes"),
        ("pub x --clients 0", 2, "--clients"),
        ("js fetch --stream NONE", 1, "stream not found"),
        ("js fetch --stream FULL --acks explicit", 1, "(10026)"),
    ],
)
def test_errors_say_what_is_wrong(shells: Shells, line: str, status: int, words: str) -> None:
    shell = shells[OURS]
    if "FULL" in line:  # no room for the consumer of the benchmark
        shell.ok(
            "stream", "add", "FULL", "--subjects", "full", "--max-consumers", "1", "--defaults"
        )
        shell.ok("consumer", "add", "FULL", "C", "--pull", "--defaults")
    done = shell("bench", *line.split())
    assert (done.status, done.out) == (status, "")
    assert words in done.err


# -- without a server --------------------------------------------------------------------------------


class Pieces:
    """A session whose transport gives what was told, piece by piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._transport = self
        self._pieces = pieces
        self.written = b""

    async def read(self, size: int) -> bytes:
        return self._pieces.pop(0)

    def write(self, data: bytes) -> None:
        self.written += data


STREAM = (
    b"MSG a 1 3\r\nxyz\r\n" * 5
    + b"MSG a 1 _INBOX.1 3\r\nMSG\r\n"
    + b"PING\r\n"
    + b"MSG a 1 13\r\n\r\nMSG a 1 3\r\n\r\n"
    + b"HMSG b 1 re 12 15\r\nNATS/1.0\r\n\r\nabc\r\n"
    + b"PONG\r\n"
    + b"MSG a 1 0\r\n\r\n"
)


@pytest.mark.parametrize("step", [1, 2, 7, 16, 17, 40, 1000])
def test_frames_are_cut_right_wherever_reads_end(step: int) -> None:
    pieces = Pieces([STREAM[at : at + step] for at in range(0, len(STREAM), step)])
    link = Link(pieces)  # type: ignore[arg-type]
    found: list[Frames] = []

    async def play() -> None:
        while pieces._pieces:
            found.extend(await link.receive())

    asyncio.run(play())
    assert sum(frames.times for frames in found) == 9
    single = [(each.subject, each.reply, each.payload) for each in found if each.payload != b"xyz"]
    assert single == [
        (b"a", b"_INBOX.1", b"MSG"),
        (b"a", b"", b"\r\nMSG a 1 3\r\n"),
        (b"b", b"re", b"NATS/1.0\r\n\r\nabc"),
        (b"a", b"", b""),
    ]
    assert (link.pongs, pieces.written) == (1, b"PONG\r\n")


def test_ranks_and_rates() -> None:
    latencies = array("d", [number / 1000 for number in range(1, 1001)])
    found = data(Result("t", 1, 1000, 2000, 4.0, latencies, "x"))
    assert (found["messages_per_second"], found["bytes_per_second"]) == (250.0, 500.0)
    assert found["latency_us"] == {
        "min": 1000.0,
        "avg": 500500.0,
        "p50": 500000.0,
        "p90": 900000.0,
        "p99": 990000.0,
        "p99.9": 999000.0,
        "max": 1000000.0,
    }


@pytest.mark.parametrize("latencies", [[0.001], [0.001] * 5, [0.0, 1.0], [1e-6, 1e-3, 1.0]])
def test_a_plot_has_all_of_them(latencies: list[float]) -> None:
    rows = plot(array("d", latencies))
    assert len(rows) == 8
    assert sum(int(row.split()[-1].replace(",", "")) for row in rows) == len(latencies)
