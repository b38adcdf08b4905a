"""The roles a worker process can play, by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.roles.base import Role
from benchmarks.roles.batches import AtomicPublisher, FastPublisher
from benchmarks.roles.bulk import Publisher, Subscriber
from benchmarks.roles.consumers import ConsumerCrowd
from benchmarks.roles.copies import Copier
from benchmarks.roles.crowd import BusyCrowd, IdleCrowd, Probe
from benchmarks.roles.pull import Puller, Pullers
from benchmarks.roles.push import PushReader
from benchmarks.roles.readers import PacedPublisher, Readers, StuckReader
from benchmarks.roles.request import LatencyRequester, Requester, Responder
from benchmarks.roles.streams import LatencyPublisher, StreamPublisher, StreamReader

ROLES: dict[str, Callable[..., Role]] = {
    role.__name__: role
    for role in (
        Publisher,
        Subscriber,
        Requester,
        LatencyRequester,
        Responder,
        IdleCrowd,
        BusyCrowd,
        Probe,
        PacedPublisher,
        Readers,
        StuckReader,
        StreamPublisher,
        LatencyPublisher,
        StreamReader,
        AtomicPublisher,
        FastPublisher,
        Puller,
        Pullers,
        PushReader,
        ConsumerCrowd,
        Copier,
    )
}
