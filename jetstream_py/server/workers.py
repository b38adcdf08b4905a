"""Threads for the parts of a login that take long: bcrypt, and account servers.

A hash takes tens of milliseconds of CPU by design. Few threads check them, so many logins at once cost the
other clients little; the number of those that wait is bounded, and who has left meanwhile is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from jetstream_py import limits
from jetstream_py.server.auth import Later, Refusal, Verdict


class Workers:
    """Made at once, its threads when they are needed."""

    def __init__(self, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` runs a function in the loop's thread."""
        self._soon = soon
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0

    def run(
        self, later: Later, wanted: Callable[[], bool], done: Callable[[Verdict], None]
    ) -> bool:
        """Call `done` with the verdict, some time. False: too many wait already."""
        if self._waiting >= limits.LOGIN_QUEUE:
            return False
        if self._pool is None:
            self._pool = ThreadPoolExecutor(limits.LOGIN_THREADS, "login")
        self._waiting += 1

        def work() -> object:
            return later.work() if wanted() else None

        def finished(future: Future[object]) -> None:
            try:
                self._soon(lambda: self._report(future, later, done))
            except RuntimeError:
                return  # the loop has ended, and with it everybody who could want to know

        self._pool.submit(work).add_done_callback(finished)
        return True

    def _report(
        self, future: Future[object], later: Later, done: Callable[[Verdict], None]
    ) -> None:
        self._waiting -= 1
        failed = future.cancelled() or future.exception() is not None
        done(Refusal("login could not be checked") if failed else later.conclude(future.result()))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
