"""The oldest message of a subject, cheaply, again and again.

A limit of messages per subject asks for it with each publish. So for the subjects that are asked about a
short queue of their oldest live sequences is kept: made from the previous newest one when a subject gets
its second message (the common case of one message per key never searches), else by a search from the
stream's first message, up to 64 at a time. The queue is exact at its front and complete when it is as
long as the count.
"""

from __future__ import annotations

from collections import deque

from .subjects import SubjectTable


class OldestQueues:
    """Queues per subject; does nothing until the first question."""

    __slots__ = ("_queues", "active")

    def __init__(self) -> None:
        self.active = False
        self._queues: dict[bytes, deque[int]] = {}

    def appended(self, table: SubjectTable, subject: bytes, previous: int, seq: int) -> None:
        """A message was added; `previous` was the subject's newest, 0: it had none."""
        if not previous:
            return
        queue = self._queues.get(subject)
        count = table.count(subject)  # with the new one
        if queue is None:
            if count == 2:
                self._queues[subject] = deque((previous, seq))
        elif len(queue) == count - 1:
            queue.append(seq)

    def removed(self, subject: bytes, seq: int) -> None:
        queue = self._queues.get(subject)
        if queue is None:
            return
        if queue[0] == seq:
            queue.popleft()
        elif seq <= queue[-1]:
            try:
                queue.remove(seq)
            except ValueError:
                queue.clear()  # the queue is wrong: ask again
        if len(queue) < 2:
            del self._queues[subject]  # a single one is its subject's newest, or unknown

    def trimmed(self, subject: bytes, before: int) -> None:
        """All messages of the subject below `before` are gone."""
        queue = self._queues.get(subject)
        if queue is None:
            return
        while queue and queue[0] < before:
            queue.popleft()
        if len(queue) < 2:
            del self._queues[subject]

    def peek(self, subject: bytes) -> int:
        queue = self._queues.get(subject)
        return queue[0] if queue else 0

    def fill(self, subject: bytes, seqs: list[int]) -> None:
        if len(seqs) > 1:
            self._queues[subject] = deque(seqs)

    def forget(self, subject: bytes) -> None:
        self._queues.pop(subject, None)

    def clear(self) -> None:
        self._queues.clear()
