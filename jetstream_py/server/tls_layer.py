"""TLS between a socket and what speaks over it: the thin face of `tls_engine` on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from jetstream_py.server.layer import Layer
from jetstream_py.server.tls_engine import TlsEngine, TlsFailure
from jetstream_py.server.tls_info import TlsInfo
from jetstream_py.server.tls_suites import go_suite, go_version


class TlsLayer(Layer):
    """One connection's TLS on its transport."""

    def __init__(
        self,
        below: asyncio.Transport,
        engine: TlsEngine,
        above: asyncio.Protocol,
        done: Callable[[str], None],
    ) -> None:
        """`done` is called once with the outcome of the handshake: "" or what went wrong."""
        super().__init__(below, above)
        self._engine = engine
        self._done: Callable[[str], None] | None = done
        self._failure: TlsFailure | None = None

    def info(self, first: bool = False) -> TlsInfo:
        """How the connection is protected, once it is."""
        engine = self._engine
        version, suite = go_version(engine.version or ""), go_suite(engine.cipher)
        return TlsInfo(version, suite, first, tuple(engine.peer_chain()))

    @property
    def first_bytes(self) -> bytes:
        """What a client said that does not speak TLS."""
        return self._engine.first_bytes

    def write_plain(self, data: bytes) -> None:
        """An answer for such a client."""
        self._below.write(data)

    # -- from below -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        try:
            if self._done is not None:
                self._shake(data)
            else:
                self._pass_on(data)
        except TlsFailure as failure:
            self._write_own()  # an alert that says why
            if self._done is not None:
                self._outcome(str(failure))
            else:
                self._failure = failure
            self._below.close()

    def _shake(self, data: bytes) -> None:
        ready = self._engine.shake(data)
        self._write_own()
        if ready:
            self._outcome("")
            if not self._below.is_closing():
                self._pass_on(b"")

    def _outcome(self, failure: str) -> None:
        done, self._done = self._done, None
        assert done is not None
        done(failure)

    def _pass_on(self, data: bytes) -> None:
        if plain := self._engine.decrypt(data):
            self._above.data_received(plain)
        self._write_own()
        if self._engine.ended and not self._below.is_closing():
            self._above.eof_received()
            self.close()

    def _write_own(self) -> None:
        """What OpenSSL has to say by itself."""
        if output := self._engine.output():
            self._below.write(output)

    def eof_received(self) -> bool | None:
        if self._done is not None:
            self._outcome("unexpected EOF" if self._engine.started else "EOF")
            return None
        return self._above.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None:
            self._outcome(str(exc or "EOF"))
        super().connection_lost(exc or self._failure)

    # -- from above -------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        # Before the end of the handshake nothing can be said that the client would understand.
        if self._done is None and data:
            self._below.write(self._engine.encrypt(bytes(data)))

    def write_eof(self) -> None:
        self._say_goodbye()
        super().write_eof()

    def close(self) -> None:
        if not self._below.is_closing():
            self._say_goodbye()
            super().close()

    def _say_goodbye(self) -> None:
        if self._done is None and (goodbye := self._engine.goodbye()):
            self._below.write(goodbye)
