"""A connection for a migration: nats-py, with three things that it leaves out.

Header blocks stay bytes, because a message has to arrive with the headers it had, in their order, with
names that come twice. A wait ends when the connection does, or when the server says that something is
forbidden. And there are no reconnects: what was on its way then is not known, so the run ends and the
next one looks.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.protocol import command

from jetstream_py.migrate.errors import ApiError, ConnectError, DeniedError, MigrateError
from jetstream_py.migrate.options import Endpoint
from jetstream_py.nkey import USER, decode_seed

Json = dict[str, Any]
T = TypeVar("T")

TIMEOUT: Final = 30.0  # seconds for any answer; a server that syncs a large commit may take some
CONNECT_TIMEOUT: Final = 5


class Block(dict[str, str]):
    """What nats-py needs of a header block, and the block."""

    raw: bytes = b""


def block_of(msg: Msg) -> Block:
    """A message's headers; every message of a `Connection` has such, or none."""
    return msg.headers if isinstance(msg.headers, Block) else Block()


class Connection(Client):
    """One of the two servers."""

    def __init__(self, where: str, domain: str, timeout: float = TIMEOUT) -> None:
        super().__init__()
        self.where = where
        self.timeout = timeout
        self.prefix = f"$JS.{domain}.API." if domain else "$JS.API."
        self.trouble: Exception | None = None  # the last that nats-py told of
        self._fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # -- what nats-py leaves out -------------------------------------------------------------------

    async def _process_headers(self, headers: bytes) -> Block | None:
        if not headers:
            return None
        block = Block()
        block.raw = bytes(headers)
        first = block.raw.split(b"\r\n", 1)[0].split(b" ", 2)
        if len(first) > 1:
            block["Status"] = first[1].decode("ascii", "replace")
            block["Description"] = first[2].decode("utf-8", "replace") if len(first) > 2 else ""
        return block

    async def publish_raw(self, subject: str, reply: str, headers: bytes, data: bytes) -> None:
        """Publish a message with its header block as it is."""
        if headers:
            line = command.hpub_cmd(subject, reply, headers, data)
        else:
            line = command.pub_cmd(subject, reply, data)
        await self._send_command(line)
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    # -- waiting -----------------------------------------------------------------------------------

    async def on_error(self, error: Exception) -> None:
        self.trouble = error
        if "permissions violation" in str(error).lower():
            self._fail(DeniedError(f"{self.where}: {str(error).removeprefix('nats: ')}"))

    async def on_closed(self) -> None:
        self._fail(MigrateError(f"{self.where}: the connection is lost"))

    def _fail(self, error: MigrateError) -> None:
        if not self._fault.done():
            self._fault.set_exception(error)
            self._fault.exception()  # seen: nobody may be waiting now

    async def until(self, awaitable: Awaitable[T], what: str) -> T:
        """The result, or `MigrateError` when it will not come."""
        task = asyncio.ensure_future(awaitable)
        if self.is_closed:
            await self.on_closed()
        waiting: set[asyncio.Future[Any]] = {task, self._fault}
        try:
            await asyncio.wait(waiting, timeout=self.timeout, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
        if not self._fault.done():
            raise MigrateError(f"{self.where}: no answer to {what} within {self.timeout:g} s")
        fault, self._fault = self._fault, asyncio.get_running_loop().create_future()
        fault.result()
        raise AssertionError("a fault is an exception")

    # -- questions ---------------------------------------------------------------------------------

    async def ask(self, subject: str, data: bytes) -> bytes:
        try:
            answer: Msg = await self.until(
                self.request(subject, data, timeout=self.timeout), subject
            )
        except nats.errors.NoRespondersError:
            raise ApiError(f"{self.where}: {subject}", 503, 0, "nobody answers") from None
        except (nats.errors.TimeoutError, nats.errors.ConnectionClosedError, OSError) as error:
            raise MigrateError(f"{self.where}: {subject}: {error}") from None
        found: bytes = answer.data
        return found

    async def api(self, verb: str, body: Json | None = None) -> Json:
        """The answer of the JetStream API. Raises `ApiError`."""
        data = b"" if body is None else json.dumps(body).encode()
        return self.answer(verb, await self.ask(self.prefix + verb, data))

    def answer(self, verb: str, data: bytes) -> Json:
        try:
            found: Json = json.loads(data)
        except ValueError:
            raise MigrateError(f"{self.where}: {verb}: the answer is no JSON") from None
        if error := found.get("error"):
            code, err_code = error.get("code", 0), error.get("err_code", 0)
            raise ApiError(f"{self.where}: {verb}", code, err_code, error.get("description", ""))
        return found

    async def pages(self, verb: str, key: str, body: Json | None = None) -> list[Any]:
        """All items of a list that comes in pages."""
        found: list[Any] = []
        while True:
            answer = await self.api(verb, {**(body or {}), "offset": len(found)})
            items = answer.get(key) or []
            found += items
            if not items or len(found) >= answer.get("total", 0):
                return found

    async def find(self, stream: str) -> Json | None:
        """A stream's info; None when there is no such stream."""
        try:
            return await self.api(f"STREAM.INFO.{stream}")
        except ApiError as error:
            if error.err_code == 10059:
                return None
            raise

    async def listen(self, subject: str, handler: Callable[[Msg], Awaitable[None]]) -> Any:
        return await self.subscribe(subject, cb=handler, pending_bytes_limit=1 << 30)

    @property
    def release(self) -> tuple[int, int]:
        """The server's version, as far as it matters."""
        version = self.connected_server_version
        return version.major, version.minor

    @property
    def takes_old_archives(self) -> bool:
        """jetstream-py restores what servers before 2.15 have written, nats-server 2.15 does not."""
        return "jetstream_py_version" in self._server_info


async def connect(
    where: str,
    endpoint: Endpoint,
    link: Connection | None = None,
    name: str = "jetstream-py migrate",
) -> Connection:
    """Raises `ConnectError`."""
    link = link or Connection(where, endpoint.domain)
    try:
        await link.connect(
            allow_reconnect=False,
            connect_timeout=CONNECT_TIMEOUT,
            error_cb=link.on_error,
            closed_cb=link.on_closed,
            name=name,
            max_reconnect_attempts=1,  # of addresses that do not answer; none would be for ever
            reconnect_time_wait=0,
            **_login(endpoint),
        )
        await link.api("INFO")
    except ApiError as error:
        await link.close()
        if error.code == 503:
            text = f"{where}: JetStream is not enabled there, for this account or at all"
            raise ConnectError(text) from None
        raise ConnectError(str(error)) from None
    except MigrateError as error:
        await link.close()
        raise ConnectError(str(error)) from None
    except Exception as error:  # nats-py lets pass whatever libraries below it raise
        reason = str(link.trouble or error) or type(error).__name__
        raise ConnectError(f"{where}: cannot connect: {reason}") from None
    return link


def _login(endpoint: Endpoint) -> Json:
    """The arguments of nats-py's connect."""
    parts = urlsplit(endpoint.url if "://" in endpoint.url else f"nats://{endpoint.url}")
    arguments: Json = {"servers": [parts.geturl()]}
    if parts.username and parts.password is None and _is_seed(parts.username):
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        arguments = {"servers": [bare.geturl()], "nkeys_seed_str": parts.username}
    if endpoint.creds:
        arguments["user_credentials"] = endpoint.creds
    if endpoint.ca or endpoint.cert or parts.scheme in ("tls", "wss"):
        context = ssl.create_default_context(cafile=endpoint.ca or None)
        if endpoint.cert:
            context.load_cert_chain(endpoint.cert, endpoint.key or None)
        arguments["tls"] = context
    return arguments


def _is_seed(text: str) -> bool:
    try:
        return decode_seed(text)[0] == USER
    except ValueError:
        return False
