"""Subjects of a stream: how many messages each has, which is its newest, and which match a filter.

`last` is an upper bound of a subject's newest live sequence: removing the newest message does not search
for the one before it; whoever asks does, and writes the answer back. `extra` holds count - 1, only where
that is more than 0, so a stream with one message per subject costs one dict.

Filters are remembered with the set of names they match. New names go through `_fresh`, an append-only
list, so that a remembered filter looks at each new name once. A set may hold names whose messages are all
gone; `last` is what says that a name lives. Names that are gone are counted, so that whoever wants the
living ones only (`matching`) cleans the set when there is a reason to.

A pattern may be several, separated by blanks: a subject matches if it matches any of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

from jetstream_py import limits
from jetstream_py.subject import is_literal

from .summary import name_hash


def is_name(pattern: bytes) -> bool:
    """Does the pattern match one subject only?"""
    return b" " not in pattern and is_literal(pattern)


def compile_filter(pattern: bytes) -> Callable[[Iterable[bytes]], list[bytes]]:
    """A function that chooses the subjects under the pattern."""
    if is_name(pattern):
        return lambda names: [name for name in names if name == pattern]
    start = pattern.removesuffix(b">")
    if len(start) == len(pattern) - 1 and start.endswith(b".") and is_name(start[:-1]):
        return lambda names: [name for name in names if name.startswith(start)]
    matches = re.compile(b"|".join(map(_regex, pattern.split(b" "))), re.DOTALL).fullmatch
    return lambda names: list(filter(matches, names))


def _regex(pattern: bytes) -> bytes:
    tokens = pattern.split(b".")
    tail = tokens[-1] == b">"
    if tail:
        tokens.pop()
    regex = rb"\.".join(rb"[^.]+" if token == b"*" else re.escape(token) for token in tokens)
    if tail:
        regex += rb"\..+" if tokens else rb".+"
    return regex


class Filter:
    """A pattern and the subjects of one stream that it matches."""

    __slots__ = ("_own", "chosen", "clean", "everything", "hashes", "names", "pattern", "seen")

    def __init__(self, pattern: bytes, living: Mapping[bytes, object]) -> None:
        self.pattern = pattern
        self.chosen = compile_filter(pattern)
        self.everything = True  # all that live match: then `names` is the table itself
        self.names = living  # in the table's order, which is about that of sequences
        self.hashes: list[int] | None = None  # of the names; None: too many to ask Bloom filters
        self._own: dict[bytes, None] = {}
        self.seen = 0  # how much of the fresh names it has looked at
        self.clean = 0  # how many names had gone when all of these lived

    def look(self, names: Collection[bytes]) -> None:
        """Begin with these, which are all that live."""
        self._add(names, self.chosen(names))

    def learn(self, fresh: list[bytes]) -> None:
        """Names have come."""
        new = fresh[self.seen :]
        self.seen = len(fresh)
        found = self.chosen(new)
        if self.everything and len(found) < len(new):
            self.look(self.names.keys())
        else:
            self._add(new, found)

    def _add(self, names: Collection[bytes], found: list[bytes]) -> None:
        if self.everything and len(found) == len(names):
            return
        if self.everything:
            self.everything = False
            self.names = self._own
        if found or not self._own:
            self._own.update(dict.fromkeys(found))
            self._hash()

    def cleanse(self, living: Container[bytes]) -> None:
        """Forget names that are gone."""
        self.names = self._own = {name: None for name in self._own if name in living}
        self._hash()

    def _hash(self) -> None:
        few = len(self.names) <= limits.BLOOM_PROBES
        self.hashes = [name_hash(name) for name in self.names] if few else None


class SubjectTable:
    """Counts and newest sequences per subject."""

    __slots__ = ("_filters", "_fresh", "_gone", "extra", "last")

    def __init__(self) -> None:
        self._gone = 0  # names that had messages and have none
        self.last: dict[bytes, int] = {}
        self.extra: dict[bytes, int] = {}
        self._fresh: list[bytes] = []
        self._filters: dict[bytes, Filter] = {}

    def __len__(self) -> int:
        return len(self.last)

    def count(self, subject: bytes) -> int:
        return self.extra.get(subject, 0) + 1 if subject in self.last else 0

    def add(self, subject: bytes, seq: int) -> None:
        last = self.last
        if subject in last:
            self.extra[subject] = self.extra.get(subject, 0) + 1
        else:
            self.note(subject)
        last[subject] = seq

    def add_run(self, subjects: Sequence[bytes], seqs: Sequence[int]) -> Collection[bytes]:
        """`add` for messages in their order; returns the distinct subjects."""
        last, extra = self.last, self.extra
        n, name = len(subjects), subjects[0]
        counts = {name: n} if subjects.count(name) == n else Counter(subjects)
        for name, count in counts.items():
            if name in last:
                extra[name] = extra.get(name, 0) + count
            else:
                self.note(name)
                if count > 1:
                    extra[name] = count - 1
        if len(counts) == 1:
            last[name] = seqs[-1]
        else:
            last.update(zip(subjects, seqs, strict=True))
        return counts

    def note(self, subject: bytes) -> None:
        """A name that was not there a moment ago."""
        if self._filters:
            if len(self._fresh) > 2 * len(self.last) + 1024:
                self._forget()  # names come and go: start the list anew
            self._fresh.append(subject)

    def drop(self, subject: bytes, count: int = 1) -> None:
        """So many messages of the subject are gone."""
        left = self.extra.get(subject, 0) + 1 - count
        if left > 1:
            self.extra[subject] = left - 1
        else:
            self.extra.pop(subject, None)
            if left < 1:
                self.last.pop(subject, None)
                self._gone += 1

    def set(self, subject: bytes, count: int, last: int) -> None:
        """What a checkpoint says about a subject."""
        if count:
            self.last[subject] = last
            if count > 1:
                self.extra[subject] = count - 1
            else:
                self.extra.pop(subject, None)
        else:
            self.last.pop(subject, None)
            self.extra.pop(subject, None)
            self._gone += 1

    def clear(self) -> None:
        self.last.clear()
        self.extra.clear()
        self._forget()

    def _forget(self) -> None:
        self._filters.clear()
        self._fresh.clear()

    # -- filters -----------------------------------------------------------------------------------
    def filter(self, pattern: bytes) -> Filter:
        """The filter, up to date."""
        known = self._filters.get(pattern)
        if known is None:
            known = self._make(pattern)
        if known.seen != len(self._fresh):
            known.learn(self._fresh)
        return known

    def _make(self, pattern: bytes) -> Filter:
        made = Filter(pattern, self.last)
        if is_name(pattern):
            # One name that is known beforehand: nothing to learn, and not worth remembering.
            made.names = {pattern: None}
            made.hashes = [name_hash(pattern)]
            made.everything = False
            made.seen = len(self._fresh)
            return made
        names = sum(0 if kept.everything else len(kept.names) for kept in self._filters.values())
        if len(self._filters) >= limits.PATTERN_CACHE or names > limits.PATTERN_NAMES:
            self._forget()
        made.look(self.last.keys())
        made.seen, made.clean = len(self._fresh), self._gone
        self._filters[pattern] = made
        return made

    def matching(self, pattern: bytes) -> Collection[bytes]:
        """Names under the pattern that have messages. To be used before anything changes."""
        if pattern in (b"", b">"):
            return self.last.keys()
        if is_name(pattern):
            return (pattern,) if pattern in self.last else ()
        found = self.filter(pattern)
        if found.clean != self._gone and not found.everything:
            found.cleanse(self.last)
            found.clean = self._gone
        return found.names

    def count_of(self, pattern: bytes, messages: int) -> int:
        """Messages under the pattern, of so many in all."""
        if is_name(pattern):
            return self.count(pattern)
        if self.filter(pattern).everything:
            return messages
        names, extra = self.matching(pattern), self.extra
        if len(extra) < len(names):
            return len(names) + sum([more for name, more in extra.items() if name in names])
        return len(names) + sum([extra.get(name, 0) for name in names])

    def counts(self, pattern: bytes) -> dict[bytes, int]:
        extra, names = self.extra, self.matching(pattern)
        if not extra:
            return dict.fromkeys(names, 1)
        return {name: extra.get(name, 0) + 1 for name in names}
