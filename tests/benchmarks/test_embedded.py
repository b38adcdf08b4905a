"""The benchmark of embedded servers, in short form."""

from __future__ import annotations

import pytest

from benchmarks import embedded


@pytest.mark.parametrize("way", [way for way in embedded.WAYS if "process" not in way])
def test_every_way_starts_and_stops(way: str) -> None:
    measure, store = embedded.WAYS[way]
    start, stop = measure(store, 2)
    assert 0 < start[0] <= start[1]
    assert 0 < stop[0] <= stop[1]
