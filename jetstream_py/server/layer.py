"""What lies between a socket and a connection: the protocol of the transport below, the transport of
the protocol above. TLS and WebSocket are layers; a plain connection has none and pays for none.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

_NOBODY: Final = asyncio.Protocol()  # what is above when the connection is gone


class Layer(asyncio.Transport, asyncio.Protocol):
    """Passes everything on but bytes, which are for those who derive from it."""

    def __init__(self, below: asyncio.Transport, above: asyncio.Protocol) -> None:
        super().__init__()
        self._below = below
        self._above = above

    # -- from below -------------------------------------------------------------------------------

    def connection_lost(self, exc: Exception | None) -> None:
        self._above.connection_lost(exc)
        self._above = _NOBODY  # or each closed connection would be a cycle for the collector

    def pause_writing(self) -> None:
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._above.resume_writing()

    # -- from above -------------------------------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._above = cast(asyncio.Protocol, protocol)

    def close(self) -> None:
        self._below.close()

    def abort(self) -> None:
        self._below.abort()

    def write_eof(self) -> None:
        self._below.write_eof()

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()
