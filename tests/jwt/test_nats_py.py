"""The stock Python client with a creds file, on both servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error

from tests.jwt.world import WITH_OPERATOR, Chain
from tests.support.server import Kind, Server, Servers
from tests.support.tokens import Account, Operator, User

LIMIT = 20.0


def finish(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, LIMIT))


@pytest.fixture
def made() -> Chain:
    return Chain()


@pytest.fixture(params=WITH_OPERATOR)
def server(made: Chain, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    kind: Kind = request.param
    with Servers(tmp_path) as servers:
        yield servers.start(
            kind, made.config(f'resolver {{ type: full, dir: "{tmp_path / "jwt"}" }}')
        )


class Caller:
    """A client that knows why it had to leave."""

    def __init__(self, server: Server, user: User, path: Path, jwt: str) -> None:
        self._url = server.url
        self._creds = path / f"{user.name}.creds"
        self._creds.write_text(user.creds(jwt))
        self.gone = asyncio.Event()

    async def connect(self) -> Client:
        self.client = await nats.connect(
            self._url,
            user_credentials=str(self._creds),
            allow_reconnect=False,
            closed_cb=self._on_close,
        )
        return self.client

    async def last_words(self) -> str:
        """What the server said when it closed."""
        await self.gone.wait()
        return str(self.client.last_error)

    async def _on_close(self) -> None:
        self.gone.set()


@pytest.mark.behaviour("AUTH-042")
def test_a_creds_file(made: Chain, server: Server, tmp_path: Path) -> None:
    stranger = User(Account(Operator(), "X"), "x")

    async def story() -> None:
        client = await Caller(server, made.user, tmp_path, made.user.jwt()).connect()
        subscription = await client.subscribe("greet")
        await client.publish("greet", b"hello")
        assert (await subscription.next_msg()).data == b"hello"
        await client.close()
        with pytest.raises(Error, match=r"(?i)authorization violation"):
            await Caller(server, stranger, tmp_path, stranger.jwt()).connect()

    finish(story())


@pytest.mark.behaviour("AUTH-043")
def test_the_end_of_a_token(made: Chain, server: Server, tmp_path: Path) -> None:
    async def story() -> None:
        caller = Caller(server, made.user, tmp_path, made.user.jwt(exp=int(time.time()) + 2))
        await caller.connect()
        assert await caller.last_words() == "nats: user authentication expired"

    finish(story())


@pytest.mark.behaviour("AUTH-044")
def test_a_revocation(made: Chain, server: Server, tmp_path: Path) -> None:
    async def story() -> None:
        admin = await Caller(server, made.system_user, tmp_path, made.system_user.jwt()).connect()
        caller = Caller(server, made.user, tmp_path, made.user.jwt())
        await caller.connect()
        revoked = made.account.jwt(nats={"revocations": {made.user.public: int(time.time())}})
        answer = await admin.request("$SYS.REQ.CLAIMS.UPDATE", revoked.encode())
        assert b'"message":"jwt updated"' in answer.data
        assert await caller.last_words() == "nats: user authentication revoked"
        with pytest.raises(Error, match=r"(?i)authorization violation"):
            await Caller(server, made.user, tmp_path, made.user.jwt()).connect()
        await admin.close()

    finish(story())


@pytest.mark.behaviour("AUTH-045")
def test_a_bearer(made: Chain, server: Server, tmp_path: Path) -> None:
    def jwt(bearer: bool) -> bytearray:
        return bytearray(made.user.jwt(nats={"bearer_token": bearer}).encode())

    async def story() -> None:
        client = await nats.connect(
            server.url, user_jwt_cb=lambda: jwt(True), signature_cb=lambda nonce: b""
        )
        await client.flush()
        await client.close()
        with pytest.raises(Error, match=r"(?i)authorization violation"):
            await nats.connect(
                server.url,
                user_jwt_cb=lambda: jwt(False),
                signature_cb=lambda nonce: b"",
                allow_reconnect=False,
            )

    finish(story())
