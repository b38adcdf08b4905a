"""docs/migration.md, followed to the letter."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import nats

from tests.docs.snippets import ROOT, snippets
from tests.support.server import ORACLE, OURS, Server, Servers

PAGE = "docs/migration.md"


async def fill(url: str) -> None:
    client = await nats.connect(url)
    js = client.jetstream()
    await js.add_stream(name="ORDERS", subjects=["orders"])
    for _ in range(20):
        await js.publish("orders", b"1 piano")
    await js.pull_subscribe("orders", durable="shipping")
    settings = await js.create_key_value(bucket="settings")
    await settings.put("colour", b"green")
    await client.close()


async def forget(url: str) -> None:
    client = await nats.connect(url)
    for stream in await client.jetstream().streams_info():
        await client.jetstream().delete_stream(stream.config.name or "")
    await client.close()


def follow(name: str, source: Server, target: Server) -> str:
    (snippet,) = snippets(PAGE, "sh", name)
    text = snippet.text.replace(":4222", f":{source.port}").replace(":4223", f":{target.port}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", text],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_commands(tmp_path: Path) -> None:
    page = (ROOT / PAGE).read_text()
    assert set(re.findall(r"^```(.+)$", page, re.MULTILINE)) == {"sh migrate", "sh choose"}
    with Servers(tmp_path) as servers:
        source, target = (
            servers.start(kind, None, ["-js", "-sd", str(tmp_path / kind)])
            for kind in (ORACLE, OURS)
        )
        asyncio.run(fill(source.url))
        told = follow("migrate", source, target).splitlines()[-3:]
        shown = page[page.index("    stream       target") :].splitlines()[:3]
        assert told == [line.removeprefix("    ") for line in shown]
        asyncio.run(forget(target.url))
        assert '"verified": true' in follow("choose", source, target)
