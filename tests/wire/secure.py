"""TLS clients for tests: one on a socket, one on bytes."""

from __future__ import annotations

import ssl

from tests.support.raw import RawClient


class TlsClient(RawClient):
    """A `RawClient` whose bytes go through TLS from some moment on."""

    def __init__(self, port: int, context: ssl.SSLContext, first: bool = False) -> None:
        super().__init__(port)
        self._context = context
        if first:
            self.secure()

    def secure(self) -> None:
        """Shake hands. With TLS 1.3 a server that refuses tells with the first read."""
        assert not self.buffer, "the server spoke before its turn"
        secured = self._context.wrap_socket(
            self.socket, server_hostname="localhost", do_handshake_on_connect=False
        )
        self.socket = secured
        secured.settimeout(self.timeout)
        secured.do_handshake()

    @property
    def secured(self) -> ssl.SSLSocket:
        assert isinstance(self.socket, ssl.SSLSocket)
        return self.socket


def refused(port: int, context: ssl.SSLContext, first: bool = False) -> bool:
    """Whether the server ends the handshake, or the connection right after it."""
    client = TlsClient(port, context, first=False)
    try:
        if not first:
            client.read_info()
        client.secure()
        client.send(b"PING\r\n")
        return client.secured.recv(1) == b""
    except (TimeoutError, ssl.SSLError, ConnectionError):
        return True
    finally:
        client.close()


class MemoryClient:
    """The client's end of TLS without a socket: bytes in, bytes out."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.object = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def shake(self, data: bytes = b"") -> bytes:
        """The next flight of the handshake."""
        if data:
            self.incoming.write(data)
        try:
            self.object.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def encrypt(self, data: bytes) -> bytes:
        self.object.write(data)
        return self.outgoing.read()

    def decrypt(self, data: bytes) -> bytes:
        self.incoming.write(data)
        plain = b""
        try:
            while part := self.object.read(1 << 16):
                plain += part
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return plain

    def goodbye(self) -> bytes:
        try:
            self.object.unwrap()
        except ssl.SSLError:
            pass
        return self.outgoing.read()
