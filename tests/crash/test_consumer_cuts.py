"""Power cuts with consumers, in short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.consumer_cuts import Recording, cut, record
from tests.crash.trace import find_strace

pytestmark = [
    pytest.mark.skipif(find_strace() is None, reason="NOT TESTED: power cuts need strace"),
    pytest.mark.xdist_group("powercut"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(1, tmp_path_factory.mktemp("consumers") / "record")


def test_confirmed_acks_survive_power_cuts(recording: Recording, tmp_path: Path) -> None:
    report = cut(recording, 6, seed=1, directory=tmp_path)
    assert report.lost == []
    assert report.checked > 0


def test_a_disk_that_ignores_syncs_is_noticed(recording: Recording, tmp_path: Path) -> None:
    assert cut(recording, 3, seed=2, directory=tmp_path, lying=True).lost
