"""Object stores on the command line; the same words from both servers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, both_shells
from tests.support.server import OURS, Kind

Shells = dict[Kind, Shell]
CONTENT = bytes(range(256)) * 1200  # three chunks


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shells]:
    with both_shells(tmp_path_factory.mktemp("object")) as found:
        yield found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.bin").write_bytes(CONTENT)
    return tmp_path


STORY = (
    ("add story --description tale", 0),
    ("put story f.bin --description d -H a:b", 0),
    ("put story f.bin", 2),
    ("put story f.bin --name ../up -f", 0),
    ("info story f.bin", 0),
    ("ls story", 0),
    ("ls story -n", 0),
    ("ls", 0),
    ("get story none", 1),
    ("watch story --count 2", 0),
    ("del story f.bin", 2),
    ("del story f.bin -f", 0),
    ("ls story", 0),
    ("seal story", 2),
    ("seal story -f", 0),
    ("put story f.bin -f", 1),
    ("rm story -f", 0),
    ("info story", 1),
    ("ls", 0),
)


def told(shell: Shell) -> str:
    text = ""
    for line, status in STORY:
        done = shell("object", *line.split())
        assert done.status == status, (line, done)
        text += f"$ object {line}\n{done.text}"
    return text


def test_a_store_from_its_beginning_to_its_end(shells: Shells) -> None:
    ours, theirs = (told(shell) for shell in (shells[OURS], shells["nats-server"]))
    assert ours == theirs
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert (
        "Object information for story > f.bin\n\n"
        "        Description: d\n"
        "               Size: 300 KiB\n"
        "  Modification Time: TIME\n"
        "             Chunks: 3\n"
        "            Headers: a: b\n"
        f"             Digest: SHA-256 {digest}\n"
    ) in ours
    assert "$ object ls story -n\n../up\nf.bin\n" in ours
    assert "[TIME] PUT story > f.bin: 300 KiB in 3 chunks" in ours
    assert "error: no object: none\n  `jetstream-py object ls STORE`" in ours
    assert "error: story is sealed\n" in ours
    assert "error: there is no store story\n" in ours


def test_what_was_put_is_got(shells: Shells, kind: Kind, here: Path) -> None:
    shell = shells[kind]
    shell.ok("object", "add", "files")
    shell.ok("object", "put", "files", "--name", "../../in", "--chunk-size", "1K", stdin=CONTENT)
    assert shell.ok("object", "get", "files", "../../in").startswith("Wrote: 300 KiB to ")
    assert (here / "in").read_bytes() == CONTENT  # here, wherever the name leads
    shell.ok("object", "get", "files", "../../in", "-O", "out")
    assert os.listdir(here).count("out") == 1
    refused = shell("object", "get", "files", "../../in", "-O", "out")
    assert (refused.status, "Overwrite out?" in refused.err) == (2, True)
    found = json.loads(shell.ok("object", "info", "files", "../../in", "--json"))
    assert (found["size"], found["chunks"]) == (len(CONTENT), 300)
    shown = shell.typed(
        "object",
        "get",
        answers=[("Store", "files"), ("Object [../../in]: ", ""), ("Overwrite in? ", "y")],
    )
    assert (shown.status, "Wrote: 300 KiB" in shown.out) == (0, True)


def test_a_file_appears_whole_or_not_at_all(shells: Shells, here: Path) -> None:
    shell = shells[OURS]
    shell.ok("object", "add", "cut")
    shell.ok("object", "put", "cut", "f.bin")
    stream = "OBJ_cut"
    chunk = json.loads(shell.ok("stream", "get", stream, "2", "--json"))["subject"]
    shell.ok("stream", "purge", stream, "--subject", chunk, "--keep", "1", "-f")
    before = sorted(os.listdir(here))
    done = shell("object", "get", "cut", "f.bin", "-O", "out")
    assert (done.status, done.out) == (1, "")
    assert sorted(os.listdir(here)) == before


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("put", 2, "Store is missing: give STORE"),
        ("put errors", 2, "Name is missing: give --name"),
        ("put errors nowhere", 1, "nowhere cannot be read: No such file"),
        ("put errors f.bin -H x", 2, "'x' is no Name:value"),
        ("put errors f.bin --chunk-size 0", 1, "a chunk has 1 to"),
        ("get errors", 1, "nothing to choose"),
        ("add no.store", 1, "not a store's name"),
        ("add errors --ttl 1h", 1, "errors is there with other options"),
    ],
)
def test_errors_say_what_is_wrong(shells: Shells, line: str, status: int, words: str) -> None:
    shell = shells[OURS]
    shell.ok("object", "add", "errors")
    done = shell("object", *line.split())
    assert (done.status, done.out) == (status, "")
    assert words in done.err
