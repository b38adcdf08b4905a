"""One blocking connection to a server.

A Spark task reads or writes from its start to its end and does nothing else meanwhile, so there is no loop,
no thread and no reconnect: a task whose connection breaks fails, and Spark runs it again.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
import ssl
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from pyspark_jetstream.errors import ConnectError, JetStreamError
from pyspark_jetstream.limits import CONNECT_TIMEOUT, RECEIVE, TIMEOUT
from pyspark_jetstream.options import Options
from pyspark_jetstream.wire import Frames, status

PORT: Final = 4222


class Connection:
    """Raises `ConnectError` for whatever happens to it."""

    def __init__(self, options: Options, url: str, timeout: float = TIMEOUT) -> None:
        self._options = options
        self._timeout = timeout
        self.url = url
        self.frames = Frames()
        self.info: dict[str, Any] = {}
        self.inbox = f"_INBOX.{secrets.token_hex(11)}"
        self._asked = 0
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        if parts.scheme not in ("nats", "tls") or not parts.hostname:
            raise ConnectError(f"{url!r} is no address of a server; use nats://host:4222")
        self._parts = parts
        self._host = parts.hostname
        try:
            port = parts.port or PORT
            self._socket: socket.socket = socket.create_connection(
                (self._host, port), CONNECT_TIMEOUT
            )
        except (OSError, ValueError) as error:
            raise ConnectError(f"{self._host}: {error}") from None
        try:
            self._open()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    # -- opening -----------------------------------------------------------------------------------

    def _open(self) -> None:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not self.frames.infos:
            self.receive()
        self.info = self.frames.infos[-1]
        options = self._options
        wanted = self._parts.scheme == "tls" or options.tls_ca or options.tls_cert
        if self.info.get("tls_required") or (wanted and self.info.get("tls_available")):
            self._encrypt()
        elif wanted:
            raise ConnectError(f"{self._host}: TLS was asked for, the server has none")
        self._socket.settimeout(self._timeout)
        inbox = self.inbox.encode()
        connect = json.dumps(self._login()).encode()
        self.send(b"CONNECT %b\r\nSUB %b.* 1\r\nPING\r\n" % (connect, inbox))
        while not self.frames.pongs:
            self.receive()

    def _encrypt(self) -> None:
        options = self._options
        try:
            context = ssl.create_default_context(cafile=options.tls_ca or None)
            if options.tls_cert:
                context.load_cert_chain(options.tls_cert, options.tls_key)
            self._socket = context.wrap_socket(self._socket, server_hostname=self._host)
        except (OSError, ssl.SSLError) as error:
            raise ConnectError(f"{self._host}: TLS: {error}") from None

    def _login(self) -> dict[str, Any]:
        options, parts = self._options, self._parts
        login: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "lang": "python",
            "version": "1",
            "protocol": 1,
            "name": "pyspark_jetstream",
            "headers": True,
            "no_responders": True,
            "echo": False,
        }
        user, password = options.user, options.password
        if not (user or options.token or options.credentials) and parts.username:
            user, password = unquote(parts.username), unquote(parts.password or "")
            if parts.password is None:
                return {**login, "auth_token": user}
        if options.credentials:
            login |= _signed(options.credentials, str(self.info.get("nonce", "")))
        elif options.token:
            login["auth_token"] = options.token
        elif user:
            login |= {"user": user, "pass": password}
        return login

    # -- bytes -------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._drain()
            raise ConnectError(f"{self._host}: {error or 'the connection is lost'}") from None

    def receive(self) -> None:
        """Wait for something, hand it to `frames`."""
        try:
            data = self._socket.recv(RECEIVE)
        except TimeoutError:
            raise ConnectError(f"{self._host}: no answer within {self._timeout:.0f} s") from None
        except OSError as error:
            raise ConnectError(f"{self._host}: {error}") from None
        if not data:
            raise ConnectError(f"{self._host}: the server has closed the connection")
        self._take(data)

    def _take(self, data: bytes) -> None:
        self.frames.feed(data)
        if self.frames.errors:
            raise ConnectError(f"{self._host}: {self.frames.errors[0]}")
        if self.frames.pings:
            self.frames.pings = 0
            self.send(b"PONG\r\n")

    def _drain(self) -> None:
        """What the server said before it closed explains more than a broken pipe does."""
        try:
            self._socket.settimeout(0.2)
            while data := self._socket.recv(RECEIVE):
                self._take(data)
        except OSError:
            pass

    # -- requests ----------------------------------------------------------------------------------

    def reply(self) -> bytes:
        """A subject for the next answers."""
        self._asked += 1
        return b"%b.%d" % (self.inbox.encode(), self._asked)

    def ask(self, subject: str, body: bytes = b"") -> tuple[bytes, bytes]:
        """Header block and payload of one answer."""
        reply, frames = self.reply(), self.frames
        frames.clear()
        self.send(b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply, len(body), body))
        while reply not in frames.subjects:
            frames.clear()
            self.receive()
        at = frames.subjects.index(reply)
        answer = frames.headers[at], frames.datas[at]
        frames.clear()
        return answer


def connect(options: Options) -> Connection:
    """To the first server that lets us in. Raises `ConnectError`, which says what each of them said."""
    troubles = []
    for url in options.servers:
        try:
            return Connection(options, url)
        except ConnectError as error:
            troubles.append(str(error))
    raise ConnectError("; ".join(troubles))


def no_responders(block: bytes) -> bool:
    return status(block)[0] == 503


def _signed(file: str, nonce: str) -> dict[str, Any]:
    """What a credentials file gives for CONNECT."""
    from jetstream_py import nkey

    with open(file, encoding="utf-8") as lines:
        found = _sections(lines.read())
    if "USER NKEY SEED" not in found:
        raise ConnectError(f"{file} is no credentials file: it has no seed")
    try:
        pair = nkey.KeyPair(found["USER NKEY SEED"])
    except ValueError as error:
        raise ConnectError(f"{file}: {error}") from None
    except RuntimeError as error:
        raise JetStreamError(str(error)) from None
    sig = base64.urlsafe_b64encode(pair.sign(nonce.encode())).rstrip(b"=").decode()
    jwt = found.get("NATS USER JWT", "")
    return {"jwt": jwt, "sig": sig} if jwt else {"nkey": pair.public, "sig": sig}


def _sections(text: str) -> dict[str, str]:
    """`-----BEGIN X-----`, a line, `------END X------`."""
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("---"):
            name = line.strip("-").removeprefix("BEGIN ") if "BEGIN " in line else ""
        elif name and line:
            found.setdefault(name, line)
    return found
