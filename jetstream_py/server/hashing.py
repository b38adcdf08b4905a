"""bcrypt, away from the loop.

A hash takes tens of milliseconds of CPU by design. Few threads check them, so many logins at once cost the
other clients little; the number of those that wait is bounded, and who has left meanwhile is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from jetstream_py import limits

_LONGEST = 72  # bytes of a password that bcrypt looks at


class HashChecker:
    """Made at once, its threads when they are needed."""

    def __init__(self, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` runs a function in the loop's thread."""
        self._soon = soon
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0

    def check(
        self,
        hashed: str,
        secret: str,
        wanted: Callable[[], bool],
        done: Callable[[bool], None],
    ) -> bool:
        """Call `done` with the result, later. False: too many wait already."""
        if self._waiting >= limits.HASH_QUEUE:
            return False
        if self._pool is None:
            self._pool = ThreadPoolExecutor(limits.HASH_THREADS, "bcrypt")
        self._waiting += 1

        def work() -> bool:
            return wanted() and _matches(hashed, secret)

        def finished(future: Future[bool]) -> None:
            result = not future.cancelled() and future.exception() is None and future.result()
            try:
                self._soon(lambda: self._report(done, result))
            except RuntimeError:
                return  # the loop has ended, and with it everybody who could want to know

        self._pool.submit(work).add_done_callback(finished)
        return True

    def _report(self, done: Callable[[bool], None], result: bool) -> None:
        self._waiting -= 1
        done(result)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _matches(hashed: str, secret: str) -> bool:
    import bcrypt

    given = secret.encode("utf-8", "surrogatepass")[:_LONGEST]
    matched: bool = bcrypt.checkpw(given, hashed.encode())
    return matched
