"""The oldest message of a subject, cheaply, again and again.

A limit of messages per subject asks for it with each publish. So a short queue of the oldest live sequences
is kept per subject: made from the previous newest one when a subject gets its second message (the common
case of one message per key never searches), else by a search from the stream's first message. It has up to
64 entries, is exact at its front, and complete when it is as long as the count. Whoever knows that questions
will come says so before there are messages, and none of them costs a search unless the limit is above that.
"""

from __future__ import annotations

from bisect import bisect_left

from jetstream_py import limits

from .subjects import SubjectTable


class OldestQueues:
    """Queues per subject; does nothing while not `active`."""

    __slots__ = ("_queues", "active")

    def __init__(self) -> None:
        self.active = False
        self._queues: dict[bytes, list[int]] = {}

    def appended(self, table: SubjectTable, subject: bytes, previous: int, seq: int) -> None:
        """A message was added; `previous` was the subject's newest, 0: it had none."""
        if not previous:
            return
        queue = self._queues.get(subject)
        count = table.count(subject)  # with the new one
        if queue is None:
            if count == 2:
                self._queues[subject] = [previous, seq]
        elif len(queue) == count - 1 and count <= limits.OLDEST_BATCH:
            queue.append(seq)

    def removed(self, subject: bytes, seq: int) -> None:
        queue = self._queues.get(subject)
        if queue is None:
            return
        if queue[0] == seq:
            del queue[0]
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
        del queue[: bisect_left(queue, before)]
        if len(queue) < 2:
            del self._queues[subject]

    def peek(self, subject: bytes) -> int:
        queue = self._queues.get(subject)
        return queue[0] if queue else 0

    def fill(self, subject: bytes, seqs: list[int]) -> None:
        if len(seqs) > 1:
            self._queues[subject] = seqs

    def forget(self, subject: bytes) -> None:
        self._queues.pop(subject, None)

    def clear(self) -> None:
        self._queues.clear()
