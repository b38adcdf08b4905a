"""What servers tell, as lines."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator

import pytest

from jetstream_py.cli.events import line, text_json
from tests.cli.shell import Done, Shell, steady
from tests.support.server import KINDS, Kind, Server, Servers

CONFIG = """
jetstream { store_dir: "%s" }
accounts {
  A { jetstream: enabled, users: [{user: a, password: a}] }
  SYS { users: [{user: sys, password: sys}] }
}
system_account: SYS
"""
CREATE = b'{"name":"ORDERS","subjects":["orders"],"storage":"memory"}'


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Server]]:
    directory = tmp_path_factory.mktemp("events")
    with Servers(directory) as servers:
        yield {kind: servers.start(kind, CONFIG % (directory / kind)) for kind in KINDS}


def heard(server: Server, user: str, *arguments: str) -> Done:
    """What `events` says while somebody comes, makes and removes a stream, until it has heard enough."""
    enough = threading.Event()

    def busy() -> None:
        while not enough.is_set():
            with server.client(b'CONNECT {"user":"a","pass":"a","name":"maker"}\r\n') as client:
                create = b"PUB $JS.API.STREAM.CREATE.ORDERS %d\r\n%b\r\n" % (len(CREATE), CREATE)
                client.talk(create + b"PUB $JS.API.STREAM.DELETE.ORDERS 0\r\n\r\n")

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        return Shell(f"nats://{user}:{user}@127.0.0.1:{server.port}")("events", *arguments)
    finally:
        enough.set()
        thread.join()


def test_advisories_are_a_line_each(servers: dict[Kind, Server], kind: Kind) -> None:
    done = heard(servers[kind], "a", "--count", "3", "--filter", "stream_action")
    assert done.status == 0, done
    assert re.fullmatch(
        r"(\[TIME\] Stream Action: (create|delete) stream=ORDERS\n){3}", steady(done.out)
    )
    assert "Listening on $JS.EVENT.ADVISORY.>" in done.err


def test_the_system_account_hears_of_clients(servers: dict[Kind, Server], kind: Kind) -> None:
    arguments = ("--count", "1", "--filter", "client_connect.*maker", "--json")
    event = json.loads(heard(servers[kind], "sys", *arguments).out)
    assert event["type"] == "io.nats.server.advisory.v1.client_connect"
    assert (event["client"]["acc"], event["client"]["name"]) == ("A", "maker")
    shown = line("$SYS.ACCOUNT.A.CONNECT", json.dumps(event))
    assert "Client Connect: account=A user=a client=maker host=127.0.0.1 cid=" in shown


def test_the_api_is_audited_for_those_who_want_all(servers: dict[Kind, Server], kind: Kind) -> None:
    done = heard(servers[kind], "a", "--all", "--count", "1", "--filter", "STREAM.CREATE")
    assert "Api Audit: subject=$JS.API.STREAM.CREATE.ORDERS account=A" in done.out


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", '{"type": 7, "stream": "\\u001b[2J"}'])
def test_whatever_comes_is_a_line(text: str) -> None:
    shown = line("a.b", text)
    assert shown.isprintable()
    assert "\n" not in text_json("a.b", text)


def test_a_filter_that_is_none() -> None:
    done = Shell("nats://127.0.0.1:1")("events", "--filter", "(")
    assert (done.status, done.out) == (2, "")
    assert "no regular expression" in done.err
