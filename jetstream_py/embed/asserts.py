"""What a test says about the clients of a server, and waits for.

An assertion looks at what has arrived at the server: it does not wait for a client that has yet to send. In
another thread than the server's it lets the server come to rest first. Who has to wait says so:
`wait_...` ends with the first moment at which the thing is true, and fails when the time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from jetstream_py.embed.records import Acked, Published, Records

T = TypeVar("T")

_SHOWN = 20
WAIT = 5.0  # seconds


class Asserts:
    """The part of a `Server` that tests use."""

    _records: Records | None

    def _now(self, action: Callable[[], T]) -> T:
        raise NotImplementedError

    def _call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Any:
        raise NotImplementedError

    @property
    def records(self) -> Records:
        """What clients published and acked."""
        if self._records is None:
            raise RuntimeError("nothing is recorded: start the server with record=True")
        return self._records

    # -- now --------------------------------------------------------------------------------------

    def assert_published(
        self,
        subject: str,
        data: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        count: int | None = None,
    ) -> list[Published]:
        """Clients have published this: at least once, or `count` times. Returns the publishes."""
        records = self.records
        found = self._now(lambda: records.published(subject, data, headers))
        if len(found) != count if count is not None else not found:
            raise AssertionError(_expected(records, subject, data, headers, count, len(found)))
        return found

    def assert_not_published(
        self, subject: str, data: bytes | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """No client has published this."""
        self.assert_published(subject, data, headers=headers, count=0)

    def assert_acked(self, stream: str, consumer: str, *, count: int | None = None) -> list[Acked]:
        """Clients have acked messages of a consumer: at least one, or `count` different ones. Returns the
        acks in order."""
        records = self.records
        found = self._now(lambda: records.acked(stream, consumer))
        seqs = {each.seq for each in found}
        if len(seqs) != count if count is not None else not found:
            raise AssertionError(_acks(records, stream, consumer, count))
        return found

    # -- in time ----------------------------------------------------------------------------------

    def wait_published(
        self,
        subject: str,
        data: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        count: int = 1,
        timeout: float = WAIT,
    ) -> Any:
        """Until clients have published this `count` times. Returns the publishes."""
        records = self.records

        async def wait() -> list[Published]:
            def check() -> list[Published] | None:
                found = records.published(subject, data, headers)
                return found if len(found) >= count else None

            found = await records.until(check, timeout)
            if found is None:
                came = len(records.published(subject, data, headers))
                raise AssertionError(_expected(records, subject, data, headers, count, came))
            return found

        return self._call(wait)

    def wait_acked(
        self, stream: str, consumer: str, *, count: int = 1, timeout: float = WAIT
    ) -> Any:
        """Until clients have acked `count` different messages of a consumer. Returns the acks."""
        records = self.records

        async def wait() -> list[Acked]:
            def check() -> list[Acked] | None:
                found = records.acked(stream, consumer)
                return found if len({each.seq for each in found}) >= count else None

            found = await records.until(check, timeout)
            if found is None:
                raise AssertionError(_acks(records, stream, consumer, count))
            return found

        return self._call(wait)

    def wait_for(self, condition: Callable[[], object], *, timeout: float = WAIT) -> Any:
        """Until the condition is true. It is looked at in the server's thread, whenever a client has
        published or acked something."""
        records = self.records

        async def wait() -> object:
            found = await records.until(lambda: condition() or None, timeout)
            if found is None:
                raise AssertionError(f"{condition} is not true after {timeout} seconds")
            return found

        return self._call(wait)


def _expected(
    records: Records,
    subject: str,
    data: bytes | None,
    headers: Mapping[str, str] | None,
    count: int | None,
    came: int,
) -> str:
    wanted = " ".join(
        [
            subject,
            *([repr(data)] if data is not None else []),
            *([str(dict(headers))] if headers else []),
        ]
    )
    often = "at least once" if count is None else f"{count} times"
    seen = records.own()
    lines = [f"{wanted}: expected {often}, published {came} times; of {len(seen)} publishes:"]
    lines += [
        f"  {each.subject} {each.data[:60]!r}" + (f" {dict(each.headers)}" if each.headers else "")
        for each in seen[-_SHOWN:]
    ]
    return "\n".join(lines)


def _acks(records: Records, stream: str, consumer: str, count: int | None) -> str:
    words = ("+ACK", "-NAK", "+TERM", "+WPI", "+NXT")
    found = records.acked(stream, consumer, words)
    done = len({each.seq for each in found if each.word == "+ACK"})
    often = "at least one message" if count is None else f"{count} messages"
    lines = [f"{stream} > {consumer}: expected acks of {often}, acked are {done}; what came:"]
    lines += [f"  {each.word} {each.seq} (delivery {each.deliveries})" for each in found[-_SHOWN:]]
    return "\n".join(lines)
