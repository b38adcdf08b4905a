"""A case, which is one row of the table, and what one run of it measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from benchmarks import wire
from benchmarks.crew import Report
from benchmarks.streams import FILE, MEMORY

# The roles of a run with their arguments, the driving one last.
Cast: TypeAlias = list[tuple[type, dict[str, object]]]

TIMEOUT: Final = 20.0
_RARE: Final = 100_000
_RARE_IN_TESTS: Final = 1_000
_BY_LATENCY: Final = ("reqrep-1", "reqrep-1-core", "js-pub-1", "js-sparse", "kv-put-1")
# What to deliver there depends on filters, or on what another client publishes, or on the batch.
_NO_CEILING: Final = (
    "js-filter",
    "js-sparse",
    "js-live",
    "kv-watch",
    "js-pub-batch",
    "js-pub-fast",
    "js-pub-ttl",
    "js-mirror",
    "js-source",
    "js-mirror-live",
)
_ALLOWED: Final = {
    "js-pub-batch": "allow_atomic",
    "js-pub-fast": "allow_batched",
    "js-pub-ttl": "allow_msg_ttl",
}
_WRITING: Final = ("js-pub", "js-live", "kv-put")


@dataclass(frozen=True)
class Case:
    """One row of the table: what is sent, from whom to whom."""

    mode: str
    size: int
    subjects: int
    binary: bool = False
    queue: bool = True
    verify: bool = False

    @property
    def load(self) -> wire.Load:
        rare = 0
        if self.mode == "js-sparse":
            rare = _RARE_IN_TESTS if self.verify else _RARE
        return wire.Load(self.size, self.subjects, self.binary, self.bucket, rare)

    @property
    def bucket(self) -> bool:
        return self.mode.startswith("kv-")

    @property
    def by_latency(self) -> bool:
        return self.mode in _BY_LATENCY

    @property
    def pinned(self) -> bool:
        return self.mode == "reqrep-1-core"

    @property
    def jetstream(self) -> bool:
        return self.mode.startswith(("js-", "kv-"))

    @property
    def storage(self) -> str:
        return MEMORY if self.mode.endswith("-mem") else FILE

    @property
    def config(self) -> dict[str, object]:
        """What its stream has to allow."""
        wanted = _ALLOWED.get(self.mode)
        return {wanted: True} if wanted else {}

    @property
    def reads(self) -> bool:
        """Whether only reads are timed, so that it does not matter when a server syncs."""
        return self.jetstream and not self.mode.startswith(_WRITING)

    @property
    def cold(self) -> bool:
        """Whether the server is started anew for every run, on a stream that it had before."""
        return self.mode.startswith("js-catchup")

    @property
    def has_ceiling(self) -> bool:
        """Whether the null server can play its part."""
        return not self.cold and self.mode not in _NO_CEILING

    @property
    def grows(self) -> bool:
        """Whether a run leaves something of each of its messages on the disk."""
        return self.mode.startswith("js-pub") and self.storage == FILE


@dataclass(frozen=True)
class Run:
    """What one run measured. A message of a fan-out is one publish, not one delivery."""

    messages: int
    seconds: float
    server_cpu: float
    generator_cpu: float
    reports: list[Report] = field(repr=False)
    p50: float = 0.0
    p99: float = 0.0
    disk_bytes: int = 0

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    @property
    def server_cpu_micros(self) -> float:
        return self.server_cpu / self.messages * 1e6

    @property
    def generator_cpu_micros(self) -> float:
        return self.generator_cpu / self.messages * 1e6

    @property
    def disk_per_message(self) -> float:
        return self.disk_bytes / self.messages

    @property
    def busiest_waiting(self) -> float:
        """How long the busiest role waited for the server, as a share of its time."""
        return min(report.waiting for report in self.reports)
