"""Which consumers a commit concerns.

A thousand watchers of a thousand keys: a publish is news for one of them. So while there are many consumers
the subjects of what is published are noted until the commit, and those whose filters are plain subjects are
woken for these subjects only. Whoever has a wildcard or no filter is woken always, and so are all when
something else happened, or too many subjects to note.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.subject import is_literal

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer

_CROWD = 8  # consumers below which it costs more to choose than to wake all


class Audience:
    """The consumers of one stream by the subjects they wait for."""

    __slots__ = ("_all", "_fresh", "_others", "_stale", "_told", "_waiting")

    def __init__(self, consumers: Mapping[str, Consumer]) -> None:
        self._all = consumers
        self._fresh: set[bytes] | None = set()  # subjects with news; None: everybody is concerned
        self._told: set[bytes] | None = set()  # those of the commit under way
        self._waiting: dict[bytes, list[Consumer]] = {}
        self._others: list[Consumer] = []
        self._stale = True

    def changed(self) -> None:
        """Consumers or their filters have changed."""
        self._stale = True

    def note(self, subjects: Collection[bytes] | None) -> None:
        """There is something new on these subjects; None: wherever."""
        if self._fresh is None:
            return
        if subjects is None or len(self._all) < _CROWD:
            self._fresh = None
            return
        self._fresh.update(subjects)
        if len(self._fresh) > limits.FRESH_SUBJECTS:
            self._fresh = None

    def take_off(self) -> None:
        """A commit begins: what is noted from now on belongs to the next one."""
        self._told, self._fresh = self._fresh, set()

    def concerned(self) -> list[Consumer]:
        """Those for whom the commit under way has something."""
        if self._told is None:
            return list(self._all.values())
        if self._stale:
            self._index()
        found = dict.fromkeys(self._others)
        for subject in self._told & self._waiting.keys():
            found.update(dict.fromkeys(self._waiting[subject]))
        return list(found)

    def _index(self) -> None:
        self._stale = False
        self._waiting, self._others = {}, []
        for consumer in self._all.values():
            filters = consumer.position.filters
            if filters and all(map(is_literal, filters)):
                for subject in filters:
                    self._waiting.setdefault(subject, []).append(consumer)
            else:
                self._others.append(consumer)
