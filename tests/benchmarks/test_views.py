"""The benchmark of views, in short form: every figure is there, on every way."""

from __future__ import annotations

import sys

import pytest

from benchmarks import views
from benchmarks.servers import OURS


def test_every_way_has_every_figure() -> None:
    if sys.platform != "linux":
        pytest.skip("the servers are watched through /proc")
    columns = views.measure(views.Amount(calls=20, object_bytes=300_000, rounds=1), [OURS])
    told = views.as_json(columns)
    assert list(told) == ["in-process", "ours, view", "ours, nats.py"]
    rows = list(told["in-process"])
    assert len(rows) == 6
    assert all(list(figures) == rows for figures in told.values())
    assert all(figure[0] > 0 for figures in told.values() for figure in figures.values())
    assert all(row in views.table(columns) for row in rows)
