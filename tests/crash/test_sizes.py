"""The size of the file, in short; `make crash` sends a million messages each."""

from __future__ import annotations

from pathlib import Path

from tests.crash.sizes import overwrite, work_queue


def test_overwritten_keys_do_not_grow_the_file(tmp_path: Path) -> None:
    size = overwrite(tmp_path, 60_000, keys=5_000)
    assert size.file < size.bound, str(size)
    assert size.messages * 1_000 > 1.5 * size.bound  # or it would prove nothing


def test_a_work_queue_does_not_grow_the_file(tmp_path: Path) -> None:
    size = work_queue(tmp_path, 80_000, backlog=5_000)
    assert size.file < size.bound, str(size)
    assert size.messages * 1_000 > 1.5 * size.bound
