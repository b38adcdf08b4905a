"""How a connection is protected, as plain data for authentication and monitoring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from jetstream_py.server.certificates import PeerCert


class TlsInfo(msgspec.Struct, frozen=True):
    version: str  # "1.3"
    cipher_suite: str  # Go's name
    first: bool = False  # the handshake came before INFO
    chain: tuple[bytes, ...] = ()  # the client's certificates, its own first, as DER

    def peer_certs(self) -> list[PeerCert]:
        """The client's certificates as monitoring shows them."""
        from jetstream_py.server.certificates import describe

        return describe(self.chain)
