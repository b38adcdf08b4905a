"""Runs that go on where others ended, and those that must not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pyarrow import fs

from jetstream_py.clock import ManualClock
from jetstream_py.export import layout
from jetstream_py.export.errors import ExportError
from jetstream_py.export.from_store import StoreFile, StoreSource
from jetstream_py.export.layout import LayoutError
from jetstream_py.export.place import Place
from jetstream_py.export.run import Bound, Options, export
from jetstream_py.store.columns import Columns
from tests.export.support import (
    CONFIG,
    CREATED,
    NAME,
    NOON,
    Listed,
    check,
    exported,
    hostile,
    make_store,
    manifest,
    run,
    walk,
)


@pytest.mark.parametrize("seed", range(4))
def test_any_stream_in_any_number_of_runs(tmp_path: Path, small: None, seed: int) -> None:
    rows = walk(seed, 120)
    assert run(Listed([]), tmp_path).segments == 0
    for end in (30, 31, 100, 120, 120):
        run(Listed(rows[:end], step=1 + seed * 6), tmp_path)
        check(tmp_path, rows[:end])
    assert max(segment.count for segment in manifest(tmp_path).segments) <= 20


def test_from_a_store(tmp_path: Path, small: None) -> None:
    rows = walk(9, 150)
    dead = [row.seq for row in rows[::7]]
    rest = [row for row in rows if row.seq not in dead]
    make_store(tmp_path / "store", rows, dead)
    for subject in ("", "orders.latin"):
        store = StoreFile(str(tmp_path / "store"))
        source = StoreSource(store, "$G", NAME)
        out = tmp_path / f"out{subject}"
        outcome = asyncio.run(export(source, Options(str(out), subject=subject)))
        store.close()
        wanted = [row for row in rest if not subject or row.subject == subject.encode()]
        assert outcome.messages == len(wanted)
        check(out, wanted)


def test_times_of_a_store(tmp_path: Path) -> None:
    make_store(tmp_path, rows := hostile())
    store = StoreFile(str(tmp_path))
    source = StoreSource(store, "$G", NAME)
    assert asyncio.run(source.seq_at(rows[4].ts)) == rows[4].seq
    assert asyncio.run(source.seq_at(rows[-1].ts + 1)) == rows[-1].seq + 1
    with pytest.raises(ExportError, match="no stream OTHER in the store"):
        StoreSource(store, "$G", "OTHER")
    store.close()
    with pytest.raises(ExportError, match="there is no store"):
        StoreFile(str(tmp_path / "nowhere"))


def test_bounds(tmp_path: Path) -> None:
    rows = hostile()
    run(Listed(rows), tmp_path / "a", since=Bound(seq=rows[2].seq), until=Bound(seq=rows[5].seq))
    check(tmp_path / "a", rows[2:6])
    by_time = {"since": Bound(time_ns=rows[3].ts), "until": Bound(time_ns=rows[6].ts)}
    run(Listed(rows), tmp_path / "b", **by_time)
    check(tmp_path / "b", rows[3:6])
    run(Listed(rows), tmp_path / "b", since=Bound(seq=1))
    check(tmp_path / "b", rows[3:])
    with pytest.raises(ExportError, match="would leave a hole"):
        run(Listed(rows), tmp_path / "a", since=Bound(seq=rows[9].seq))


def test_a_stream_that_was_made_again(tmp_path: Path) -> None:
    rows, others = hostile(), walk(1, 10)
    run(Listed(rows), tmp_path)
    for _ in range(2):
        with pytest.raises(ExportError, match="was deleted and made again"):
            run(Listed(others, created=CREATED + 1), tmp_path)
    run(Listed(others[:5], created=CREATED + 1), tmp_path, new_epoch=True)
    run(Listed(others, created=CREATED + 1), tmp_path)
    check(tmp_path, rows)
    check(tmp_path, others, epoch=2)
    with pytest.raises(ExportError, match="was deleted and made again"):
        run(Listed(rows, created=CREATED + 2), tmp_path)


def test_refusals(tmp_path: Path) -> None:
    rows = hostile()
    run(Listed(rows), tmp_path)
    with pytest.raises(ExportError, match=r"those of orders\.a need another directory"):
        run(Listed(rows), tmp_path, subject="orders.a")
    with pytest.raises(ExportError, match="is in the format parquet"):
        run(Listed(rows), tmp_path, format="delta")
    with pytest.raises(ExportError, match="it was set back"):
        run(Listed(rows[:5]), tmp_path)
    place = Place(fs.LocalFileSystem(), str(tmp_path / NAME))
    place.open()
    with pytest.raises(ExportError, match="another export writes to"):
        run(Listed(rows), tmp_path)
    place.close()
    check(tmp_path, rows)


def test_a_hole_in_the_manifest_is_noticed(tmp_path: Path, small: None) -> None:
    run(Listed(walk(2, 60)), tmp_path)
    second = manifest(tmp_path).segments[1]
    name = layout.segment_name(second.first_seq, second.last_seq)
    (tmp_path / NAME / "_manifest" / f"{name}.json").unlink()
    with pytest.raises(LayoutError, match=f"begins at {second.from_seq} is missing"):
        run(Listed(walk(2, 60)), tmp_path)


def test_a_stranger_among_the_segments(tmp_path: Path) -> None:
    rows = hostile()
    run(Listed(rows[:3]), tmp_path)
    path = manifest(tmp_path).segments[0].path
    file = tmp_path / NAME / path
    (file.parent / "seg-900-901.parquet").write_bytes(file.read_bytes())
    with pytest.raises(LayoutError, match="does not belong to this export"):
        run(Listed(rows), tmp_path)


def test_the_configuration_is_that_of_the_last_run(tmp_path: Path) -> None:
    source = Listed(hostile())
    run(source, tmp_path)
    source.config = {**CONFIG, "description": "new"}
    run(source, tmp_path)
    assert manifest(tmp_path).origin.config["description"] == "new"


def test_following(tmp_path: Path) -> None:
    rows = [row._replace(ts=NOON) for row in hostile()]
    clock = ManualClock()

    class Slow(Listed):
        async def follow(self, seq: int, subject: str):  # type: ignore[no-untyped-def]
            for row in self.rows:
                yield Columns.of([row])
                clock.advance(4)
            stop.set()
            await asyncio.Event().wait()

    stop = asyncio.Event()
    options = Options(str(tmp_path), follow=True, flush=10, clock=clock)
    outcome = asyncio.run(export(Slow(rows), options, stop))
    check(tmp_path, rows)
    assert [segment.count for segment in manifest(tmp_path).segments] == [4, 4, 4, 4, 1]
    assert outcome.messages == len(rows)


def test_other_file_systems(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those without syncs and locks: here one that only looks so."""
    remote = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    rows = walk(3, 60)
    with monkeypatch.context() as patch:
        patch.setattr(layout, "open_filesystem", lambda uri: (remote, "bucket"))
        for end in (25, 60):
            run(Listed(rows[:end]), tmp_path)
    check(tmp_path / "bucket", rows)
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_delta(tmp_path: Path, small: None) -> None:
    deltalake = pytest.importorskip("deltalake")
    rows = walk(4, 60)
    for end in (25, 60, 60):
        run(Listed(rows[:end]), tmp_path, format="delta")
    table = deltalake.DeltaTable(tmp_path / NAME).to_pyarrow_table()
    assert sorted(table["seq"].to_pylist()) == [row.seq for row in rows]
    assert len(exported(tmp_path)) == len(rows)
