"""The tree of filters says what comparing them pair by pair says."""

from __future__ import annotations

import random

from jetstream_py.api.consumer_filters import FilterTree
from jetstream_py.subject import covers


def test_as_pair_by_pair() -> None:
    rng = random.Random(2151)
    answers = set()
    for _ in range(5000):
        filters = [
            ".".join(rng.choices("ab*", k=rng.randint(1, 3))) + rng.choice(("", "", ".>"))
            for _ in range(rng.randint(1, 4))
        ]
        tree = FilterTree.of(filters)
        for i, subject in enumerate(filters):
            others = filters[:i] + filters[i + 1 :]
            expected = any(covers(other.encode(), subject.encode()) for other in others)
            assert tree.covers_twice(subject) is expected, filters
            answers.add(expected)
    assert answers == {True, False}


def test_one_of_many() -> None:
    filters = [f"a.{i}.*" for i in range(20_000)] + ["a.777.x"]
    tree = FilterTree.of(filters)
    assert [subject for subject in filters if tree.covers_twice(subject)] == ["a.777.x"]
