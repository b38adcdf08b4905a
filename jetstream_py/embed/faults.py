"""What a test may break: messages on their way, connections, the disk.

A rule names what it is about, by stream, consumer and subject, and how often it may act. The first rule that
matches a message decides; the rest is as ever. Delays are on the server's clock. Rules outlast restarts;
a disk is new with each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from jetstream_py.subject import matches

if TYPE_CHECKING:
    from jetstream_py.embed.life import Life
    from jetstream_py.store import Store

What = Literal["deliveries", "acks", "pub_acks"]
Deed = Literal["drop", "delay", "duplicate"]
WHATS: Final = ("deliveries", "acks", "pub_acks")


class FaultError(Exception):
    """This fault is not possible here."""


class Rule:
    """Something that goes wrong. `hits` counts how often it did."""

    def __init__(
        self,
        what: What,
        deed: Deed,
        *,
        stream: str | None,
        consumer: str | None,
        subject: str | None,
        count: int | None,
        seconds: float = 0.0,
    ) -> None:
        if what not in WHATS:
            raise FaultError(f"there are faults of {', '.join(WHATS)}; not of {what}")
        if what != "deliveries" and subject is not None:
            raise FaultError("only deliveries are known by their subjects")
        if what == "pub_acks" and consumer is not None:
            raise FaultError("the answer to a publish has no consumer")
        self.what, self.deed, self.seconds = what, deed, seconds
        self.stream, self.consumer, self.subject = stream, consumer, subject
        self.count = count
        self.hits = 0

    def takes(self, stream: str, consumer: str, subject: bytes) -> bool:
        """Does it act on this one? If so it is counted."""
        if (
            (self.count is not None and self.hits >= self.count)
            or self.stream not in (None, stream)
            or self.consumer not in (None, consumer)
            or (self.subject is not None and not matches(subject, self.subject.encode()))
        ):
            return False
        self.hits += 1
        return True


class Faults:
    """Of one server."""

    def __init__(
        self, life: Callable[[], Life | None], now: Callable[[Callable[[], int]], int]
    ) -> None:
        """`life` is the server that runs now, if one does; `now` has something done in its thread."""
        self._life = life
        self._now = now
        self._rules: tuple[Rule, ...] = ()

    # -- messages ---------------------------------------------------------------------------------

    def drop(
        self,
        what: What,
        *,
        stream: str | None = None,
        consumer: str | None = None,
        subject: str | None = None,
        count: int | None = None,
    ) -> Rule:
        """Lose deliveries to clients, acks by clients, or the answers to their publishes; `count` of them, or
        all until `clear`. The server believes that what it delivered was delivered."""
        return self._add(
            Rule(what, "drop", stream=stream, consumer=consumer, subject=subject, count=count)
        )

    def delay(
        self,
        what: What,
        seconds: float,
        *,
        stream: str | None = None,
        consumer: str | None = None,
        subject: str | None = None,
        count: int | None = None,
    ) -> Rule:
        """Hold them back; others overtake them."""
        rule = Rule(
            what,
            "delay",
            stream=stream,
            consumer=consumer,
            subject=subject,
            count=count,
            seconds=seconds,
        )
        return self._add(rule)

    def duplicate(
        self,
        what: What,
        *,
        stream: str | None = None,
        consumer: str | None = None,
        subject: str | None = None,
        count: int | None = None,
    ) -> Rule:
        """Let them come twice."""
        return self._add(
            Rule(what, "duplicate", stream=stream, consumer=consumer, subject=subject, count=count)
        )

    def _add(self, rule: Rule) -> Rule:
        self._rules = (*self._rules, rule)  # the server's thread sees the old ones or the new ones
        return rule

    def remove(self, rule: Rule) -> None:
        self._rules = tuple(each for each in self._rules if each is not rule)

    def clear(self) -> None:
        """All is well again; but a store that has failed needs a restart."""
        self._rules = ()
        life = self._life()
        if life is not None and life.app.jetstream is not None:
            life.app.jetstream.store.on_write(_nothing)

    def about(self, what: What) -> list[Rule]:
        return [rule for rule in self._rules if rule.what == what] if self._rules else []

    # -- connections ------------------------------------------------------------------------------

    def disconnect(self, *, name: str | None = None, cid: int | None = None) -> int:
        """Cut the connections of clients with this name, or of this number, or all. Returns how many."""

        def cut() -> int:
            life = self._life()
            found = [
                session
                for session in (life.app.broker.sessions.values() if life is not None else ())
                if name in (None, session.connect.name) and cid in (None, session.cid)
            ]
            for session in found:
                session.link.abort()
            return len(found)

        return self._now(cut)

    # -- the disk ---------------------------------------------------------------------------------

    def slow_disk(self, seconds: float) -> None:
        """Each commit takes so much longer, on the machine's clock."""
        self._disk().on_write(lambda: time.sleep(seconds))

    def fail_disk(self, text: str = "Input/output error") -> None:
        """The next commit fails. After that JetStream is out of service until the server is restarted."""

        def fail() -> None:
            raise OSError(text)

        self._disk().on_write(fail)

    def _disk(self) -> Store:
        life = self._life()
        js = life.app.jetstream if life is not None else None
        if js is None or not js.on_disk:
            raise FaultError("there is no disk: start the server with store='tmp' or a directory")
        return js.store


def _nothing() -> None:
    return None
