"""Who may what: the gateway lets in whom the server lets in, and every operation needs the rights that a
client would need for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import bcrypt
import nats
import pytest

from jetstream_py import kv, objstore
from tests.gateway.place import OPEN, Place, Reply, basic
from tests.support.tokens import Account, Operator, User

pytestmark = pytest.mark.xdist_group("gateway")

HASH = bcrypt.hashpw(b"hashed", bcrypt.gensalt(4)).decode()
INFO = "$JS.API.STREAM.INFO.*"
CONFIG = f"""
    {OPEN}
    system_account: S
    accounts {{
        S {{ users: [{{ user: sys, password: p }}] }}
        B {{ jetstream: enabled, users: [{{ user: other, password: p }}] }}
        N {{ users: [{{ user: without, password: p }}] }}
        A {{
            jetstream: enabled
            mappings: {{ "old.a": "s.a" }}
            users: [
                {{ user: all, password: p }}
                {{ user: hashed, password: "{HASH}" }}
                {{ user: browser, password: p, allowed_connection_types: ["WEBSOCKET"] }}
                {{ user: reader, password: p, permissions: {{ publish: {{
                    allow: ["{INFO}", "$JS.API.DIRECT.GET.KV_b.$KV.b.open.>"] }} }} }}
                {{ user: writer, password: p, permissions: {{ publish: {{
                    allow: ["{INFO}", "$KV.b.>", "s.>"], deny: ["$KV.b.secret", "s.secret"] }} }} }}
                {{ user: watcher, password: p, permissions: {{ publish: {{
                    allow: ["{INFO}", "$JS.API.CONSUMER.CREATE.KV_b.>"] }} }} }}
                {{ user: uploader, password: p, permissions: {{ publish: {{
                    allow: ["{INFO}", "$O.o.C.>"] }} }} }}
                {{ user: deaf, password: p, permissions: {{ subscribe: {{ allow: ["news.>"] }} }} }}
                {{ user: own, password: p, permissions: {{ subscribe: {{ allow: ["_INBOX_own.>"] }} }} }}
            ]
        }}
    }}
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("town"), CONFIG)
    js = place.js("A")

    async def fill() -> None:
        bucket = await kv.create_bucket(js, "b")
        await bucket.put("open.a", b"1")
        await bucket.put("secret", b"2")
        await (await objstore.create_store(js, "o")).put("x", b"old")
        await js.create_stream({"name": "S", "subjects": ["s.>"]})

    place.run(fill())
    yield place
    place.close()


def as_user(place: Place, user: str, method: str, path: str, **more: Any) -> Reply:
    body = b"x" if method in ("PUT", "POST") and path.count("/") > 3 else None
    headers = {**basic(user, "p"), **more.get("headers", {})}
    return place.ask(method, path, body, headers)


@pytest.mark.parametrize(
    ("user", "method", "path", "status"),
    [
        ("all", "GET", "/v1/kv/b/open.a", 200),
        ("other", "GET", "/v1/kv/b/open.a", 404),  # another account, another bucket
        ("other", "GET", "/v1/streams", 200),
        ("reader", "GET", "/v1/kv/b/open.a", 200),
        ("reader", "GET", "/v1/kv/b/secret", 403),
        ("reader", "PUT", "/v1/kv/b/open.a", 403),
        ("reader", "DELETE", "/v1/kv/b/open.a", 403),
        ("reader", "GET", "/v1/kv/b", 200),
        ("reader", "GET", "/v1/kv/b?keys", 403),
        ("reader", "GET", "/v1/kv/b?watch", 403),
        ("reader", "GET", "/v1/kv", 403),
        ("reader", "PUT", "/v1/kv/new", 403),
        ("reader", "DELETE", "/v1/kv/b", 403),
        ("reader", "GET", "/v1/objects/o/x", 403),
        ("writer", "PUT", "/v1/kv/b/w", 200),
        ("writer", "PUT", "/v1/kv/b/secret", 403),
        ("writer", "DELETE", "/v1/kv/b/secret?purge", 403),
        ("writer", "GET", "/v1/kv/b/w", 403),
        ("writer", "POST", "/v1/streams/S/messages?subject=s.a", 200),
        ("writer", "POST", "/v1/streams/S/messages?subject=s.secret", 403),
        ("writer", "POST", "/v1/streams/S/messages?subject=old.a", 200),  # mapped, then judged
        ("writer", "POST", "/v1/streams/S/messages?subject=$KV.b.secret", 403),
        ("writer", "GET", "/v1/streams/S/messages", 403),
        ("watcher", "GET", "/v1/kv/b?keys", 200),
        ("watcher", "GET", "/v1/kv/b/open.a?history", 200),
        ("watcher", "GET", "/v1/kv/b/open.a", 403),
        ("uploader", "PUT", "/v1/objects/o/x", 403),  # chunks, but not what makes them an object
        ("deaf", "GET", "/v1/kv/b/open.a", 403),
        ("own", "GET", "/v1/kv/b/open.a", 403),
    ],
)  # fmt: skip
def test_rights(town: Place, user: str, method: str, path: str, status: int) -> None:
    reply = as_user(town, user, method, path)
    assert reply.status == status, reply.body
    if status == 403:
        assert reply.error == (403, 0)
        assert "Permissions Violation" in reply.json["description"]


def test_a_refusal_changes_nothing(town: Place) -> None:
    js = town.js("A")
    store = town.run(objstore.open_store(js, "o"))
    town.run(store.sweep(older_than=0))
    before = town.run(store.status()).bytes
    assert as_user(town, "uploader", "PUT", "/v1/objects/o/x").status == 403
    assert town.run(store.get_bytes("x")) == b"old"
    # A chunk stays, as it would for a client: this user may not purge.
    assert town.run(store.sweep(older_than=0)) == 1
    assert town.run(store.status()).bytes == before


def test_a_watch_leaves_nothing_and_publishes_for_nobody(town: Place) -> None:
    """Its own consumer ends with it, though the user may delete none. A forged question, with another subject
    to answer to, is not answered there: this user may not publish to it."""
    js = town.js("A")

    async def play() -> None:
        before = (await js.stream_info("S")).state.last_seq
        async with town.events("/v1/kv/b?watch&updates_only", basic("watcher", "p")) as events:
            while not (found := (await js.api("CONSUMER.LIST.KV_b"))["consumers"]):
                pass
            inbox = found[0]["config"]["deliver_subject"]
            await _forge(town, inbox, reply="s.forged")
            event = await anext(events)
            assert (event.name, event.data["code"]) == ("error", 403)
        while (await js.stream_info("KV_b")).state.consumer_count:
            pass
        assert (await js.stream_info("S")).state.last_seq == before

    town.run(play())


async def _forge(town: Place, inbox: str, reply: str) -> None:
    port = int(town.server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"NATS/1.0 100 FlowControl Request\r\n\r\n"
    login = b'CONNECT {"verbose":false,"headers":true,"user":"all","pass":"p"}\r\n'
    line = f"HPUB {inbox} {reply} {len(head)} {len(head)}\r\n".encode()
    writer.write(login + line + head + b"\r\nPING\r\n")
    await reader.readuntil(b"PONG\r\n")
    writer.close()


def test_inboxes_of_ones_own(town: Place) -> None:
    def read(prefix: str) -> int:
        headers = {"Nats-Inbox-Prefix": prefix}
        return as_user(town, "own", "GET", "/v1/kv/b/open.a", headers=headers).status

    assert read("_INBOX_own") == 200
    assert read("_INBOX_other") == 403
    for wrong in ("", "a.*", "$JS", "_R_", "x" * 129):
        assert read(wrong) == 400, wrong


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        (basic("all", "p"), 200),
        (basic("all", "wrong"), 401),
        (basic("all", ""), 401),
        (basic("nobody", "p"), 401),
        (basic("", ""), 401),
        (basic("hashed", "hashed"), 200),
        (basic("hashed", HASH), 401),
        (basic("browser", "p"), 401),
        (basic("without", "p"), 503),
        ({"Authorization": "Basic ???"}, 401),
        ({"Authorization": "Bearer p"}, 401),
        ({"Authorization": "Digest p"}, 401),
    ],
)
def test_logins(town: Place, headers: dict[str, str], status: int) -> None:
    reply = town.ask("GET", "/v1/streams", headers=headers)
    assert reply.status == status
    if status == 401:
        assert reply.error == (401, 0)
        assert reply.headers["WWW-Authenticate"].startswith("Basic ")


def test_failed_logins_are_told(town: Place) -> None:
    async def play() -> dict[str, Any]:
        client = await nats.connect(town.server.url, user="sys", password="p")
        told = await client.subscribe("$SYS.SERVER.*.CLIENT.AUTH.ERR")
        await client.flush()
        await town.send("GET", "/v1/streams", headers=basic("mallory", "s3cret"))
        event = json.loads((await told.next_msg(5)).data)
        await client.close()
        return dict(event)

    event = town.run(play())
    assert event["reason"] == "Authentication Failure"
    assert (event["client"]["user"], event["client"]["lang"]) == ("mallory", "http")
    assert "s3cret" not in json.dumps(event)


def test_nobody_without_credentials_by_a_public_name(town: Place, tmp_path: Path) -> None:
    open_to_all = Place(tmp_path)
    try:
        public = {"Host": "rebound.example.com"}
        assert open_to_all.ask("GET", "/v1/streams", headers=public).error == (403, 0)
        assert open_to_all.ask("GET", "/v1/streams").status == 200
    finally:
        open_to_all.close()
    assert town.ask("GET", "/v1/streams", headers=public | basic("all", "p")).status == 200


def test_tokens(tmp_path: Path) -> None:
    place = Place(tmp_path, f"{OPEN}\nauthorization {{ token: s3cret }}")
    try:
        for headers, status in (
            ({"Authorization": "Bearer s3cret"}, 200),
            (basic("", "s3cret"), 200),
            ({"Authorization": "Bearer s3cre"}, 401),
            ({}, 401),
        ):
            assert place.ask("GET", "/v1/streams", headers=headers).status == status, headers
    finally:
        place.close()


def test_a_guest(tmp_path: Path) -> None:
    users = "[{ user: guest, password: g, permissions: { publish: { deny: '$KV.>' } } }]"
    place = Place(tmp_path, f"{OPEN}\nno_auth_user: guest\nauthorization {{ users: {users} }}")
    try:
        assert place.ask("PUT", "/v1/kv/b").status == 200
        assert place.ask("PUT", "/v1/kv/b/a", b"").status == 403
        assert place.ask("PUT", "/v1/kv/b", headers=basic("guest", "x")).status == 401
    finally:
        place.close()


def test_bearers_of_jwts(tmp_path: Path) -> None:
    """A token that needs a signature is no login: HTTP has no nonce to sign."""
    operator = Operator()
    account = Account(operator, "A")
    system = Account(operator, "SYS")
    storage = {"limits": {"disk_storage": -1, "mem_storage": -1}}
    config = f"""
        {OPEN}
        operator: {operator.jwt(nats={"system_account": system.public})}
        resolver: MEMORY
        resolver_preload: {{
            {account.public}: {account.jwt(nats=storage)}
            {system.public}: {system.jwt()}
        }}
    """
    place = Place(tmp_path, config)
    user = User(account)
    readonly = {"pub": {"deny": ["$KV.>"]}, "bearer_token": True}

    def ask(method: str, path: str, token: str) -> int:
        return place.ask(method, path, headers={"Authorization": f"Bearer {token}"}).status

    try:
        assert ask("PUT", "/v1/kv/b", user.jwt(nats={"bearer_token": True})) == 200
        assert ask("PUT", "/v1/kv/b/a", user.jwt(nats={"bearer_token": True})) == 200
        assert ask("PUT", "/v1/kv/b/a", user.jwt(nats=readonly)) == 403
        assert ask("GET", "/v1/kv/b/a", user.jwt(nats=readonly)) == 200
        assert ask("GET", "/v1/kv/b/a", user.jwt()) == 401
        assert ask("GET", "/v1/kv/b/a", user.jwt(nats={"bearer_token": True}, exp=1)) == 401
        assert ask("GET", "/v1/kv/b/a", "not.a.token") == 401
    finally:
        place.close()


def test_a_reload_judges_watchers_again(tmp_path: Path) -> None:
    config = f"{OPEN}\nauthorization {{ users: [{{ user: u, password: p }}] }}"
    place = Place(tmp_path, config)

    async def play() -> None:
        await kv.create_bucket(place.js(), "b")
        async with place.events("/v1/kv/b?watch", basic("u", "p")) as events:
            assert (await anext(events)).name == "current"
            file = tmp_path / "server.conf"
            file.write_text(file.read_text().replace("password: p", "password: q"))
            assert place.server.app.reload() == ""
            with pytest.raises(aiohttp.ClientPayloadError):
                await anext(events)
        assert (await place.send("GET", "/v1/kv/b?watch", headers=basic("u", "p"))).status == 401

    place.run(play())
    place.close()


def test_a_server_that_stops_ends_its_watches(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def play() -> None:
        await kv.create_bucket(place.js(), "b")
        async with place.events("/v1/kv/b?watch") as events:
            assert (await anext(events)).name == "current"
            closing = asyncio.create_task(place.server.close())
            with pytest.raises(aiohttp.ClientPayloadError):
                await anext(events)
            await closing
        await place.http.close()

    place.run(play())
    place.loop.close()
