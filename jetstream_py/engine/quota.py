"""What an account may use, and how messages are held against it.

Bytes are looked at before each run of messages, so knowing the sum must cost next to nothing. A `Tally` keeps
what it last saw of each stream. The stream at hand it looks at anew; the others can only have shrunk since,
because all that grows passes here first. So the sum it keeps is never too small, and only when it is too
large for the limit all streams are looked at. An account without limits is never counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from jetstream_py.api.errors import E, error
from jetstream_py.api.reservation import most_bytes
from jetstream_py.api.types import AccountLimits

if TYPE_CHECKING:
    from jetstream_py.engine.stream import Stream

TIER = "R1"  # of streams with one copy, and there are no others here


class Allowance(NamedTuple):
    """The limits of an account; those of tiers, if there are any, take their place."""

    flat: AccountLimits = AccountLimits()
    tiers: Mapping[str, AccountLimits] = {}

    @property
    def limits(self) -> AccountLimits:
        """For streams with one copy."""
        return self.tiers.get(TIER, AccountLimits()) if self.tiers else self.flat


class Tally:
    """Bytes of streams, by the kind of their storage."""

    def __init__(self, streams: Callable[[], Iterable[Stream]]) -> None:
        self._streams = streams
        self._seen: dict[Stream, int] = {}
        self._sums = {"file": 0, "memory": 0}

    def takes(self, stream: Stream, size: int, most: int) -> bool:
        """May the stream grow by `size`? If so it is counted at once."""
        kind, held = stream.config.storage, stream.store.bytes
        total = self._sums[kind] + held - self._seen.get(stream, 0)
        if total + size > most:
            total = self._recount(kind)
        fits = total + size <= most
        self._seen[stream] = held + size if fits else held
        self._sums[kind] = total + size if fits else total
        return fits

    def forget(self, stream: Stream) -> None:
        """It is gone."""
        self._sums[stream.config.storage] -= self._seen.pop(stream, 0)

    def _recount(self, kind: str) -> int:
        self._seen = {
            stream: seen for stream, seen in self._seen.items() if stream.config.storage != kind
        }
        for stream in self._streams():
            if stream.config.storage == kind:
                self._seen[stream] = stream.store.bytes
        total = sum(seen for stream, seen in self._seen.items() if stream.config.storage == kind)
        self._sums[kind] = total
        return total


class Quota:
    """The limits that the messages of an account are held against: its own, and the server's."""

    def __init__(
        self,
        account: str,
        own: Tally,
        server: Tally,
        most: Mapping[str, int],
        warn: Callable[[str], None],
    ) -> None:
        self._account = account
        self._warn = warn
        self._own = own
        self._server = server
        self._server_most = {kind: most.get(kind, 0) or -1 for kind in ("file", "memory")}
        self.allow(Allowance())

    def allow(self, allowance: Allowance) -> None:
        self._most = {kind: most_bytes(allowance.limits, kind) for kind in ("file", "memory")}
        self.counts = {
            kind: max(self._most[kind], self._server_most[kind]) >= 0 for kind in self._most
        }

    def forget(self, stream: Stream) -> None:
        self._own.forget(stream)
        self._server.forget(stream)

    def takes_run(self, stream: Stream, size: int) -> bool:
        """Is there room for all of a run of messages?"""
        kind = stream.config.storage
        own, server = self._most[kind], self._server_most[kind]
        return (own < 0 or self._own.takes(stream, size, own)) and (
            server < 0 or self._server.takes(stream, size, server)
        )

    def check_server(self, stream: Stream, size: int) -> None:
        """The server stops when it is over its limit, not before."""
        kind = stream.config.storage
        most = self._server_most[kind]
        if most >= 0 and not self._server.takes(stream, size, most + size):
            self._warn(f"JetStream {kind} resource limits exceeded for server")
            raise error(E.INSUFFICIENT_RESOURCES)

    def check_account(self, stream: Stream, size: int) -> None:
        kind = stream.config.storage
        most = self._most[kind]
        if most >= 0 and not self._own.takes(stream, size, most):
            self._warn(f'JetStream {kind} resource limits exceeded for account: "{self._account}"')
            raise error(E.ACCOUNT_RESOURCES_EXCEEDED)
