"""Backups of nats-server 2.2 to 2.14 come back as nats-server 2.15 brings them back."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetstream_py.api.restore_pull import Restore
from jetstream_py.backup.blockfile import Gone
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.backup.storefiles import Extent
from tests.backup.make_archives import digest
from tests.backup.old import VERSIONS, files, items, old_backups, packed
from tests.engine.test_backups import Taker, begin, names, send
from tests.engine.world import World
from tests.jetstream.backups import unpack


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "store")
    yield made
    made.close()


def restore(world: World, data: bytes, **config: object) -> Any:
    """The last answer; unpacking takes many turns."""
    subject = begin(world, **config)
    send(world, subject, data, size=100_000)
    (running,) = world.api.backups.running
    assert isinstance(running, Restore)
    while running._queue:
        world.settle()
    world.client.read()
    return world.ask(subject)


def made(tar_files: dict[str, bytes]) -> bytes:
    """A tar of these."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as file:
        for name, data in tar_files.items():
            about = tarfile.TarInfo(name)
            about.size, about.mtime = len(data), 1.5
            file.addfile(about, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
def test_comes_back(world: World, version: str) -> None:
    """All but the time of the last message, if that one is gone; in memory a message has another size."""
    storage = "file" if version == VERSIONS[3] else "memory"  # one is enough for the slower one
    for name, backup in old_backups(version).items():
        config = {**backup.request["config"], "storage": storage}
        answer = restore(world, backup.data, **config)
        assert "error" not in answer, (name, answer)
        unkept = ("last_ts", "bytes") if storage == "memory" else ("last_ts",)
        kept = {key: value for key, value in backup.state.items() if key not in unkept}
        assert {key: value for key, value in answer["state"].items() if key in kept} == kept, name
        assert digest(unpack(Taker(world).finish())) == backup.expected, name
        world.ask("$JS.API.STREAM.DELETE.S")


def test_every_kind_is_there() -> None:
    """From each version something that only it, or its neighbours, can have written."""
    assert VERSIONS == ["2.10.25", "2.11.11", "2.12.8", "2.14.6", "2.2.6", "2.9.25"]
    kinds = {version: files(old_backups(version)["plain"].tar) for version in VERSIONS}
    assert "msgs/1.idx" in kinds["2.2.6"]
    assert "msgs/1.fss" in kinds["2.9.25"]
    found = [kinds[version]["msgs/index.db"][1] for version in VERSIONS[:4]]
    assert found == [1, 2, 3, 4]


@pytest.mark.parametrize("version", ["2.9.25", "2.14.6"])
def test_any_cut(version: str) -> None:
    tar = old_backups(version)["consumers"].tar
    whole = items(tar)
    for step in (1, 7, 511, 512, 513, 5000):
        assert items(tar, step) == whole


def test_without_an_index() -> None:
    """Then tombstones say what was removed."""
    for name in ("plain", "work_queue", "purged", "first_seq", "purged_by_filter"):
        backup = old_backups("2.14.6")[name]
        parts = files(backup.tar)
        del parts["msgs/index.db"]
        assert seqs(made(parts)) == seqs(backup.tar) == backup.expected["seqs"]


def seqs(tar: bytes) -> list[int]:
    live = dict[int, None]()
    for item in items(tar):
        if isinstance(item, Gone):
            live.pop(item.seq, None)
        elif item is not None and item.seq:
            live[item.seq] = None
    return list(live)


def test_gone() -> None:
    extent = Extent(5, 9000, {0: 1 << 7 | 1 << 2047, 2048: 0b11, 8192: 1})
    gone = [seq for seq in range(9100) if not extent.has(seq)]
    assert gone == [0, 1, 2, 3, 4, 7, 2047, 2048, 2049, 8192]
    assert list(extent.gone(0, 9099)) == gone
    assert list(extent.gone(6, 2048)) == [7, 2047, 2048]


BACKUP = old_backups("2.14.6")["consumers"]
GOOD = files(BACKUP.tar)
BLOCK = GOOD["msgs/1.blk"]
BAD = {
    "a payload is another": GOOD | {"msgs/1.blk": BLOCK.replace(b"message 7", b"message 8")},
    "a subject is another": GOOD | {"msgs/1.blk": BLOCK.replace(b"s.1", b"s.7", 1)},
    "a block under another number": {
        ("msgs/7.blk" if name == "msgs/1.blk" else name): data for name, data in GOOD.items()
    },
    "a block is cut": GOOD | {"msgs/1.blk": BLOCK[:-1]},
    "a block is compressed": GOOD | {"msgs/1.blk": b"cmp\x01" + BLOCK},
    "a length of nothing": GOOD | {"msgs/1.blk": bytes(4) + BLOCK[4:]},
    "a length beyond all": GOOD | {"msgs/1.blk": b"\xff\xff\xff\x7f" + BLOCK[4:]},
    "blocks in disorder": {"meta.inf": b"", "meta.sum": b"", "msgs/2.blk": b""} | GOOD,
    "the index is damaged": GOOD | {"msgs/index.db": GOOD["msgs/index.db"][:-9] + bytes(9)},
    "the index is of tomorrow": GOOD | {"msgs/index.db": b"\x0b\x09" + bytes(20)},
    "a block index of tomorrow": {**GOOD, "msgs/0.idx": b"\x16\x09"},
    "the configuration is another": GOOD
    | {"meta.inf": GOOD["meta.inf"].replace(b"limits", b"interest")},
    "no configuration": {name: data for name, data in GOOD.items() if not name.startswith("meta")},
    "a configuration that is none": GOOD | {"meta.inf": b"[[" * 10_000},
    "a path": GOOD | {"../../etc/passwd": b"x"},
    "a consumer's path": GOOD | {"obs/../../x": b"x"},
    "a consumer is another": GOOD
    | {"obs/C/meta.inf": GOOD["obs/C/meta.inf"].replace(b"explicit", b"all")},
    "a consumer's state is cut": GOOD | {"obs/C/o.dat": GOOD["obs/C/o.dat"][:-1]},
    "a consumer's state is old": GOOD | {"obs/C/o.dat": b"\x16\x01\0\0\0\0"},
    "a consumer without a name": GOOD | {"obs/X/o.dat": GOOD["obs/C/o.dat"]},
}


@pytest.mark.parametrize("what", BAD)
def test_refused(world: World, what: str) -> None:
    answer = restore(world, packed(made(BAD[what])), **BACKUP.request["config"])
    assert answer["error"]["err_code"] == 10062, answer
    assert names(world) is None
    world.settle()
    assert len(world.store._files) == 0


def test_as_made_here_it_is_good(world: World) -> None:
    """So what is refused above is refused for its change."""
    answer = restore(world, packed(made(GOOD)), **BACKUP.request["config"])
    assert answer["state"]["messages"] == 60


def test_under_another_name(world: World) -> None:
    config = {**BACKUP.request["config"], "name": "T"}
    body = json.dumps({"config": config}).encode()
    subject = world.ask("$JS.API.STREAM.RESTORE.T", body)["deliver_subject"]
    world.send(subject, BACKUP.data)
    world.settle()
    world.client.read()
    assert world.ask(subject)["state"]["messages"] == 60


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_no_file(kind: bytes) -> None:
    about = tarfile.TarInfo("meta.inf")
    about.type, about.linkname = kind, "/etc/passwd"
    with pytest.raises(ArchiveError, match="no file"):
        items(about.tobuf() + bytes(1024))


def test_sizes_that_cannot_be() -> None:
    """Refused at the header: nothing is gathered before."""
    for name, size in (("meta.inf", 1 << 33), ("msgs/index.db", 1 << 30), ("obs/C/o.dat", 1 << 28)):
        about = tarfile.TarInfo(name)
        about.size = size
        with pytest.raises(ArchiveError, match="too large"):
            items(about.tobuf(tarfile.GNU_FORMAT) + b"x" * 512)


def test_cut_short(world: World) -> None:
    for cut in (100, 1000, 3000, len(BACKUP.tar) - 1500):
        answer = restore(world, packed(BACKUP.tar[:cut]), **BACKUP.request["config"])
        assert answer["error"]["err_code"] == 10062
    assert names(world) is None


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """No stream, and nothing of it in the store: at whatever point the server ends."""
    backup = old_backups("2.14.6")["blocks"]
    data = packed(backup.tar)
    for share in (0.1, 0.5, 0.95, 1.0):
        world = World(tmp_path / "store")
        send(world, begin(world, **backup.request["config"]), data[: int(len(data) * share)])
        world.crash()
        world = World(tmp_path / "store")
        world.settle()
        assert names(world) is None
        assert world.store.streams() == {}
        world.close()


def test_disk_is_full(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = old_backups("2.14.6")["blocks"]
    data = packed(backup.tar)
    subject = begin(world, **backup.request["config"])
    send(world, subject, data[:50_000])
    monkeypatch.setattr(world.store, "room", lambda: False)
    send(world, subject, data[50_000:])
    assert world.ask(subject)["error"]["err_code"] == 10047
    assert names(world) is None
    assert len(world.store._files) == 0
    monkeypatch.undo()
    assert "error" not in restore(world, data, **backup.request["config"])
