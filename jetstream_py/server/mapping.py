"""Account mappings: a client's publish goes to another subject, before anything else looks at it.

The first mapping whose source covers the subject counts. Its destinations share a hundred: one of them is
drawn for each message, and what is left of the hundred keeps the subject as it is (or is lost, when the
subject itself is among the destinations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jetstream_py import limits
from jetstream_py.config.account_options import Mapping
from jetstream_py.subject import covers
from jetstream_py.transforms.make import Transform, compile_transform
from jetstream_py.transforms.rules import TransformError, check_transform

Chance = Callable[[], float]


def _is_possible(source: str, destination: str) -> bool:
    try:
        check_transform(source, destination)
    except TransformError:
        return False
    return True


class _Choice:
    """One mapping."""

    __slots__ = ("destinations", "rest", "source", "steady")

    def __init__(self, mapping: Mapping, chance: Chance) -> None:
        def below(count: int) -> int:
            return int(chance() * count)

        self.source = mapping.source.encode()
        self.destinations: list[tuple[float, Transform]] = []  # weights as running sums
        total = 0
        for destination in mapping.destinations:
            if destination.cluster or not _is_possible(mapping.source, destination.subject):
                continue  # for servers that are in one; or of a token that nobody has checked
            transform = compile_transform(mapping.source, destination.subject, below)
            if transform is not None and destination.weight > 0:
                total += destination.weight
                self.destinations.append((total / 100, transform))
        # Who maps a part of a subject to itself wants to lose the rest.
        self.rest = (
            b"" if any(each.subject == mapping.source for each in mapping.destinations) else None
        )
        # Is it the same for every message?
        self.steady = (
            len(self.destinations) == 1
            and total >= 100
            and "random(" not in mapping.destinations[0].subject.lower()
        )

    def pick(self, subject: bytes, chance: Chance) -> bytes:
        drawn = 0.0 if self.steady else chance()
        for bound, transform in self.destinations:
            if drawn < bound:
                return transform(subject) or b""
        return subject if self.rest is None else self.rest

    def covers(self, subject: bytes) -> bool:
        return bool(self.destinations) and covers(self.source, subject)


class Mapper:
    """All mappings of an account."""

    def __init__(self, mappings: Sequence[Mapping], chance: Chance) -> None:
        self._choices = [_Choice(mapping, chance) for mapping in mappings]
        self._chance = chance
        self._known: dict[bytes, _Choice | None] = {}

    def find(self, subject: bytes) -> _Choice | None:
        """The mapping that a subject falls under, if there is one."""
        known = self._known
        if subject in known:
            return known[subject]
        if len(known) >= limits.MAPPING_CACHE:
            known.clear()
        choice = None
        if b"" not in subject.split(b"."):
            choice = next((each for each in self._choices if each.covers(subject)), None)
        known[subject] = choice
        return choice

    def map(self, choice: _Choice, subject: bytes) -> bytes:
        """Where this message goes."""
        return choice.pick(subject, self._chance)
