"""The load generator: a case, the processes that play it, and what one run of it measured.

Every role is a process of its own, prepared before the clock starts. The clock starts when the
driving role (publisher or requester) starts to send and stops when the last role has proven its
end: a publisher by a PONG to its last PING, a subscriber by the last byte due, a requester by the
last reply. With JetStream every run has a fresh stream, and its message count is checked at the end.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import Final

from benchmarks import procfs, reading, wire
from benchmarks.cases import TIMEOUT, Case, Cast, Run
from benchmarks.crew import Report, WorkerFailed, crew, perform
from benchmarks.roles.batches import AtomicPublisher, FastPublisher
from benchmarks.roles.bulk import Publisher, Subscriber
from benchmarks.roles.request import LatencyRequester, Requester, Responder
from benchmarks.roles.streams import LatencyPublisher, StreamPublisher, StreamReader
from benchmarks.servers import Server
from benchmarks.streams import Stream, stream

DISK_TIMEOUT: Final = 100.0  # A disk may need 10 ms for a sync, and a server one per message.
_PILOT_MESSAGES: Final = {
    "pub": 60_000,
    "pub-sub": 60_000,
    "fanout5": 20_000,
    "reqrep-1000": 10_000,
    "js-pub-5000": 5_000,
    "js-pub-5000-mem": 20_000,
    "js-pub-100": 1_000,
    "js-pub-batch": 5_000,
    "js-pub-fast": 5_000,
    "js-pub-ttl": 5_000,
    "js-get": 2_000,
    "js-last": 2_000,
    "js-direct": 2_000,
    "js-direct-last": 2_000,
}
_PILOT_SMALLEST: Final = 300
_LEAST_MESSAGES: Final = {"js-pub-5000": 5_000, "js-pub-5000-mem": 5_000, "js-pub-ttl": 5_000}
_PILOT_SHARE: Final = 0.25  # of a run's length, for the second pilot
_MOST_MESSAGES: Final = {
    "reqrep-1": 50_000,
    "reqrep-1-core": 50_000,
    "reqrep-1000": 2_000_000,
    "js-pub-5000": 2_000_000,
    "js-pub-5000-mem": 2_000_000,
    "js-pub-100": 2_000_000,
    "js-pub-1": 50_000,
    "js-pub-batch": 1_000_000,
    "js-pub-fast": 1_000_000,
    "js-pub-ttl": 1_000_000,
    "js-get": 500_000,
    "js-last": 500_000,
    "js-direct": 500_000,
    "js-direct-last": 500_000,
}
_MOST_ANY: Final = 20_000_000
_GET_WINDOW: Final = 100
_BATCH_WINDOW: Final = 4  # atomic batches without an answer


def run_case(server: Server, case: Case, messages: int, timeout: float = 0.0) -> Run:
    """One run of about `messages` messages (whole cycles) against a running server."""
    timeout = timeout or (DISK_TIMEOUT if case.jetstream else TIMEOUT)
    if case.mode in reading.MODES:
        with reading.scene(server, case, messages, timeout) as scene:
            reports, used = _played(server, case, scene.cast, timeout)
            scene.check()
            return _measured(reports, used, 0)
    cast = _CASTS[case.mode](server.port, case, messages, timeout)
    with ExitStack() as stack:
        # The null server has no streams: it takes every message and keeps none.
        real = case.jetstream and server.store
        home = stack.enter_context(stream(server, case.storage, **case.config)) if real else None
        reports, used = _played(server, case, cast, timeout)
        return _measured(reports, used, _kept(home, case, reports) if home else 0)


def _played(server: Server, case: Case, cast: Cast, timeout: float) -> tuple[list[Report], float]:
    """What the workers report, and the CPU seconds of the server meanwhile."""
    pinned = procfs.one_core(server.pid) if case.pinned else nullcontext()
    try:
        with pinned, crew(cast, timeout) as workers:
            before = procfs.cpu_seconds(server.pid)
            reports = perform(workers, timeout)
            return reports, procfs.cpu_seconds(server.pid) - before
    except WorkerFailed as error:
        raise WorkerFailed(f"{server.name}: {error}\n{server.last_words()}".strip()) from error


def _kept(home: Stream, case: Case, reports: list[Report]) -> int:
    """Bytes on the disk, once it is certain that they are those of all messages."""
    home.check(reports[-1].facts["stored"])
    return home.grown_bytes() if case.grows else 0


def calibrate(server: Server, case: Case, seconds: float) -> int:
    """How many messages keep this server busy for about `seconds`.

    The first of the two pilots only warms the server up: it meets every subject for the first time.
    A server that syncs every message was busy for long enough with one.
    """
    reads = reading.MODES.get(case.mode)
    messages = reads.pilot if reads else _PILOT_MESSAGES.get(case.mode, _PILOT_SMALLEST)
    least = min(messages, _LEAST_MESSAGES.get(case.mode, _PILOT_SMALLEST))
    most = reads.most if reads else _MOST_MESSAGES.get(case.mode, _MOST_ANY)
    for share in (_PILOT_SHARE, 1.0):
        pilot = run_case(server, case, messages)
        slow = case.jetstream and pilot.seconds > seconds
        wanted = int(pilot.rate * seconds * (1.0 if slow else share))
        messages = max(least, min(wanted, most))
        if slow:
            break
    return messages


def _measured(reports: list[Report], server_cpu: float, disk_bytes: int) -> Run:
    driver = reports[-1]
    latencies: list[float] = driver.facts.get("latencies", [])
    cuts = statistics.quantiles(latencies, n=100) if len(latencies) > 1 else [0.0] * 99
    return Run(
        messages=driver.facts["messages"],
        seconds=max(report.ended for report in reports) - driver.started,
        server_cpu=server_cpu,
        generator_cpu=sum(report.cpu for report in reports),
        reports=reports,
        p50=cuts[49],
        p99=cuts[98],
        disk_bytes=disk_bytes,
    )


def _bulk(subscribers: int) -> Callable[[int, Case, int, float], Cast]:
    def cast(port: int, case: Case, messages: int, timeout: float) -> Cast:
        cycles = max(1, round(messages / wire.cycle_messages(case.load)))
        common: dict[str, object] = {
            "port": port,
            "load": case.load,
            "cycles": cycles,
            "timeout": timeout,
        }
        receivers: Cast = [(Subscriber, common | {"count_frames": case.verify})] * subscribers
        return [*receivers, (Publisher, common | {"announce_end": subscribers > 0})]

    return cast


def _requests(window: int) -> Callable[[int, Case, int, float], Cast]:
    def cast(port: int, case: Case, messages: int, timeout: float) -> Cast:
        common: dict[str, object] = {
            "port": port,
            "load": case.load,
            "count": messages,
            "timeout": timeout,
        }
        responder = (Responder, common | {"queue": case.queue})
        if window == 1:
            return [responder, (LatencyRequester, common)]
        return [
            responder,
            (Requester, common | {"window": window, "keep_replies": case.verify}),
        ]

    return cast


def _publishes(window: int) -> Callable[[int, Case, int, float], Cast]:
    def cast(port: int, case: Case, messages: int, timeout: float) -> Cast:
        common: dict[str, object] = {
            "port": port,
            "load": case.load,
            "count": messages,
            "timeout": timeout,
        }
        if window == 1:
            return [(LatencyPublisher, common)]
        args = {"window": window, "keep_replies": case.verify, "ttl": case.mode == "js-pub-ttl"}
        return [(StreamPublisher, common | args)]

    return cast


def _batches(port: int, case: Case, messages: int, timeout: float) -> Cast:
    common: dict[str, object] = {
        "port": port,
        "load": case.load,
        "count": messages,
        "timeout": timeout,
    }
    if case.mode == "js-pub-fast":
        return [(FastPublisher, common)]
    window = {"window": _BATCH_WINDOW, "keep_replies": case.verify}
    return [(AtomicPublisher, common | window)]


def _gets(kind: str) -> Callable[[int, Case, int, float], Cast]:
    def cast(port: int, case: Case, messages: int, timeout: float) -> Cast:
        args: dict[str, object] = {
            "port": port,
            "load": case.load,
            "count": messages,
            "timeout": timeout,
            "window": _GET_WINDOW,
            "keep_replies": case.verify,
            "kind": kind,
        }
        return [(StreamReader, args)]

    return cast


# The driving role comes last: it is told to go when all others already listen.
_CORE_CASTS: Final[dict[str, Callable[[int, Case, int, float], Cast]]] = {
    "pub": _bulk(0),
    "pub-sub": _bulk(1),
    "fanout5": _bulk(5),
    "reqrep-1": _requests(1),
    "reqrep-1-core": _requests(1),
    "reqrep-1000": _requests(1000),
}
_JS_CASTS: Final[dict[str, Callable[[int, Case, int, float], Cast]]] = {
    "js-pub-5000": _publishes(5000),
    "js-pub-5000-mem": _publishes(5000),
    "js-pub-100": _publishes(100),
    "js-pub-1": _publishes(1),
    "js-get": _gets("get"),
    "js-last": _gets("last"),
    "js-direct": _gets("direct"),
    "js-direct-last": _gets("direct-last"),
}
_BATCH_CASTS: Final[dict[str, Callable[[int, Case, int, float], Cast]]] = {
    "js-pub-batch": _batches,
    "js-pub-fast": _batches,
    "js-pub-ttl": _publishes(5000),
}
_CASTS: Final = _CORE_CASTS | _JS_CASTS | _BATCH_CASTS
CORE_MODES: Final = tuple(_CORE_CASTS)
JS_MODES: Final = tuple(_JS_CASTS)
BATCH_MODES: Final = tuple(_BATCH_CASTS)
READ_MODES: Final = tuple(reading.MODES)
