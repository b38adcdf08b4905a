from __future__ import annotations

import pytest

from jetstream_py import limits


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments and row groups of a few messages."""
    monkeypatch.setattr(limits, "EXPORT_SEGMENT", 20)
    monkeypatch.setattr(limits, "EXPORT_GROUP", 8)
    monkeypatch.setattr(limits, "EXPORT_BYTES", 2500)
    monkeypatch.setattr(limits, "EXPORT_RUN", 9)
    monkeypatch.setattr(limits, "EXPORT_SNAPSHOT", 30)
