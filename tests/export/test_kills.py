"""Killed anywhere: what is there can be read, the next run goes on, nothing is missing, nothing twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from jetstream_py.export.layout import MANIFEST
from jetstream_py.store import failpoints
from tests.export.support import (
    NAME,
    NOON,
    Listed,
    check,
    exported,
    make_store,
    manifest,
    run,
    walk,
)

POINTS = ("export.group", "export.written", "export.named", "export.entry", "export.done")

# An export of a store that kills itself at the n-th passage of a failpoint.
SCRIPT = """
import os, signal, sys
from itertools import count
from jetstream_py import limits
from jetstream_py.cli import dispatch
from jetstream_py.store import failpoints
limits.EXPORT_SEGMENT, limits.EXPORT_GROUP = 20, 8
point, n = sys.argv[1], int(sys.argv[2])
passages = count(1)
failpoints.arm(point, lambda: next(passages) == n and os.kill(os.getpid(), signal.SIGKILL))
sys.exit(dispatch(sys.argv[3:]))
"""


def test_every_step_leaves_a_directory_to_go_on_with(tmp_path: Path, small: None) -> None:
    """At each step the directory is copied as a cut would leave it, and the copies are taken up."""
    rows = [row._replace(ts=NOON) for row in walk(5, 60)]
    out, numbers = tmp_path / "out", count()
    copies: list[Path] = []

    def copy() -> None:
        copies.append(tmp_path / f"copy-{next(numbers)}")
        shutil.copytree(out, copies[-1])

    for point in POINTS:
        failpoints.arm(point, copy)
    try:
        run(Listed(rows), out)
    finally:
        failpoints.disarm()
    check(out, rows)
    assert len(copies) >= 20
    for path in copies:
        complete = exported(path) if (path / NAME / MANIFEST / "stream.json").exists() else []
        assert complete == rows[: len(complete)]
        run(Listed(rows), path)
        check(path, rows)
        assert not list(path.rglob(".in-progress*"))


def test_what_fails_leaves_what_is_complete(tmp_path: Path, small: None) -> None:
    rows = walk(6, 60)
    passages = count(1)

    def full() -> None:
        if next(passages) == 3:
            raise OSError("the disk is full")

    failpoints.arm("export.written", full)
    try:
        with pytest.raises(OSError, match="the disk is full"):
            run(Listed(rows), tmp_path)
    finally:
        failpoints.disarm()
    known = manifest(tmp_path)
    assert len(known.segments) == 2
    check(tmp_path, rows[: known.messages])
    run(Listed(rows), tmp_path)
    check(tmp_path, rows)


@pytest.mark.parametrize(("point", "n"), [("export.named", 2), ("export.group", 5)])
def test_real_kills(tmp_path: Path, point: str, n: int) -> None:
    rows = walk(7, 60)
    make_store(tmp_path / "store", rows)
    out = tmp_path / "out"
    arguments = ["export", NAME, "--store", str(tmp_path / "store"), "--out", str(out)]
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, point, str(n), *arguments], env=os.environ, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    complete = exported(out)
    assert 0 < len(complete) < len(rows)
    assert complete == rows[: len(complete)]
    run(Listed(rows), out)
    check(out, rows)
