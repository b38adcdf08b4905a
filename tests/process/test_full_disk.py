"""A disk that is really full: publishes are refused cleanly, everything else works, and space comes back."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jetstream.support import JetStream, Json
from tests.process.test_startup import verify
from tests.support.server import OURS, Server, StartServer

SIZE = 160 << 20
PAYLOAD = bytes(range(256)) * 800  # 200 KiB
MOST = SIZE // len(PAYLOAD)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own; only root can have one."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(directory)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nobody but root can mount a small disk")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def start(start_server: StartServer, store: Path) -> Server:
    return start_server(OURS, None, ["-m", "-1", "-js", "-sd", str(store)])


def put(js: JetStream, data: bytes = PAYLOAD) -> Json:
    """A publish off the record: nobody wants to read so much."""
    return js._receive(js._send("s.a", data)).json


def fill(js: JetStream) -> int:
    """Publish until the server has no room; how many it took."""
    for stored in range(MOST):
        answer = put(js)
        if "error" in answer:
            assert answer["error"]["err_code"] == 10023, answer
            assert answer["error"]["code"] == 503
            return stored
    raise AssertionError("it took more than there is")


def live_with_it(js: JetStream, stored: int) -> None:
    """Nothing but storing is refused, and removing makes room."""
    assert stored > 100
    assert put(js)["error"]["err_code"] == 10023
    state = js.state("S")
    assert (state["messages"], state["last_seq"]) == (stored, stored)
    assert js.ask("STREAM.MSG.GET.S", {"seq": stored})["message"]["seq"] == stored
    assert js.client.exchange(b"SUB c 9\r\nPUB c 2\r\nok\r\n") == b"MSG c 9 2\r\nok\r\n"
    assert js.server.monitor("/healthz") == {"status": "ok"}
    js.ok("STREAM.MSG.DELETE.S", {"seq": 5})
    js.ok("STREAM.MSG.DELETE.S", {"seq": 6, "no_erase": True})
    assert js.ok("STREAM.PURGE.S", {"keep": 10})["purged"] == stored - 12
    for _ in range(20):  # pages come back with the commits that follow
        put(js, b"small")
    assert put(js)["seq"] > stored
    assert fill(js) > 50  # the whole disk again, and again an end of it


@pytest.mark.parametrize("again", ["kill", "stop"])
def test_a_full_disk(
    start_server: StartServer, tmp_path: Path, small_disk: Path, again: str
) -> None:
    server = start(start_server, small_disk)
    js = JetStream(server, small_disk)
    js.create("S", subjects=["s.>"])
    live_with_it(js, fill(js))
    before = js.state("S")
    js.close()
    server.kill() if again == "kill" else server.stop()
    assert verify([str(small_disk)], tmp_path) == 0
    later = JetStream(start(start_server, small_disk), small_disk)
    assert later.state("S") == before
    fill(later)
    later.ok("STREAM.PURGE.S")
    for _ in range(20):
        put(later, b"small")
    assert "error" not in put(later)
    later.close()


def test_a_file_that_may_not_grow(start_server: StartServer, tmp_path: Path) -> None:
    """A quota looks like this, and it needs no root."""
    store = tmp_path / "store"
    server = start(start_server, store)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (SIZE, SIZE))
    js = JetStream(server, store)
    js.create("S", subjects=["s.>"])
    live_with_it(js, fill(js))
    js.close()
    server.kill()
    assert verify([str(store)], tmp_path) == 0
