"""What leaves after a commit, when something on the way out is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jetstream_py.engine.outbox import Letter, Outbox
from jetstream_py.store import Store


class Publisher:
    """Notes what it is to publish; one subject breaks it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def publish(
        self, subject: bytes, data: bytes, reply: bytes = b"", headers: bytes = b""
    ) -> None:
        if subject == b"broken":
            raise KeyError("a bug")
        self.sent.append(subject)

    def publish_series(
        self, subjects: Sequence[bytes], start: bytes, first: int, end: bytes
    ) -> None:
        raise NotImplementedError

    def publish_all(
        self, subjects: Sequence[bytes], headers: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        self.sent.append(b"flush")

    def has_interest(self, subject: bytes) -> bool:
        return True


def test_a_bug_on_one_way_out_costs_nobody_else_an_answer() -> None:
    store, publisher = Store(None, lambda task: None), Publisher()
    turns: list[Callable[[], None]] = []
    outbox = Outbox(store, turns.append, lambda error: None)
    outbox.committed = lambda: publisher.publish(b"broken", b"")
    store.create(b"a stream", True)
    for subject in (b"a", b"broken", b"b"):
        outbox._held += [(publisher, Letter(subject, b"", b"", b""))]
    outbox.commit_soon()
    faults = 0
    while turns:
        try:
            turns.pop(0)()
        except KeyError:
            faults += 1
    assert publisher.sent == [b"a", b"b", b"flush"]
    assert faults == 2
    store.close()
