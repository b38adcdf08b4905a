"""Power cuts, in short, with the controls that show that a loss would be noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.model import Broken
from tests.crash.powercut import Recording, cut, record
from tests.crash.trace import find_strace
from tests.support.server import ORACLE, OURS

pytestmark = [
    pytest.mark.skipif(find_strace() is None, reason="NOT TESTED: power cuts need strace"),
    pytest.mark.xdist_group("powercut"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(OURS, 1, tmp_path_factory.mktemp("powercut") / "record")


def test_what_was_acked_survives_power_cuts(recording: Recording, tmp_path: Path) -> None:
    report = cut(recording, 6, seed=1, directory=tmp_path)
    assert report.lost == []
    assert report.checked > 0
    assert report.syncs > 0


def test_a_disk_that_ignores_syncs_is_noticed(recording: Recording, tmp_path: Path) -> None:
    report = cut(recording, 3, seed=2, directory=tmp_path, lying=True, settle=True)
    assert report.lost


def test_a_server_that_acks_before_it_syncs_is_noticed(tmp_path: Path) -> None:
    """nats-server does, unless told otherwise."""
    recording = record(ORACLE, 1, tmp_path / "record")
    try:
        report = cut(recording, 6, seed=1, directory=tmp_path, settle=True)
    except Broken:  # what was removed came back: that is noticed, too
        return
    assert report.lost
