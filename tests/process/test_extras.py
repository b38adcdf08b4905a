"""Libraries that only some options need: all named by an extra, and missed in time."""

from __future__ import annotations

import asyncio
import os
import signal
import tomllib
from pathlib import Path

import nats
import pytest

from jetstream_py.app import extras
from jetstream_py.config import parse_args
from jetstream_py.config.options import Options
from tests.process.launch import READY, Launched
from tests.support.server import OURS

ROOT = Path(__file__).parents[2]
HASH = "$2a$04$abcdefghijklmnopqrstuu5Zl9PZzFSmmL1iTzxTjqHQ4CUTqb4me"
NKEY = "UBAAQWTW6CG2G6ANGNKB5U2B7HRWHSGMZEZX3AQSAJOQDAUGJD46LD2E"
ISSUER = "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA"
CALLOUT = (
    f'users: [{{user: "svc", password: "p"}}], auth_callout {{issuer: {ISSUER}, auth_users: [svc]}}'
)


LIBRARIES = {"aiohttp", "bcrypt", "cryptography", "prometheus_client", "nacl", "websockets"}


def plain(directory: Path) -> dict[str, str]:
    """The environment of a Python that has none of the optional libraries."""
    hidden = f"import sys\nsys.modules.update(dict.fromkeys({LIBRARIES!r}))\n"
    (directory / "sitecustomize.py").write_text(hidden)
    paths = [str(directory), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def options(directory: Path, config: str) -> Options:
    file = directory / "server.conf"
    file.write_text(config)
    return parse_args(["-c", str(file)], {}).options


@pytest.mark.parametrize(
    ("config", "needs"),
    [
        ("port: 4222", ""),
        ("authorization { user: a, password: b }", ""),
        (f'authorization {{ user: a, password: "{HASH}" }}', "bcrypt"),
        (f'authorization {{ token: "{HASH}" }}', "bcrypt"),
        (f'websocket {{ port: 1, no_tls: true, authorization {{ token: "{HASH}" }} }}', "bcrypt"),
        (f'accounts {{ A {{ users: [{{user: a, password: "{HASH}"}}] }} }}', "bcrypt"),
        (f"authorization {{ users: [{{nkey: {NKEY}}}] }}", "PyNaCl"),
        (f"authorization {{ {CALLOUT} }}", "PyNaCl"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, config: str, needs: str) -> None:
    asked = options(tmp_path, config)
    text = extras.missing(asked, lambda name: None)
    assert needs in text
    assert bool(needs) == bool(text)
    assert extras.missing(asked, lambda name: object()) == ""


def test_one_extra_has_all_that_a_server_can_use() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = project["optional-dependencies"]
    everything = {
        package.partition(">=")[0]
        for name in ("auth", "monitor", "tls", "websocket")
        for package in groups[name]
    }
    imports = {"PyNaCl": "nacl", "prometheus-client": "prometheus_client"}
    assert {imports.get(package, package) for package in everything} == LIBRARIES
    assert groups["all"] == ["jetstream-py[auth,cli,client,monitor,tls,websocket]"]


def test_a_plain_install_serves_core_and_streams(tmp_path: Path) -> None:
    flags = ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", "store", "--user", "u", "--pass", "p"]
    with Launched(OURS, flags, tmp_path, environ=plain(tmp_path)) as server:
        server.read_until(READY)
        asyncio.run(store_and_read(server.port))


async def store_and_read(port: int) -> None:
    client = await nats.connect(f"nats://u:p@127.0.0.1:{port}")
    js = client.jetstream()
    await js.add_stream(name="S", subjects=["s.>"])
    await js.publish("s.one", b"kept")
    assert (await js.get_msg("S", 1)).data == b"kept"
    await client.close()


@pytest.mark.parametrize(
    ("config", "extra"),
    [
        (f'authorization {{ user: a, password: "{HASH}" }}', "auth"),
        (f"authorization {{ users: [{{nkey: {NKEY}}}] }}", "auth"),
        ("http_port: -1", "monitor"),
        ("websocket { port: -1, no_tls: true }", "websocket"),
    ],
)
def test_a_server_that_lacks_something_does_not_start(
    tmp_path: Path, config: str, extra: str
) -> None:
    (tmp_path / "server.conf").write_text(f"port: -1\nhost: 127.0.0.1\n{config}\n")
    with Launched(OURS, ["-c", "server.conf"], tmp_path, environ=plain(tmp_path)) as server:
        assert server.end() == 1
        assert "not installed" in server.output
        assert f"pip install 'jetstream-py[{extra}]'" in server.output


def test_a_reload_that_lacks_something_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text("port: -1\nhost: 127.0.0.1\n")
    with Launched(OURS, ["-c", "server.conf"], tmp_path, environ=plain(tmp_path)) as server:
        server.read_until(READY)
        start = len(server.output)
        with file.open("a") as config:
            config.write(f"authorization {{ users: [{{nkey: {NKEY}}}] }}\n")
        server.signal(signal.SIGHUP)
        server.read_until("Failed to reload server configuration: Users with nkeys", start)
