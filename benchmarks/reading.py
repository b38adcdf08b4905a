"""The modes of reading: consumers of all kinds, key-value buckets, mirrors and sources.

The catch-up modes are no other than an ordered and a pull consumer; what makes them special is that
the server has just been started and its files are not even in the page cache (`compare.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import wire
from benchmarks.cases import Case
from benchmarks.conn import ConnectionLost
from benchmarks.roles.copies import Copier
from benchmarks.roles.pull import Manner, Puller, Pullers
from benchmarks.roles.push import PushReader
from benchmarks.roles.streams import LatencyPublisher, StreamPublisher, StreamReader
from benchmarks.servers import Server, ServerFailed
from benchmarks.stage import Scene, Stage, fill
from benchmarks.streams import BUCKET, STREAM, Api, ApiError

COPY: Final = "COPY"
CROWD: Final = 10
KEYS: Final = 20_000
_FILTERED_FILL: Final = 84_000  # 20 times the order in which 200 subjects go round
_FILTERED_FILL_IN_TESTS: Final = 4_200
_RARE_HITS: Final = 5
_LIVE_WINDOW: Final = 1_000
_WATCH_WINDOW: Final = 500
_MAX_ACK_PENDING: Final = 1_000
_REMOVAL_LIMIT: Final = 10.0
_ACKNOWLEDGED: Final = {"ack_policy": "explicit", "max_ack_pending": _MAX_ACK_PENDING}
_ORDERED: Final[dict[str, Any]] = {
    "ack_policy": "none",
    "flow_control": True,
    "idle_heartbeat": 5_000_000_000,
    "inactive_threshold": 60_000_000_000,
    "max_deliver": 1,
    "mem_storage": True,
}
_BUCKET: Final[dict[str, Any]] = {
    "name": BUCKET,
    "subjects": [wire.BUCKET_SUBJECTS.decode()],
    "max_msgs_per_subject": 1,
    "discard": "new",
    "allow_rollup_hdrs": True,
    "deny_delete": True,
}


@dataclass(frozen=True)
class Mode:
    """How a mode is set up, and how many messages its first pilot and its longest run have."""

    set_up: Callable[[Stage], Scene]
    pilot: int = 5_000
    most: int = 100_000


@contextmanager
def scene(server: Server, case: Case, messages: int, timeout: float) -> Iterator[Scene]:
    """Stream and consumers of one run of about `messages` messages; its consumers end with it."""
    try:
        with ExitStack() as stack:
            # The null server has no API: it delivers whatever it is asked for.
            api = stack.enter_context(Api(server.port)) if server.store else None
            yield MODES[case.mode].set_up(Stage(server, api, case, messages, timeout, stack))
    except (ApiError, ConnectionLost) as error:
        raise ServerFailed(f"{server.name}: {error}\n{server.last_words()}".strip()) from error


def _pull(batch: int, in_flight: int = 1, ack: str = "explicit") -> Callable[[Stage], Scene]:
    def set_up(stage: Stage) -> Scene:
        stored, due = stage.fill(stage.messages), stage.messages
        stage.consumer("PULL", {"ack_policy": ack})
        args: dict[str, object] = {
            "consumers": ["PULL"],
            "filters": [],
            "stored": stored,
            "due": due,
            "manner": Manner(batch, in_flight, ack == "explicit"),
        }
        return Scene([(Puller, stage.reader | args)], [stage.settled("PULL", due)])

    return set_up


def _push(config: dict[str, Any]) -> Callable[[Stage], Scene]:
    def set_up(stage: Stage) -> Scene:
        due = stage.fill(stage.messages)  # A push consumer delivers all there is.
        stage.consumer("PUSH", config | {"deliver_subject": stage.deliver(due)})
        args = stage.reader | {
            "deliver": stage.deliver(due),
            "first": 1,
            "due": due,
            "ack": config["ack_policy"] == "explicit",
            "drives": True,
        }
        return Scene([(PushReader, args)], [stage.settled("PUSH", due)])

    return set_up


def _crowd(stage: Stage) -> Scene:
    """Consumers of the same stream, each of which sees all messages."""
    due = max(1, stage.messages // CROWD)
    stage.fill(due)
    names = [f"ONE-{number}" for number in range(CROWD)]
    for name in names:
        stage.consumer(name, {})
    args = stage.reader | {"consumers": names, "shared": False, "due": due, "manner": Manner(100)}
    return Scene([(Pullers, args)], [stage.settled(name, due) for name in names])


def _workers(stage: Stage) -> Scene:
    """Clients that share one consumer of a work queue, which is empty in the end."""
    due = max(1, stage.messages // CROWD)
    home = stage.fresh(retention="workqueue")
    if home:
        fill(stage.server, stage.case.load, 0, due * CROWD, stage.timeout)
    stage.consumer("WORK", {"max_ack_pending": CROWD * _MAX_ACK_PENDING})
    args = stage.reader | {
        "consumers": ["WORK"] * CROWD,
        "shared": True,
        "due": due,
        "manner": Manner(100),
    }
    checks = [stage.settled("WORK", due * CROWD)]
    if home:
        checks.append(lambda: home.check(0, within=_REMOVAL_LIMIT))
    return Scene([(Pullers, args)], checks)


def _filtered(stage: Stage) -> Scene:
    """One subject after the other, each by a consumer of its own."""
    names = [name.decode() for name in wire.names(stage.case.load)]
    stored = stage.fill(_FILTERED_FILL_IN_TESTS if stage.case.verify else _FILTERED_FILL)
    each = stored // len(names)
    return _by_filters(
        stage, stored, names[: max(1, stage.messages // each)], Manner(500, 1, False)
    )


def _sparse(stage: Stage) -> Scene:
    """The time to the next match, which is far away; every consumer finds the same few."""
    stored = stage.fill(stage.case.load.rare * _RARE_HITS)
    consumers = max(1, stage.messages // _RARE_HITS)
    return _by_filters(
        stage, stored, [wire.RARE_SUBJECTS.decode()] * consumers, Manner(1, 1, False)
    )


def _by_filters(stage: Stage, stored: int, filters: list[str], manner: Manner) -> Scene:
    consumers = [f"FILTER-{number}" for number in range(len(filters))]
    for name, subject in zip(consumers, filters, strict=True):
        stage.consumer(name, {"ack_policy": "none", "filter_subject": subject})
    args = stage.reader | {
        "consumers": consumers,
        "filters": filters,
        "stored": stored,
        "due": 0,
        "manner": manner,
        "timed": stage.case.by_latency,
    }
    return Scene([(Puller, args)])


def _live(stage: Stage) -> Scene:
    """A publisher, and a consumer that keeps up with it."""
    stored = stage.messages + 1
    home = stage.fresh()
    stage.consumer("LIVE", {})
    reader = stage.reader | {
        "consumers": ["LIVE"],
        "filters": [],
        "stored": stored,
        "due": stored,
        "manner": Manner(500, 2, True, each_read=True),
    }
    publisher = stage.common | {"count": stage.messages, "window": _LIVE_WINDOW}
    checks = [stage.settled("LIVE", stored)]
    if home:
        checks.append(lambda: home.check(stored))
    return Scene([(Puller, reader), (StreamPublisher, publisher)], checks)


def _put(window: int) -> Callable[[Stage], Scene]:
    def set_up(stage: Stage) -> Scene:
        home = stage.fresh(**_BUCKET)
        args = stage.common | {"count": stage.messages}
        keys = len(set(wire.published_names(stage.case.load, 0, stage.messages + 1)))
        checks = [lambda: home.check(keys)] if home else []
        if window == 1:
            return Scene([(LatencyPublisher, args)], checks)
        return Scene([(StreamPublisher, args | {"window": window})], checks)

    return set_up


def _get(window: int) -> Callable[[Stage], Scene]:
    def set_up(stage: Stage) -> Scene:
        home = stage.fresh(**_BUCKET)
        args = {"count": stage.messages, "window": window, "kind": "direct-last"}
        checks = [lambda: home.check(stage.case.subjects)] if home else []
        return Scene([(StreamReader, stage.common | args)], checks)

    return set_up


def _watch(stage: Stage) -> Scene:
    """Every key is there and then updated once: an update that is replaced need not be delivered."""
    load = stage.case.load
    updates = min(stage.messages, load.subjects - 1)
    home = stage.fresh(**_BUCKET)
    if home:
        fill(stage.server, load, 0, load.subjects, stage.timeout)
    deliver = stage.deliver(updates + 1)
    config = _ORDERED | {"deliver_policy": "new", "deliver_subject": deliver}
    config["filter_subject"] = wire.BUCKET_SUBJECTS.decode()
    stage.consumer("WATCH", config, BUCKET)
    watcher = stage.reader | {
        "deliver": deliver,
        "first": load.subjects + 1,
        "due": updates + 1,
        "ack": False,
        "drives": False,
    }
    publisher = stage.common | {
        "count": updates,
        "window": _WATCH_WINDOW,
        "first": load.subjects,
    }
    checks = [stage.settled("WATCH", updates + 1, BUCKET)]
    return Scene([(PushReader, watcher), (StreamPublisher, publisher)], checks)


def _copy(kind: str) -> Callable[[Stage], Scene]:
    """A mirror or a source that is made of a stream with messages in it."""

    def set_up(stage: Stage) -> Scene:
        due = stage.fill(stage.messages)
        config = _copy_config(kind)
        stage.stack.callback(stage.forget, COPY)
        args = stage.common | {"name": COPY, "due": due, "config": config}
        return Scene([(Copier, args)])

    return set_up


def _copy_live(stage: Stage) -> Scene:
    """A publisher, and a mirror that keeps up with it."""
    stored = stage.messages + 1
    stage.fresh()
    if stage.api:
        stage.api.ask(f"STREAM.CREATE.{COPY}", _copy_config("mirror"))
        stage.stack.callback(stage.forget, COPY)
    copier = stage.common | {"name": COPY, "due": stored}
    publisher = stage.common | {"count": stage.messages, "window": _LIVE_WINDOW}
    return Scene([(Copier, copier), (StreamPublisher, publisher)])


def _copy_config(kind: str) -> dict[str, Any]:
    origin = {"name": STREAM}
    return {"name": COPY, **({"mirror": origin} if kind == "mirror" else {"sources": [origin]})}


MODES: Final[dict[str, Mode]] = {
    "js-pull-1": Mode(_pull(1), 1_000, 20_000),
    "js-pull-1x2": Mode(_pull(1, 2), 1_000, 20_000),
    "js-pull-100": Mode(_pull(100)),
    "js-pull-100x2": Mode(_pull(100, 2)),
    "js-pull-500": Mode(_pull(500)),
    "js-pull-500x2": Mode(_pull(500, 2)),
    "js-pull-500-mem": Mode(_pull(500)),
    "js-pull-none": Mode(_pull(500, 2, "none")),
    "js-push-none": Mode(_push({"ack_policy": "none"})),
    "js-push-ack": Mode(_push(_ACKNOWLEDGED)),
    "js-ordered": Mode(_push(_ORDERED)),
    "js-consumers-10": Mode(_crowd, 10_000, 200_000),
    "js-workers-10": Mode(_workers),
    "js-filter": Mode(_filtered, 8_400, _FILTERED_FILL // 2),
    "js-sparse": Mode(_sparse, 10, 100),
    "js-live": Mode(_live, 5_000),
    "js-catchup": Mode(_push(_ORDERED)),
    "js-catchup-pull": Mode(_pull(500, 2)),
    "js-mirror": Mode(_copy("mirror"), 10_000, 500_000),
    "js-source": Mode(_copy("source"), 10_000, 500_000),
    "js-mirror-live": Mode(_copy_live, 5_000),
    "kv-put-1": Mode(_put(1), 300, 5_000),
    "kv-put-500": Mode(_put(500), 5_000),
    "kv-get-1": Mode(_get(1), 1_000, 20_000),
    "kv-get-500": Mode(_get(500), 2_000, 200_000),
    "kv-watch": Mode(_watch, KEYS // 4, KEYS - 1),
}
