"""`python -m benchmarks.consumers`: many consumers of one stream, and one of very many subjects.

Per server: what a consumer costs in memory and in the publisher's rate while nobody listens to it,
how fast all of them are served, first from what has piled up and then while it is published, and
how long it takes to make a consumer over a million subjects and to read them all.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import procfs, report, wire
from benchmarks.cases import Case
from benchmarks.conn import ConnectionLost
from benchmarks.crew import Report, crew, perform
from benchmarks.loadgen import run_case
from benchmarks.roles.consumers import ConsumerCrowd
from benchmarks.roles.streams import StreamPublisher
from benchmarks.servers import Server, ServerFailed, unwind_on_sigterm
from benchmarks.single import common_arguments, run
from benchmarks.stage import Stage
from benchmarks.streams import FILE, STREAM, Api, ApiError, create, with_jetstream

TIMEOUT: Final = 300.0
_INBOX: Final = "_INBOX.bench-scale"
_CONNECTIONS: Final = 10
_WINDOW: Final = 1_000
_LIVE_WINDOW: Final = 10
_SOME_SUBJECTS: Final = "bench.eu.>"  # a quarter of them


@dataclass(frozen=True)
class Scale:
    """How many consumers, messages for each of them, and subjects for the one."""

    consumers: int = 1_000
    published: int = 20_000  # with no consumer
    waiting: int = 200  # while nobody listens to the consumers
    live: int = 100  # while all of them are listened to
    subjects: int = 1_000_000
    size: int = 128


SMALL: Final = Scale(consumers=20, published=500, waiting=20, live=10, subjects=5_000)


@dataclass(frozen=True)
class ScaleResult:
    server: str
    consumers: int
    create_seconds: float
    rss_alone: int
    rss_consumers: int
    rss_served: int
    publish_rate_alone: float
    publish_rate_waiting: float
    publish_rate_live: float
    delivered: int
    waiting_rate: float
    waiting_cpu_micros: float
    live_rate: float
    live_cpu_micros: float
    subjects: int
    rss_empty: int
    rss_subjects: int
    rss_read: int
    create_all_ms: float
    create_filtered_ms: float
    create_last_ms: float
    read_rate: float
    read_cpu_micros: float

    @property
    def rss_per_consumer(self) -> float:
        return (self.rss_consumers - self.rss_alone) / self.consumers


def measure(kind: str, scale: Scale) -> ScaleResult:
    """Both halves, each on a fresh server."""
    found: dict[str, Any] = {"server": kind, "consumers": scale.consumers}
    try:
        with with_jetstream(kind) as server, Api(server.port, TIMEOUT) as api:
            found |= _many_consumers(server, api, scale)
        with with_jetstream(kind) as server, Api(server.port, TIMEOUT) as api:
            found |= _many_subjects(server, api, scale)
    except (ApiError, ConnectionLost) as error:
        raise ServerFailed(f"{kind}: {error}") from error
    return ScaleResult(**found)


def _many_consumers(server: Server, api: Api, scale: Scale) -> dict[str, Any]:
    found: dict[str, Any] = {}
    load = wire.Load(scale.size, 200)
    create(api, FILE)
    alone = _publish(server, load, 0, scale.published)
    found["publish_rate_alone"] = _rate(alone)
    found["rss_alone"] = procfs.settled_rss_bytes(server.pid)
    begin = time.monotonic()
    for number in range(scale.consumers):
        inbox = f"{_INBOX}.{number}"
        _create(api, f"C-{number}", deliver_subject=inbox, deliver_policy="new", ack_policy="none")
    found["create_seconds"] = time.monotonic() - begin
    found["rss_consumers"] = procfs.settled_rss_bytes(server.pid)
    found["publish_rate_waiting"] = _rate(_publish(server, load, scale.published, scale.waiting))
    first, last = scale.published + 1, scale.published + scale.waiting
    waiting, used = _play(server, [(ConsumerCrowd, _crowd(server, load, scale, first, last, True))])
    found |= _delivery("waiting", waiting[0], used)
    crowd = _crowd(server, load, scale, last + 1, last + scale.live, False)
    args = _publisher(server, load, last, scale.live) | {"window": _LIVE_WINDOW}
    live, used = _play(server, [(ConsumerCrowd, crowd), (StreamPublisher, args)])
    found |= _delivery("live", live[0], used)
    found["publish_rate_live"] = _rate(live[1])
    found["delivered"] = sum(one.facts["messages"] for one in (waiting[0], live[0]))
    found["rss_served"] = procfs.rss_bytes(server.pid)
    return found


def _many_subjects(server: Server, api: Api, scale: Scale) -> dict[str, Any]:
    found: dict[str, Any] = {"subjects": scale.subjects}
    case = Case("js-pull-500x2", scale.size, scale.subjects)
    found["rss_empty"] = procfs.settled_rss_bytes(server.pid)
    with ExitStack() as stack:
        Stage(server, api, case, 0, TIMEOUT, stack).fill(scale.subjects)
    found["rss_subjects"] = procfs.settled_rss_bytes(server.pid)
    found["create_all_ms"] = _create(api, "ALL")
    found["create_filtered_ms"] = _create(api, "SOME", filter_subject=_SOME_SUBJECTS)
    found["create_last_ms"] = _create(
        api, "LAST", filter_subject=wire.ALL_SUBJECTS.decode(), deliver_policy="last_per_subject"
    )
    run = run_case(server, case, scale.subjects, TIMEOUT)
    found["rss_read"] = procfs.rss_bytes(server.pid)
    found["read_rate"] = run.rate
    found["read_cpu_micros"] = run.server_cpu_micros
    return found


def _create(api: Api, name: str, **config: object) -> float:
    """The milliseconds it took."""
    begin = time.monotonic()
    wanted = {"name": name, "durable_name": name, "ack_policy": "explicit"} | config
    api.ask(f"CONSUMER.CREATE.{STREAM}.{name}", {"stream_name": STREAM, "config": wanted})
    return (time.monotonic() - begin) * 1000


def _publisher(server: Server, load: wire.Load, first: int, count: int) -> dict[str, object]:
    return {
        "port": server.port,
        "load": load,
        "count": count - 1,  # One more is sent to learn what an ack looks like.
        "window": _WINDOW,
        "timeout": TIMEOUT,
        "first": first,
    }


def _publish(server: Server, load: wire.Load, first: int, count: int) -> Report:
    reports, _ = _play(server, [(StreamPublisher, _publisher(server, load, first, count))])
    return reports[0]


def _crowd(
    server: Server, load: wire.Load, scale: Scale, first: int, last: int, drives: bool
) -> dict[str, object]:
    return {
        "port": server.port,
        "load": load,
        "inbox": _INBOX,
        "connections": _CONNECTIONS,
        "consumers": scale.consumers,
        "first": first,
        "last": last,
        "drives": drives,
        "timeout": TIMEOUT,
    }


def _play(server: Server, cast: list[tuple[type, dict[str, object]]]) -> tuple[list[Report], float]:
    with crew(cast, TIMEOUT) as workers:
        before = procfs.cpu_seconds(server.pid)
        reports = perform(workers, TIMEOUT)
        return reports, procfs.cpu_seconds(server.pid) - before


def _rate(done: Report) -> float:
    return float(done.facts["messages"] / (done.ended - done.started))


def _delivery(when: str, done: Report, server_cpu: float) -> dict[str, Any]:
    micros = server_cpu / done.facts["messages"] * 1e6
    return {f"{when}_rate": _rate(done), f"{when}_cpu_micros": micros}


_ROWS: Final[dict[str, Callable[[ScaleResult], str]]] = {
    "consumers": lambda r: f"{r.consumers:,}",
    "created per second": lambda r: f"{r.consumers / r.create_seconds:,.0f}",
    "RSS per consumer": lambda r: f"{r.rss_per_consumer / 1024:.1f} KiB",
    "RSS when all were served": lambda r: f"{r.rss_served / 1e6:.1f} MB",
    "publishes/s without consumers": lambda r: f"{r.publish_rate_alone:,.0f}",
    "publishes/s, nobody listens": lambda r: f"{r.publish_rate_waiting:,.0f}",
    "publishes/s, all listen": lambda r: f"{r.publish_rate_live:,.0f}",
    "deliveries/s of what waited": lambda r: f"{r.waiting_rate:,.0f}",
    "server CPU per delivery": lambda r: f"{r.waiting_cpu_micros:.2f} µs",
    "deliveries/s while publishing": lambda r: f"{r.live_rate:,.0f}",
    "server CPU per live delivery": lambda r: f"{r.live_cpu_micros:.2f} µs",
    "subjects": lambda r: f"{r.subjects:,}",
    "RSS empty": lambda r: f"{r.rss_empty / 1e6:.1f} MB",
    "RSS with all subjects": lambda r: f"{r.rss_subjects / 1e6:.1f} MB",
    "RSS after reading them": lambda r: f"{r.rss_read / 1e6:.1f} MB",
    "create a consumer of all": lambda r: f"{r.create_all_ms:.1f} ms",
    "create one of a quarter": lambda r: f"{r.create_filtered_ms:.1f} ms",
    "create one of the last ones": lambda r: f"{r.create_last_ms:.1f} ms",
    "reads/s": lambda r: f"{r.read_rate:,.0f}",
    "server CPU per read": lambda r: f"{r.read_cpu_micros:.2f} µs",
}


def render(results: Sequence[ScaleResult]) -> str:
    """One column per server."""
    rows = [["", *(one.server for one in results)]]
    rows += [[name, *(show(one) for one in results)] for name, show in _ROWS.items()]
    return report.table(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consumers", description=__doc__)
    parser.add_argument("--consumers", type=int, default=Scale.consumers)
    parser.add_argument("--subjects", type=int, default=Scale.subjects)
    common_arguments(parser)
    options = parser.parse_args(argv)
    scale = Scale(consumers=options.consumers, subjects=options.subjects)
    return run(options, lambda kind: measure(kind, scale), render)


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main())
